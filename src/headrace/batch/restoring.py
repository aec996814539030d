"""Bringing stores up to date from their changelogs, before a visit begins."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headrace.broker.port import Broker, TopicPartition
    from headrace.task.putting_down import Opening
    from headrace.task.state_registry import ChangelogEntry
    from headrace.task.stream_task import CommittedOffset, StreamTask

log = logging.getLogger(__name__)


def restore_stale_stores(
    task: StreamTask, opening: Opening, broker: Broker, committed: Mapping[TopicPartition, CommittedOffset]
) -> None:
    """Replay what a store has missed: from where its copy is, or all of it where there is no copy.

    Only committed batches are in a changelog, and its end is the version that the visit starts from. Where a source
    topic serves as changelog, that is what was committed of it.
    """
    for store, found in opening.stale.items():
        changelog = task.plan.store_to_changelog.get(store)
        if changelog is None:
            task.restore(store, ())
            continue
        partition = (changelog, task.context.partition)
        start = broker.start_offsets([partition])[partition]
        if found is not None:
            start = max(start, opening.positions.get(partition, start))
        end = committed[partition].offset if partition in committed else None
        if partition[0] in task.plan.source_topics and end is None:
            end = start
        count = task.restore(store, _entries(broker, *partition, start, end))
        log.info("restored %d records of store %s of task %s from %s", count, store, task.task_id, changelog)


def _entries(broker: Broker, topic: str, partition: int, start: int, end: int | None) -> Iterator[ChangelogEntry]:
    for records in broker.read(topic, partition, start, end):
        for _, _, _, timestamp, key, value, headers in records:
            assert key is not None
            yield key, value, timestamp, headers
