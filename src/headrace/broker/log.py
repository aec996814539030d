"""The log of a partition: its segments in the catalog, in the order of their offsets, and how they are read."""

from __future__ import annotations

import os
import sqlite3
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import msgspec

from headrace.broker import topics
from headrace.broker.catalog import Catalog
from headrace.broker.disk import Disk
from headrace.broker.port import OffsetRange, TopicPartition
from headrace.broker.segments import (
    CHUNK_BYTES,
    CHUNK_RECORDS,
    Batch,
    Chunk,
    Segment,
    SegmentPlace,
    batch_from,
    offsets_in,
    records_in,
    unpack_chunks,
    verify,
)
from headrace.broker.staging import StagedSegment
from headrace.errors import ArgumentError, BrokerError, CorruptLogError, OffsetOutOfRangeError, UnknownTopicError
from headrace.records import RawRecord

_PAGE = 64
_MAX_VERIFIED = 20_000
_COLUMNS = """records, next_offset - base_offset, bytes, min_timestamp, max_timestamp, checksum, chunks, file,
              sparse, base_offset, arrived_ms, id"""
"""What makes a Segment, in the order of its fields."""


@dataclass(frozen=True, slots=True)
class Partition:
    id: int
    topic: str
    topic_id: int
    partition: int
    start_offset: int
    end_offset: int
    cleaned_offset: int


def find_partition(connection: sqlite3.Connection, topic: str, partition: int) -> Partition:
    """The partition; an UnknownTopicError where there is none."""
    found = _partition_row(connection, "t.name = ? AND p.partition = ?", (topic, partition))
    if found is None:
        topics.find(connection, topic)
        raise topics.unknown_partition(topic, partition)
    return found


def all_partitions(connection: sqlite3.Connection, topic_id: int) -> list[Partition]:
    return [Partition(*row) for row in connection.execute(_partition_question("t.id = ?"), (topic_id,)).fetchall()]


def segments_of(connection: sqlite3.Connection, partition: Partition) -> list[Segment]:
    """All segments of a partition in order, without the payloads of small ones."""
    question = f"SELECT {_COLUMNS} FROM segments WHERE partition_id = ? ORDER BY next_offset"
    return [Segment(*row) for row in connection.execute(question, (partition.id,)).fetchall()]


def register(
    connection: sqlite3.Connection, disk: Disk, segments: Iterable[StagedSegment], now_ms: int
) -> dict[TopicPartition, OffsetRange]:
    """Put staged segments at the ends of their partitions, in the order given; the offsets they got."""
    ranges: dict[TopicPartition, OffsetRange] = {}
    known: dict[TopicPartition, Partition] = {}
    for staged in segments:
        where = staged.topic, staged.partition
        partition = known.get(where) or _partition_for(connection, staged)
        known[where] = partition
        _check_file(disk, staged)
        first, base = ranges.get(where, (partition.end_offset, partition.end_offset))
        segment = staged.built._replace(base_offset=base, arrived_ms=now_ms)
        ranges[where] = first, segment.next_offset
        _insert(connection, partition.id, segment)
    for where, (_, end) in ranges.items():
        connection.execute("UPDATE partitions SET end_offset = ? WHERE id = ?", (end, known[where].id))
    return ranges


def replace(
    connection: sqlite3.Connection, partition: Partition, old: Sequence[Segment], new: Sequence[Segment]
) -> bool:
    """Let ``new`` take the place of ``old``; False, and nothing is changed, where another process was faster."""
    numbers = [(segment.id,) for segment in old]
    here = "SELECT count(*) FROM segments WHERE partition_id = ? AND id = ?"
    if not all(connection.execute(here, (partition.id, number)).fetchone()[0] for (number,) in numbers):
        return False
    connection.executemany("DELETE FROM segments WHERE id = ?", numbers)
    arrived_ms = max((segment.arrived_ms for segment in old), default=0)
    for segment in new:
        _insert(connection, partition.id, segment._replace(arrived_ms=arrived_ms))
    return True


def remove(connection: sqlite3.Connection, segments: Iterable[Segment]) -> None:
    connection.executemany("DELETE FROM segments WHERE id = ?", [(segment.id,) for segment in segments])


def unregistered(connection: sqlite3.Connection, segments: Iterable[StagedSegment]) -> list[str]:
    """The staged files that the catalog does not know."""
    files = [staged.built.file for staged in segments if staged.built.file is not None]
    here = "SELECT 1 FROM segments WHERE file = ?"
    return [file for file in files if connection.execute(here, (file,)).fetchone() is None]


def small_segments(connection: sqlite3.Connection, partition: Partition) -> tuple[int, int]:
    """How many small segments of the partition are in the catalog, and how many bytes they have."""
    question = """SELECT count(*), coalesce(sum(bytes), 0) FROM segments INDEXED BY small_segments
                  WHERE partition_id = ? AND file IS NULL"""
    number, size = connection.execute(question, (partition.id,)).fetchone()
    return number, size


class LogReader:
    """Reads partitions of one broker; remembers which chunks it has verified."""

    def __init__(self, catalog: Catalog, disk: Disk) -> None:
        self._catalog = catalog
        self._disk = disk
        self._verified: set[tuple[int, int]] = set()

    def read(
        self, topic: str, partition: int, start: int, end: int | None, max_records: int
    ) -> Iterator[list[RawRecord]]:
        """The records from ``start`` to ``end``, in lists."""
        if max_records < 1:
            message = f"max_records must be 1 or more, found {max_records}"
            raise ArgumentError(message)
        with self._catalog.read() as connection:
            found = find_partition(connection, topic, partition)
        end = found.end_offset if end is None else end
        _check_range(found, start, end)
        return _in_lists(self._records(found, start, end), max_records)

    def batches(self, partition: Partition, start: int, end: int) -> Iterator[tuple[Batch, Segment, Chunk]]:
        """The verified record batches that hold offsets from ``start`` to ``end``.

        Others may merge, compact or remove segments meanwhile: what is gone is looked up again in the catalog.
        """
        position = start
        while position < end:
            page = self._page(partition, position, end)
            if not page:
                return
            for segment in page:
                try:
                    yield from self._of_segment(partition, segment, max(position, segment.base_offset), end)
                except FileNotFoundError as error:
                    self._check_gone(partition, segment, error)
                    break
                position = segment.next_offset

    def of_segments(self, partition: Partition, segments: Iterable[Segment]) -> Iterator[tuple[Batch, Segment, Chunk]]:
        """The verified record batches of the segments given; FileNotFoundError where one is gone."""
        for segment in segments:
            loaded = self._with_payload(segment)
            yield from self._of_segment(partition, loaded, segment.base_offset, segment.next_offset)

    def staged(self, staged: StagedSegment) -> Iterator[list[RawRecord]]:
        """The records of a segment that is not registered yet; their offsets count from 0."""
        segment = staged.built
        place = SegmentPlace(staged.topic, staged.partition, 0, segment.file or "a staged segment")
        with self._source(segment) as fetch:
            for chunk in _index(segment, place):
                data = fetch(chunk)
                verify(data, chunk, place)
                offsets = range(chunk.first, chunk.next)
                yield records_in(batch_from(data, sparse=False), staged.topic, staged.partition, offsets)

    def offset_for_time(self, topic: str, partition: int, timestamp: int) -> int | None:
        """The first offset whose timestamp is at or after the given one."""
        with self._catalog.read() as connection:
            found = find_partition(connection, topic, partition)
            question = """SELECT base_offset FROM segments WHERE partition_id = ? AND max_timestamp >= ?
                          ORDER BY next_offset LIMIT 1"""
            row = connection.execute(question, (found.id, timestamp)).fetchone()
        if row is None:
            return None
        for batch, segment, chunk in self.batches(found, max(row[0], found.start_offset), found.end_offset):
            offsets = offsets_in(batch, chunk.first, segment.base_offset)
            times = batch.column("timestamp").to_pylist()
            for offset, time in zip(offsets, times, strict=True):
                if time >= timestamp and offset >= found.start_offset:
                    return offset
        return None

    def problems(self, partition: Partition) -> list[CorruptLogError]:
        """What is wrong with the segments of a partition, each verified anew."""
        with self._catalog.read() as connection:
            segments = segments_of(connection, partition)
        found: list[CorruptLogError] = []
        for segment in segments:
            self._verified = {known for known in self._verified if known[0] != segment.id}
            try:
                for _ in self.of_segments(partition, [segment]):
                    pass
            except CorruptLogError as error:
                found.append(error)
            except FileNotFoundError as error:
                try:
                    self._check_gone(partition, segment, error)
                except CorruptLogError as missing:
                    found.append(missing)
        return found

    def _records(self, partition: Partition, start: int, end: int) -> Iterator[tuple[list[RawRecord], int]]:
        for batch, segment, chunk in self.batches(partition, start, end):
            offsets = offsets_in(batch, chunk.first, segment.base_offset)
            # A chunk that was merged meanwhile begins with records that were read before.
            low, high = bisect_left(offsets, start), bisect_left(offsets, end)
            start = segment.base_offset + chunk.next
            if high - low < batch.num_rows:
                batch, offsets = batch.slice(low, high - low), offsets[low:high]
            if offsets:
                yield records_in(batch, partition.topic, partition.partition, offsets), chunk.end - chunk.start

    def _page(self, partition: Partition, position: int, end: int) -> list[Segment]:
        question = f"""SELECT {_COLUMNS}, payload FROM segments
                       WHERE partition_id = ? AND next_offset > ? AND base_offset < ?
                       ORDER BY next_offset LIMIT {_PAGE}"""
        with self._catalog.read() as connection:
            current = _partition_row(connection, "p.id = ?", (partition.id,))
            rows = connection.execute(question, (partition.id, position, end)).fetchall()
        if current is None:
            message = f"topic {partition.topic} was deleted while it was read"
            raise UnknownTopicError(message)
        if position < current.start_offset:
            raise _out_of_range(current, position, "Retention removed it while it was read")
        return [Segment(*row) for row in rows]

    def _of_segment(
        self, partition: Partition, segment: Segment, start: int, end: int
    ) -> Iterator[tuple[Batch, Segment, Chunk]]:
        low, high = start - segment.base_offset, end - segment.base_offset
        place = SegmentPlace(partition.topic, partition.partition, segment.base_offset, self._shown(segment))
        wanted = [chunk for chunk in _index(segment, place) if chunk.next > low and chunk.first < high]
        with self._source(segment) as fetch:
            for chunk in wanted:
                data = fetch(chunk)
                self._verify(data, segment, chunk, place)
                yield batch_from(data, sparse=bool(segment.sparse)), segment, chunk

    def _verify(self, data: bytes, segment: Segment, chunk: Chunk, place: SegmentPlace) -> None:
        known = segment.id, chunk.start
        if known in self._verified and len(data) == chunk.end - chunk.start:
            return
        verify(data, chunk, place)
        if len(self._verified) >= _MAX_VERIFIED:
            self._verified.clear()
        self._verified.add(known)

    @contextmanager
    def _source(self, segment: Segment) -> Iterator[_Fetch]:
        if segment.file is None:
            yield _InCatalog(segment.payload or b"")
            return
        descriptor = self._disk.open(segment.file)
        try:
            yield _InFile(self._disk, segment.file, descriptor)
        finally:
            os.close(descriptor)

    def _with_payload(self, segment: Segment) -> Segment:
        if segment.file is not None:
            return segment
        with self._catalog.read() as connection:
            row = connection.execute("SELECT payload FROM segments WHERE id = ?", (segment.id,)).fetchone()
        if row is None:
            raise FileNotFoundError(segment.id)
        return segment._replace(payload=row[0])

    def _shown(self, segment: Segment) -> str:
        if segment.file is None:
            return f"{self._catalog.path} (segment {segment.id})"
        return str(self._disk.path(segment.file))

    def _check_gone(self, partition: Partition, segment: Segment, error: FileNotFoundError) -> None:
        """Fine where the catalog agrees that the segment is gone; corruption where it does not."""
        with self._catalog.read() as connection:
            row = connection.execute("SELECT 1 FROM segments WHERE id = ?", (segment.id,)).fetchone()
        if row is not None:
            first, last = segment.base_offset, segment.next_offset - 1
            message = (
                f"{partition.topic}-{partition.partition} is corrupt at offsets {first} to {last}: "
                f"{self._shown(segment)} is missing"
            )
            raise CorruptLogError(message, hint="Restore the file from a backup.") from error


class _InCatalog:
    def __init__(self, payload: bytes) -> None:
        self._payload = payload

    def __call__(self, chunk: Chunk) -> bytes:
        return self._payload[chunk.start : chunk.end]


class _InFile:
    def __init__(self, disk: Disk, file: str, descriptor: int) -> None:
        self._disk, self._file, self._descriptor = disk, file, descriptor

    def __call__(self, chunk: Chunk) -> bytes:
        return self._disk.read(self._descriptor, self._file, chunk.start, chunk.end)


_Fetch = _InCatalog | _InFile


def _in_lists(chunks: Iterator[tuple[list[RawRecord], int]], max_records: int) -> Iterator[list[RawRecord]]:
    """Join what is small and cut what is long, so that a list has few megabytes and at most ``max_records``."""
    held: list[RawRecord] = []
    held_bytes = 0
    for records, size in chunks:
        if held and (len(held) + len(records) > max_records or held_bytes + size > CHUNK_BYTES):
            yield held
            held, held_bytes = [], 0
        held = held + records if held else records
        held_bytes += size
        while len(held) > max_records:
            yield held[:max_records]
            held = held[max_records:]
        if len(held) >= CHUNK_RECORDS:
            yield held
            held, held_bytes = [], 0
    if held:
        yield held


def _index(segment: Segment, place: SegmentPlace) -> list[Chunk]:
    try:
        return unpack_chunks(segment.chunks)
    except msgspec.MsgspecError as error:
        whole = Chunk(0, segment.next, segment.records, 0, segment.size, 0, 0)
        raise place.corrupt(whole, f"its index in the catalog cannot be read: {error}") from error


def _partition_question(condition: str) -> str:
    return f"""SELECT p.id, t.name, t.id, p.partition, p.start_offset, p.end_offset, p.cleaned_offset
               FROM partitions p JOIN topics t ON t.id = p.topic_id WHERE {condition} ORDER BY p.partition"""


def _partition_row(connection: sqlite3.Connection, condition: str, values: tuple[object, ...]) -> Partition | None:
    row = connection.execute(_partition_question(condition), values).fetchone()
    return None if row is None else Partition(*row)


def _partition_for(connection: sqlite3.Connection, staged: StagedSegment) -> Partition:
    condition = "t.id = ? AND t.name = ? AND p.partition = ?"
    found = _partition_row(connection, condition, (staged.topic_id, staged.topic, staged.partition))
    if found is None:
        message = f"topic {staged.topic} was deleted after records for it were staged"
        raise UnknownTopicError(message, hint="Nothing was committed. Create the topic again, then start again.")
    return found


def _check_file(disk: Disk, staged: StagedSegment) -> None:
    file, wanted = staged.built.file, staged.built.size
    if file is None:
        return
    expected = f"{topics.directory_of(staged.topic_id, staged.topic)}/{staged.partition}/"
    size = disk.size(file) if file.startswith(expected) else None
    if size != wanted:
        message = f"the staged segment {file} cannot be committed: it has {size} bytes, not {wanted}"
        hint = "Nothing was committed; run the batch again. Was it swept because the batch took too long?"
        raise BrokerError(message, hint=hint)


def _insert(connection: sqlite3.Connection, partition_id: int, segment: Segment) -> None:
    connection.execute(
        """INSERT INTO segments (partition_id, base_offset, next_offset, records, bytes, min_timestamp, max_timestamp,
                                 arrived_ms, checksum, sparse, file, chunks, payload)
           VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)""",
        (
            partition_id,
            segment.base_offset,
            segment.next_offset,
            segment.records,
            segment.size,
            segment.min_timestamp,
            segment.max_timestamp,
            segment.arrived_ms,
            segment.checksum,
            int(segment.sparse),
            segment.file,
            segment.chunks,
            segment.payload,
        ),
    )


def _check_range(partition: Partition, start: int, end: int) -> None:
    if start < partition.start_offset:
        raise _out_of_range(partition, start, "Retention removed what was before")
    if start > partition.end_offset:
        raise _out_of_range(partition, start, "It was never written")
    if end > partition.end_offset:
        raise _out_of_range(partition, end, "It was never written")


def _out_of_range(partition: Partition, offset: int, why: str) -> OffsetOutOfRangeError:
    message = f"{partition.topic}-{partition.partition} does not hold offset {offset}"
    detail = f"It holds {partition.start_offset} up to, not including, {partition.end_offset}. {why}."
    hint = "Start at one of these offsets; auto.offset.reset says which where an application has lost its place."
    return OffsetOutOfRangeError(message, detail=detail, hint=hint)
