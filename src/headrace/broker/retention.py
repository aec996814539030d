"""Retention: old segments go, by time and by size, from the start of a partition on. Offsets never change."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.broker import log
from headrace.broker.catalog import Catalog
from headrace.broker.disk import Disk
from headrace.broker.log import Partition, Segment
from headrace.broker.topic_config import TopicConfig


def apply(catalog: Catalog, disk: Disk, partition: Partition, config: TopicConfig, now_ms: int) -> int:
    """Remove what the topic's settings no longer keep; how many segments went."""
    with catalog.read() as connection:
        if not expired(log.segments_of(connection, partition), partition.start_offset, config, now_ms):
            return 0
    with catalog.write() as connection:
        segments = log.segments_of(connection, partition)
        gone = expired(segments, partition.start_offset, config, now_ms)
        log.remove(connection, gone)
        if gone:
            change = "UPDATE partitions SET start_offset = max(start_offset, ?) WHERE id = ?"
            connection.execute(change, (gone[-1].next_offset, partition.id))
    for segment in gone:
        if segment.file is not None:
            disk.remove(segment.file)
    return len(gone)


def expired(segments: Sequence[Segment], start_offset: int, config: TopicConfig, now_ms: int) -> list[Segment]:
    """The segments at the start that nobody has to keep.

    As in Kafka: by time the first one that is still young keeps all after it; by size a segment goes only where what is
    left still has retention.bytes.
    """
    size = sum(segment.size for segment in segments)
    gone: list[Segment] = []
    for segment in segments:
        deleted = segment.next_offset <= start_offset
        too_old = config.delete and 0 <= config.retention_ms < now_ms - segment.max_timestamp
        too_much = config.delete and 0 <= config.retention_bytes <= size - segment.size
        if not (deleted or too_old or too_much):
            break
        gone.append(segment)
        size -= segment.size
    return gone
