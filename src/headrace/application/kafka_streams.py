"""Going on where Kafka Streams left an application: with its offsets, its changelogs, and what it has not read yet.

Kafka Streams leaves no notes of ours. That it ran shows in the offsets of the group: they carry its metadata, and are
not those that we decided last. Then every store is filled from its changelog, and times come from that metadata.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from headrace.application.progress import AT_ONCE, Progress, TaskProgress
from headrace.application.task_id import TaskId
from headrace.records import NO_TIMESTAMP
from headrace.state.version import Version
from headrace.task import commit_metadata
from headrace.task.schedules import ScheduleSnapshot
from headrace.task.snapshot import TaskSnapshot, dump

if TYPE_CHECKING:
    from headrace.application.layout import Application
    from headrace.broker.port import Log, OffsetAndMetadata, TopicPartition

_NO_SNAPSHOT = dump(TaskSnapshot(NO_TIMESTAMP, [], [], {}, {}, {}, ScheduleSnapshot({}, {}, [[], []])))


def has_gone_on(application: Application, progress: Progress, log: Log) -> bool:
    """Whether Kafka Streams has run the application since we decided last, or before we ever did."""
    committed = log.committed(application.id)
    if progress.fingerprint is None:
        read = application.topics.subtopology_of
        return any(_is_by_streams(at) for (topic, _), at in committed.items() if topic in read)
    return any(
        _has_moved(known.offsets, committed, application.topics.partitions_of(task))
        for task, known in progress.tasks.items()
        if known.offsets is not None
    )


def taken_over(application: Application, log: Log, version: Version) -> dict[TaskId, TaskProgress]:
    """What the tasks start from: stores filled from changelogs, times and numbers as they were committed."""
    committed = log.committed(application.id)
    ends = {(topic, number): end for topic, number, _, end in repartition_ranges(application, log, committed)}
    found = {}
    for task in application.topics.task_ids():
        plan = application.topology.task_plan(task.subtopology)
        partitions = application.topics.partitions_of(task)
        found[task] = TaskProgress(
            version,
            _NO_SNAPSHOT,
            AT_ONCE,
            repartition_ends={place[0]: ends[place] for place in partitions if place in ends},
            anew=tuple(sorted(plan.stores)),
            offsets={place[0]: committed[place].offset for place in partitions if place in committed},
            is_taken_over=True,
        )
    return found


def repartition_ranges(
    application: Application, log: Log, committed: Mapping[TopicPartition, OffsetAndMetadata]
) -> list[tuple[str, int, int, int]]:
    """What is in the repartition topics that exist: topic, partition, the next offset to read, the end.

    We write none of them: records go from task to task within a batch. What Kafka Streams left in one comes before
    whatever is sent to it now, as it would in the topic.
    """
    there = log.topics()
    topics = sorted(application.repartition_topics & there.keys())
    places = [(topic, number) for topic in topics for number in range(there[topic])]
    if not places:
        return []
    starts, ends = log.start_offsets(places), log.end_offsets(places)
    return [
        (*place, max(starts[place], committed[place].offset) if place in committed else starts[place], ends[place])
        for place in places
    ]


def _has_moved(
    noted: Mapping[str, int],
    committed: Mapping[TopicPartition, OffsetAndMetadata],
    partitions: list[TopicPartition],
) -> bool:
    """A position that somebody set by hand has no metadata: it is read from there, and nothing else changes."""
    found = {place[0]: committed[place] for place in partitions if place in committed}
    return any(_is_by_streams(at) and at.offset != noted.get(topic) for topic, at in found.items())


def _is_by_streams(at: OffsetAndMetadata) -> bool:
    return commit_metadata.is_known(at.metadata)
