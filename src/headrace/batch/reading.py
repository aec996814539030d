"""Plans what each batch reads, and which tasks are visited though they read nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec

from headrace.application.deleted_topics import deleted_sources
from headrace.application.kafka_streams import repartition_ranges
from headrace.application.positions import PartitionState
from headrace.application.task_id import TaskId
from headrace.batch.offsets import BatchPlan, LostRecords, ReadRange, plan_batch
from headrace.batch.parcels import Kind, Parcel
from headrace.broker.port import TopicPartition
from headrace.errors import UnknownTopicError

if TYPE_CHECKING:
    from headrace.application.layout import Application
    from headrace.application.progress import Progress
    from headrace.application.resets import ResetPolicy
    from headrace.broker.port import Log, OffsetAndMetadata


class Reading(msgspec.Struct, frozen=True, array_like=True):
    """What one visit reads, and what it cannot read any more."""

    ranges: tuple[ReadRange, ...] = ()
    lost: tuple[LostRecords, ...] = ()


class Planner:
    """Plans the batches of an application as it is laid out."""

    def __init__(self, application: Application, unread: Sequence[ReadRange] = ()) -> None:
        """``unread``: what ``unread_repartitions`` found."""
        self._application = application
        self._unread = {(each.topic, each.partition): each for each in unread}
        self._policies = application.reset_policies()
        self._tasks = application.topics.task_ids()

    def next_batch(self, log: Log, progress: Progress, now_ms: int) -> BatchPlan:
        """The next batch, from what there is and what is committed; an empty one where nothing is due."""
        plan = plan_batch(
            self._states(log),
            now_ms=now_ms,
            limit=self._application.config["max.records.per.batch"],
            offset_for_time=lambda topic, number, ms: log.offsets_for_time({(topic, number): ms})[topic, number],
        )
        plan = replace(plan, ranges=(*plan.ranges, *self._left_unread(log)))
        return replace(plan, due=tuple(self._due(progress, now_ms)))

    def parcels(self, plan: BatchPlan) -> list[Parcel]:
        """What each task is given at the levels at which it reads something or may fire punctuations."""
        topics, levels = self._application.topics, self._application.levels
        numbers = {task: number for number, task in enumerate(self._tasks)}
        ranges: dict[tuple[int, int], list[ReadRange]] = {
            (number, visit.level): []
            for number in plan.due
            for visit in levels.visits_of(self._tasks[number].subtopology)
        }
        for each in plan.ranges:
            number = numbers[TaskId(topics.subtopology_of[each.topic], each.partition)]
            ranges.setdefault((number, levels.level_of(each.topic)), []).append(each)
        lost = {(each.topic, each.partition): each for each in plan.lost}
        return [
            Parcel(number, Kind.READING, level, sender=number, data=_packed(found, lost))
            for (number, level), found in ranges.items()
        ]

    def _left_unread(self, log: Log) -> Iterator[ReadRange]:
        """All of it goes into the first batch, whatever the limit: what that batch sends comes after it."""
        if self._unread:
            committed = log.committed(self._application.id)
            done = [place for place, each in self._unread.items() if _is_read(committed.get(place), each)]
            for place in done:
                del self._unread[place]
        yield from self._unread.values()

    def _states(self, log: Log) -> list[PartitionState]:
        try:
            return self._states_of(self._policies, log)
        except UnknownTopicError:
            return self._states_of(self._left(log), log)

    def _left(self, log: Log) -> dict[str, ResetPolicy]:
        """The topics that are still there. Only one whose name matched a pattern may go as it came."""
        there, counts = log.topics(), self._application.topics.partitions
        gone = {topic for topic in self._policies if there.get(topic, 0) < counts[topic]}
        deleted = gone - self._application.topics_by_pattern()
        if deleted:
            raise deleted_sources(self._application, deleted)
        return {topic: policy for topic, policy in self._policies.items() if topic not in gone}

    def _states_of(self, policies: Mapping[str, ResetPolicy], log: Log) -> list[PartitionState]:
        counts = self._application.topics.partitions
        places = [(topic, number) for topic in policies for number in range(counts[topic])]
        committed = log.committed(self._application.id)
        starts, ends = log.start_offsets(places), log.end_offsets(places)
        return [
            PartitionState(
                *place,
                starts[place],
                ends[place],
                self._application.address,
                committed[place].offset if place in committed else None,
                policies[place[0]],
            )
            for place in places
        ]

    def _due(self, progress: Progress, now_ms: int) -> Iterator[int]:
        """The tasks whose punctuations are due, and those that were never visited: nobody knows what they schedule."""
        for number, task in enumerate(self._tasks):
            known = progress.tasks.get(task)
            if known is None or (known.next_punctuation_ms is not None and known.next_punctuation_ms <= now_ms):
                yield number


def unread_repartitions(application: Application, log: Log) -> list[ReadRange]:
    """What Kafka Streams wrote to repartition topics of the application and has not read."""
    found = repartition_ranges(application, log, log.committed(application.id))
    return [ReadRange(topic, number, start, end, end) for topic, number, start, end in found if start < end]


def _is_read(committed: OffsetAndMetadata | None, unread: ReadRange) -> bool:
    return committed is not None and committed.offset >= unread.end


def _packed(ranges: Iterable[ReadRange], lost: Mapping[TopicPartition, LostRecords]) -> bytes:
    gone = (lost.get((each.topic, each.partition)) for each in ranges)
    return msgspec.msgpack.encode(Reading(tuple(ranges), tuple(each for each in gone if each is not None)))
