"""Retention: old segments go, by time and by size, from the start of a partition on. Offsets never change.

The age of a record counts from its timestamp or from its arrival, whichever is later: one that is sent today about
something of last year is new to whoever reads it. And what a group has yet to read stays, unless the topic says
otherwise (headrace.retention.unread).
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

from headrace.broker import groups, log
from headrace.broker.catalog import Catalog
from headrace.broker.disk import Disk
from headrace.broker.log import Partition
from headrace.broker.segments import Segment
from headrace.broker.topic_config import TopicConfig


@dataclass(slots=True)
class Expired:
    """What is removed: ``segments``, and how many ``records`` in them were not deleted before."""

    segments: list[Segment]
    records: int = 0


def apply(catalog: Catalog, disk: Disk, partition: Partition, config: TopicConfig, now_ms: int) -> int:
    """Remove what the topic's settings no longer keep; how many segments went."""
    with catalog.read() as connection:
        if not _expired(connection, partition, config, now_ms).segments:
            return 0
    with catalog.write() as connection:
        gone = _expired(connection, partition, config, now_ms)
        log.remove(connection, gone.segments)
        if gone.segments:
            change = "UPDATE partitions SET start_offset = max(start_offset, ?) WHERE id = ?"
            connection.execute(change, (gone.segments[-1].next_offset, partition.id))
        if gone.records:
            change = "UPDATE partitions SET expired_records = expired_records + ?, expired_ms = ? WHERE id = ?"
            connection.execute(change, (gone.records, now_ms, partition.id))
    for segment in gone.segments:
        if segment.file is not None:
            disk.remove(segment.file)
    return len(gone.segments)


def _expired(connection: sqlite3.Connection, partition: Partition, config: TopicConfig, now_ms: int) -> Expired:
    read_to = groups.read_by_all(connection, partition) if config.keep_unread else None
    return expired(log.segments_of(connection, partition), partition.start_offset, config, now_ms, read_to)


def expired(
    segments: Sequence[Segment], start_offset: int, config: TopicConfig, now_ms: int, read_to: int | None = None
) -> Expired:
    """The segments at the start that nobody has to keep. ``read_to`` is how far all have read; None where nobody reads.

    As in Kafka: by time the first one that is still young keeps all after it; by size a segment goes only where what is
    left still has retention.bytes.
    """
    size = sum(segment.size for segment in segments)
    gone = Expired([])
    for segment in segments:
        if segment.next_offset > start_offset:
            age_ms = now_ms - max(segment.max_timestamp, segment.arrived_ms)
            too_old = config.delete and 0 <= config.retention_ms < age_ms
            too_much = config.delete and 0 <= config.retention_bytes <= size - segment.size
            is_unread = read_to is not None and segment.next_offset > read_to
            if is_unread or not (too_old or too_much):
                break
            gone.records += min(segment.records, segment.next_offset - max(segment.base_offset, start_offset))
        gone.segments.append(segment)
        size -= segment.size
    return gone
