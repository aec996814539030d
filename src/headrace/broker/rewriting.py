"""Rewriting segments: merging small ones into large ones, and the swap that compaction shares.

New segments are written first, under names that nobody knows. One transaction then replaces the old ones, unless
somebody else did: then the new ones are dropped. Readers that meet a file that is gone look into the catalog again.
"""

from __future__ import annotations

import sqlite3
import uuid
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

import pyarrow as pa

from headrace import failpoints
from headrace.broker import crash_points, log, topics
from headrace.broker.arrays import int64_array
from headrace.broker.catalog import Catalog
from headrace.broker.disk import Disk
from headrace.broker.log import LogReader, Partition
from headrace.broker.port import TopicPartition
from headrace.broker.segments import CHUNK_BYTES, CHUNK_RECORDS, DENSE, Batch, Segment, offsets_in, with_offsets
from headrace.broker.staging import INLINE_BYTES, SegmentWriter

MERGE_AT = 8
"""How many neighbours of similar size become one segment. A record is rewritten once per power of eight in size."""
ROLL_SEGMENTS = 1024
ROLL_BYTES = 1 << 20


class Rewriter:
    """Collects batches of a partition and writes them as new segments of full chunks and at most ``segment_bytes``."""

    def __init__(self, disk: Disk, partition: Partition, *, sparse: bool, segment_bytes: int, kind: str) -> None:
        self._disk = disk
        self._directory = f"{topics.directory_of(partition.topic_id, partition.topic)}/{partition.partition}"
        self._label = f"{kind}-{uuid.uuid4().hex}"
        self._sparse = sparse
        self._segment_bytes = segment_bytes
        self._held: list[Batch] = []
        self._held_records = self._held_bytes = 0
        self._held_from = self._held_to = 0
        self._writer: SegmentWriter | None = None
        self._base = 0
        self._written: list[Segment] = []

    def add(self, batch: Batch, first: int, end: int, horizons: Any = None, offsets: Any = None) -> None:
        """Take a batch with the offsets from ``first`` up to ``end``; sparse ones say which each record has."""
        if not self._held:
            self._held_from = first
        if self._sparse:
            batch = with_offsets(batch, int64_array(offsets), horizons)
        self._held.append(batch)
        self._held_to = end
        self._held_records += batch.num_rows
        self._held_bytes += batch.nbytes
        if self._held_records >= CHUNK_RECORDS or self._held_bytes >= CHUNK_BYTES:
            self._flush()

    def finish(self) -> list[Segment]:
        """The new segments, durable."""
        if self._held:
            self._flush()
        self._end_segment()
        return self._written

    def abort(self) -> None:
        if self._writer is not None:
            self._writer.abort()
        for segment in self._written:
            if segment.file is not None:
                self._disk.remove(segment.file)

    def _flush(self) -> None:
        if self._writer is None:
            self._base = self._held_from
            file = f"{self._directory}/{self._label}-{len(self._written)}.arrow"
            self._writer = SegmentWriter(self._disk, file, sparse=self._sparse)
        self._writer.write(self._joined(), self._held_from - self._base, self._held_to - self._base)
        self._held, self._held_records, self._held_bytes = [], 0, 0
        if self._writer.size >= self._segment_bytes:
            self._end_segment()

    def _joined(self) -> Batch:
        (batch,) = pa.Table.from_batches(self._held).combine_chunks().to_batches()
        if not self._sparse:
            return batch
        column = batch.schema.get_field_index("offset")
        relative = pa.compute.subtract(batch.column(column), self._base)
        return batch.set_column(column, batch.schema.field(column), relative)

    def _end_segment(self) -> None:
        if self._writer is not None:
            self._written.append(self._writer.finish()._replace(base_offset=self._base))
            self._writer = None


def swap(
    catalog: Catalog, disk: Disk, partition: Partition, old: Sequence[Segment], new: Sequence[Segment], cleaned_to: int
) -> bool:
    """Let the new segments take the place of the old ones, whose files go; False where somebody else was faster."""
    with catalog.write() as connection:
        swapped = log.replace(connection, partition, old, new)
        change = "UPDATE partitions SET cleaned_offset = max(cleaned_offset, ?) WHERE id = ?"
        connection.execute(change, (cleaned_to if swapped else 0, partition.id))
        failpoints.reach(crash_points.COMPACTION_SWAP)
    failpoints.reach(crash_points.COMPACTION_SWAPPED)
    files = [segment.file for segment in (old if swapped else new)]
    for file in files:
        if file is not None:
            disk.remove(file)
    return swapped


def crowded(connection: sqlite3.Connection, partitions: Iterable[TopicPartition]) -> list[Partition]:
    """The partitions that have too many small segments in the catalog."""
    found = []
    for where in partitions:
        partition = log.find_partition(connection, *where)
        number, size = log.small_segments(connection, partition)
        if number >= ROLL_SEGMENTS or size >= ROLL_BYTES:
            found.append(partition)
    return found


def roll(catalog: Catalog, disk: Disk, reader: LogReader, partition: Partition) -> None:
    with catalog.read() as connection:
        segment_bytes = topics.find(connection, partition.topic).config.segment_bytes
        segments = log.segments_of(connection, partition)
    for run in _runs(segments, lambda segment: segment.file is None):
        if len(run) > 1:
            merge(catalog, disk, reader, partition, run, segment_bytes)


def merge_small(
    catalog: Catalog, disk: Disk, reader: LogReader, partition: Partition, segment_bytes: int, *, at: int = MERGE_AT
) -> int:
    """Merge neighbours of a like size; how many segments there are less."""
    with catalog.read() as connection:
        segments = log.segments_of(connection, partition)
    for tier in range(_tier(segment_bytes) + 1):
        for run in _runs(segments, lambda segment, tier=tier: _is_in(segment, tier, segment_bytes)):
            alike = sum(_tier(segment.size) == tier for segment in run)
            if alike >= at and merge(catalog, disk, reader, partition, run, segment_bytes):
                return len(run) - 1
    return 0


def merge(
    catalog: Catalog,
    disk: Disk,
    reader: LogReader,
    partition: Partition,
    segments: Sequence[Segment],
    segment_bytes: int,
) -> bool:
    """Write the segments as few larger ones; False where one of them was gone before it was done."""
    sparse = not _is_dense(segments)
    rewriter = Rewriter(disk, partition, sparse=sparse, segment_bytes=segment_bytes, kind="merged")
    try:
        for batch, segment, chunk in reader.of_segments(partition, segments):
            offsets = offsets_in(batch, chunk.first, segment.base_offset) if sparse else None
            horizons = batch.column("delete_horizon") if batch.num_columns > len(DENSE) else None
            rewriter.add(batch, segment.base_offset + chunk.first, segment.base_offset + chunk.next, horizons, offsets)
        new = rewriter.finish()
    except FileNotFoundError:
        rewriter.abort()
        return False
    except BaseException:
        rewriter.abort()
        raise
    return swap(catalog, disk, partition, segments, new, cleaned_to=0)


def _is_dense(segments: Sequence[Segment]) -> bool:
    if any(segment.sparse for segment in segments):
        return False
    return all(one.next_offset == other.base_offset for one, other in pairwise(segments))


def _runs(segments: Iterable[Segment], wanted: Any) -> list[list[Segment]]:
    """The longest runs of neighbouring segments that should be merged."""
    runs: list[list[Segment]] = [[]]
    for segment in segments:
        if wanted(segment):
            runs[-1].append(segment)
        elif runs[-1]:
            runs.append([])
    return [run for run in runs if run]


def _tier(size: int) -> int:
    """The size of a segment in powers of eight, counted from the smallest file."""
    return (size // INLINE_BYTES).bit_length() // 3


def _is_in(segment: Segment, tier: int, segment_bytes: int) -> bool:
    return segment.size < segment_bytes and _tier(segment.size) <= tier
