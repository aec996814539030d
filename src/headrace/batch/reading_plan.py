"""Plans what each batch reads. Plain data and a broker are all it takes, so it works far from the topology as well."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import msgspec

from headrace.batch.deleted_topics import deleted_sources
from headrace.batch.offsets import LostRecords, OffsetRange, plan_batch
from headrace.batch.parcels import Kind, Parcel
from headrace.batch.positions import PartitionState
from headrace.batch.progress import Progress
from headrace.batch.resets import ResetPolicy
from headrace.batch.task_id import TaskId
from headrace.broker.port import OffsetAndMetadata, TopicPartition
from headrace.errors import UnknownTopicError

if TYPE_CHECKING:
    from headrace.batch.application import Application
    from headrace.broker.port import Broker


class TopicReading(msgspec.Struct, frozen=True):
    """A topic of the user's: which tasks read it, at which level, and from where if nothing is committed."""

    topic: str
    partitions: int
    subtopology: int
    level: int
    reset: ResetPolicy
    by_pattern: bool = False
    """Whether it is read because its name matches: then it may go as it came."""


class ReadingPlan(msgspec.Struct, frozen=True):
    """What an application reads."""

    application: str
    limit: int | None
    topics: list[TopicReading]
    tasks: list[TaskId]
    """All tasks; the number of a task is its place here."""
    levels: dict[int, list[int]]
    """The levels at which each sub-topology is visited."""


class Reading(msgspec.Struct, frozen=True, array_like=True):
    """What one visit reads, and what it cannot read any more."""

    ranges: tuple[OffsetRange, ...] = ()
    lost: tuple[LostRecords, ...] = ()


class PlannedBatch(msgspec.Struct, frozen=True):
    """What one batch reads, and which tasks are visited even if they read nothing."""

    ranges: list[OffsetRange] = []
    due: list[int] = []
    lost: list[LostRecords] = []

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to do."""
        return not (self.ranges or self.due)

    @property
    def records(self) -> int:
        """How many records it reads at most."""
        return sum(each.size for each in self.ranges)


def reading_plan(application: Application) -> ReadingPlan:
    """The reading plan of an application."""
    topics, levels = application.topics, application.levels
    matched = application.topics_by_pattern()
    return ReadingPlan(
        application.id,
        application.config["max.records.per.batch"],
        [
            TopicReading(
                topic,
                topics.partitions[topic],
                topics.subtopology_of[topic],
                levels.level_of(topic),
                policy,
                topic in matched,
            )
            for topic, policy in application.reset_policies().items()
        ],
        topics.task_ids(),
        {number: [visit.level for visit in levels.visits_of(number)] for number in topics.tasks},
    )


class Planner:
    """Plans one batch after another, from what the broker has and what is committed."""

    def __init__(self, plan: ReadingPlan, broker: Broker) -> None:
        self._plan = plan
        self._broker = broker
        self._reset = {each.topic: each.reset for each in plan.topics}

    def next_batch(self, now_ms: int, progress: Progress | None = None, limit: int | None = None) -> PlannedBatch:
        """The next batch; an empty one where nothing is due. ``limit`` counts where no setting gives one."""
        committed = self._broker.committed(self._plan.application)
        planned = plan_batch(
            self._states(committed),
            now_ms=now_ms,
            limit=limit if self._plan.limit is None else self._plan.limit,
            offset_for_time=lambda topic, partition, ms: self._broker.offsets_for_time({(topic, partition): ms})[
                topic, partition
            ],
        )
        if progress is None:
            progress = Progress(self._broker.last_committed(self._plan.application))
        return PlannedBatch(list(planned.ranges), list(self._due(progress, now_ms)), list(planned.lost))

    def _states(self, committed: Mapping[TopicPartition, OffsetAndMetadata]) -> list[PartitionState]:
        try:
            return self._states_of(self._plan.topics, committed)
        except UnknownTopicError:
            return self._states_of(self._left(), committed)

    def _left(self) -> list[TopicReading]:
        """The topics that are still there. Only one whose name matched a pattern may be gone."""
        there = self._broker.topics()
        gone = [each for each in self._plan.topics if there.get(each.topic, 0) < each.partitions]
        deleted = [each.topic for each in gone if not each.by_pattern]
        if deleted:
            raise deleted_sources(deleted)
        return [each for each in self._plan.topics if each not in gone]

    def _states_of(
        self, topics: Iterable[TopicReading], committed: Mapping[TopicPartition, OffsetAndMetadata]
    ) -> list[PartitionState]:
        partitions = [(each.topic, number) for each in topics for number in range(each.partitions)]
        starts, ends = self._broker.start_offsets(partitions), self._broker.end_offsets(partitions)
        return [
            PartitionState(
                topic,
                number,
                starts[topic, number],
                ends[topic, number],
                committed[topic, number].offset if (topic, number) in committed else None,
                self._reset[topic],
            )
            for topic, number in partitions
        ]

    def _due(self, progress: Progress, now_ms: int) -> Iterable[int]:
        """The tasks whose punctuations are due, and those that were never visited: nobody knows what they schedule."""
        for number, task in enumerate(self._plan.tasks):
            known = progress.tasks.get(TaskId(*task))
            if known is None or (known.next_punctuation_ms is not None and known.next_punctuation_ms <= now_ms):
                yield number


def parcels(plan: ReadingPlan, planned: PlannedBatch) -> list[Parcel]:
    """What each task is given at the levels at which it reads something or may fire punctuations."""
    number_of = {TaskId(*task): number for number, task in enumerate(plan.tasks)}
    readings = {each.topic: each for each in plan.topics}
    ranges: dict[tuple[int, int], list[OffsetRange]] = {
        (number, level): [] for number in planned.due for level in plan.levels[plan.tasks[number][0]]
    }
    for each in planned.ranges:
        reading = readings[each.topic]
        place = (number_of[TaskId(reading.subtopology, each.partition)], reading.level)
        ranges.setdefault(place, []).append(each)
    lost = {(each.topic, each.partition): each for each in planned.lost}
    return [
        Parcel(number, Kind.READING, level, 0, number, 0, "", "", _packed(found, lost))
        for (number, level), found in ranges.items()
    ]


def _packed(ranges: Iterable[OffsetRange], lost: Mapping[TopicPartition, LostRecords]) -> bytes:
    gone = (lost.get((each.topic, each.partition)) for each in ranges)
    return msgspec.msgpack.encode(Reading(tuple(ranges), tuple(each for each in gone if each is not None)))
