"""Bringing stores up to date from their changelogs, before a visit begins."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import chain
from typing import TYPE_CHECKING

from headrace.application.changelogs import changes, check_complete
from headrace.application.restore_notes import RestoreNote, RestoreProgress

if TYPE_CHECKING:
    from headrace.broker.port import Broker, Handover, TopicPartition
    from headrace.records import OffsetAndMetadata, RawRecord
    from headrace.task.state_registry import ChangelogEntry
    from headrace.task.stream_task import StreamTask
    from headrace.task.versioned_task import Opening, VersionedTask

log = logging.getLogger(__name__)


def restore_stale_stores(
    versioned: VersionedTask,
    opening: Opening,
    broker: Broker,
    committed: Mapping[TopicPartition, OffsetAndMetadata],
    staged: Handover | None = None,
    new: Collection[str] = (),
) -> dict[tuple[str, str, int], int]:
    """Replay what a store has missed: from where its copy is, or all of it where there is no copy.

    Only committed batches are in a changelog, and its end is the version that the visit starts from. Where a source
    topic serves as changelog, that is what was committed of it. What an earlier visit of the same batch wrote is
    ``staged``. Nobody misses the content of ``new`` stores. How many records that took, by store, topic and partition.
    """
    counts, task = {}, versioned.task
    topics = {task.plan.store_to_changelog.get(store) for store in opening.stale} - {None}
    places = [(topic, task.context.partition) for topic in topics if topic is not None]
    if places:
        broker.await_published(task.context.application_id, places)
    for store, found in opening.stale.items():
        changelog = task.plan.store_to_changelog.get(store)
        if changelog is None:
            if store not in new:
                content = "it starts empty" if found is None else f"it goes on as it was after batch {found.batch}"
                log.warning("the store %s of task %s has no changelog: %s", store, task.task_id, content)
            versioned.restore(store, ())
            continue
        partition = (changelog, task.context.partition)
        start = broker.start_offsets([partition])[partition]
        if changelog not in task.plan.source_topics:
            check_complete(broker, store, partition, start)
        if found is not None:
            start = max(start, opening.positions.get(partition, start))
        end = _end(task, broker, partition, committed, start)
        place = (store, *partition)
        counts[place] = _restore(versioned, broker, store, partition, start, end, staged)
    return counts


def _end(
    task: StreamTask,
    broker: Broker,
    partition: TopicPartition,
    committed: Mapping[TopicPartition, OffsetAndMetadata],
    start: int,
) -> int:
    if partition in committed:
        return committed[partition].offset
    return start if partition[0] in task.plan.source_topics else broker.end_offsets([partition])[partition]


def _restore(
    versioned: VersionedTask,
    broker: Broker,
    store: str,
    partition: TopicPartition,
    start: int,
    end: int,
    staged: Handover | None,
) -> int:
    task = versioned.task
    note = RestoreNote(store, *partition, start_offset=start, end_offset=end, offset=start, restored=0)
    is_source = partition[0] in task.plan.source_topics
    committed = changes(broker, store, partition, start, end, is_source=is_source)
    added = () if staged is None else broker.read_staged(staged, partition)
    with RestoreProgress(task.context.config.application_dir, task.task_id, note) as progress:
        count = versioned.restore(store, _entries(chain(committed, added), progress))
    log.info("restored %d records of store %s of task %s from %s", count, store, task.task_id, partition[0])
    return count


def _entries(chunks: Iterable[list[RawRecord]], progress: RestoreProgress) -> Iterator[ChangelogEntry]:
    for records in chunks:
        for _, _, _, timestamp, key, value, headers in records:
            if key is not None:
                yield key, value, timestamp, headers
        if records:
            progress.advance(len(records), records[-1][2] + 1)
