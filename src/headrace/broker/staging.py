"""Writing segments that nobody can see yet: chunk by chunk, small ones kept in memory, large ones in files.

A small segment becomes a blob in the catalog when it is committed, so that a batch with ten records costs no file and
no flush of its own. From ``INLINE_BYTES`` on it is a file. What is held in memory is bounded, whatever the number of
partitions written to.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import msgspec
import pyarrow.compute as pc

from headrace import failpoints
from headrace.broker import crash_points
from headrace.broker.disk import Disk
from headrace.broker.port import Handover
from headrace.broker.segments import (
    CHUNK_BYTES,
    CHUNK_RECORDS,
    END_MARK,
    Batch,
    Chunk,
    Row,
    Segment,
    batch_of,
    header,
    message_of,
    pack_chunks,
)
from headrace.broker.topic_config import TopicConfig
from headrace.errors import ArgumentError, BrokerError, HeadraceError, IllegalStateError, RecordTooLargeError
from headrace.records import NO_HEADERS, Headers

INLINE_BYTES = 64 * 1024
_MEMORY_BYTES = 64 * 1024 * 1024
_MAX_TIMESTAMP = 2**63 - 1


class StagedSegment(msgspec.Struct, frozen=True, array_like=True):
    """Records of one partition that are written but that nobody can see yet."""

    topic: str
    topic_id: int
    partition: int
    built: Segment


def pack(segments: Iterable[StagedSegment]) -> Handover:
    return msgspec.msgpack.encode(list(segments))


def unpack(staged: Handover) -> list[StagedSegment]:
    try:
        return msgspec.msgpack.decode(staged, type=list[StagedSegment])
    except msgspec.MsgspecError as error:
        raise BrokerError("this is no manifest of staged segments", detail=str(error)) from error


class SegmentWriter:
    """One segment that grows by chunks. Begins in memory and moves to ``file`` when it is no longer small."""

    def __init__(self, disk: Disk, file: str, *, sparse: bool = False) -> None:
        self._disk = disk
        self._file = file
        self._sparse = sparse
        self._header = header(sparse=sparse)
        self._chunks: list[Chunk] = []
        self._inline: list[memoryview] = []
        self._in_file = False
        self._checksum = 0
        self._min_timestamp, self._max_timestamp = _MAX_TIMESTAMP, -1
        self.size = 0

    @property
    def next(self) -> int:
        """The relative offset after the last record."""
        return self._chunks[-1].next if self._chunks else 0

    def write(self, batch: Batch, first: int | None = None, next_offset: int | None = None) -> None:
        """Add a chunk. Without offsets it goes on densely where the last one ended."""
        message = message_of(batch)
        first = self.next if first is None else first
        next_offset = first + batch.num_rows if next_offset is None else next_offset
        times = pc.min_max(batch.column("timestamp")).as_py()
        self._min_timestamp = min(self._min_timestamp, times["min"])
        self._max_timestamp = max(self._max_timestamp, times["max"])
        start, self.size = self.size, self.size + len(message)
        self._chunks.append(
            Chunk(first, next_offset, batch.num_rows, start, self.size, zlib.crc32(message), times["max"])
        )
        self._keep(message)

    def finish(self) -> Segment:
        if self._in_file:
            self._append(memoryview(END_MARK))
            self.size += len(END_MARK)
            self._disk.flush(self._file)
            failpoints.reach(crash_points.SEGMENT_WRITTEN)
        return Segment(
            records=sum(chunk.records for chunk in self._chunks),
            next=self.next,
            size=self.size,
            min_timestamp=self._min_timestamp,
            max_timestamp=self._max_timestamp,
            checksum=self._checksum,
            chunks=pack_chunks(self._chunks),
            file=self._file if self._in_file else None,
            sparse=self._sparse,
            payload=None if self._in_file else b"".join(self._inline),
        )

    def abort(self) -> None:
        if self._in_file:
            self._disk.remove(self._file)

    def _keep(self, message: memoryview) -> None:
        if self._in_file:
            self._append(message)
        elif self.size <= INLINE_BYTES:
            self._checksum = zlib.crc32(message, self._checksum)
            self._inline.append(message)
        else:
            self._move_to_file(message)

    def _move_to_file(self, message: memoryview) -> None:
        self._in_file = True
        self._disk.create(self._file, self._header)
        self._checksum = zlib.crc32(self._header)
        shift = len(self._header)
        self._chunks = [chunk._replace(start=chunk.start + shift, end=chunk.end + shift) for chunk in self._chunks]
        self.size += shift
        for held in (*self._inline, message):
            self._append(held)
        self._inline = []

    def _append(self, data: memoryview) -> None:
        self._checksum = zlib.crc32(data, self._checksum)
        self._disk.append(self._file, data)


@dataclass(frozen=True, slots=True)
class StagedTopic:
    """What a stage has to know of a topic."""

    id: int
    directory: str
    partitions: int
    config: TopicConfig


class SegmentStage:
    """The output of one attempt: a writer per partition, and what is checked before a record is taken.

    ``label`` begins the name of every file; the sweeper reads from it whether a file can still be committed.
    """

    def __init__(self, disk: Disk, label: str, describe: Callable[[str], StagedTopic]) -> None:
        self._disk = disk
        self._label = label
        self._describe = describe
        self._topics: dict[str, StagedTopic] = {}
        self._writers: dict[tuple[str, int], _PartitionWriter] = {}
        self._files = 0
        self._finished = False
        self.counts: Counter[str] = Counter()
        """How many records each topic gets, when it is finished."""
        self.chunk_bytes = CHUNK_BYTES
        """How many bytes a partition may hold in memory before it is written; the more partitions, the fewer."""

    def append(
        self,
        topic: str,
        partition: int,
        timestamp: int,
        key: bytes | None,
        value: bytes | None,
        headers: Headers = NO_HEADERS,
    ) -> None:
        writer = self._writers.get((topic, partition))
        if writer is None:
            writer = self._open(topic, partition)
        writer.add(timestamp, key, value, headers)

    def topic(self, name: str) -> StagedTopic:
        """The topic, as it was when this stage first wrote to it."""
        found = self._topics.get(name)
        if found is None:
            found = self._topics[name] = self._describe(name)
        return found

    def finish(self) -> Handover:
        return pack(self.segments())

    def segments(self) -> list[StagedSegment]:
        """Make all of it durable; nothing can be added then."""
        self._check_open()
        staged = [segment for writer in self._writers.values() for segment in writer.finish()]
        for segment in staged:
            self.counts[segment.topic] += segment.built.records
        self._finished = True
        return staged

    def abort(self) -> None:
        if not self._finished:
            self._finished = True
            for writer in self._writers.values():
                writer.abort()

    def new_file(self, topic: StagedTopic, partition: int) -> str:
        self._files += 1
        return f"{topic.directory}/{partition}/{self._label}-{self._files}.arrow"

    def __enter__(self) -> SegmentStage:
        return self

    def __exit__(self, *_: object) -> None:
        self.abort()

    def _open(self, topic: str, partition: int) -> _PartitionWriter:
        self._check_open()
        staged = self.topic(topic)
        if not 0 <= partition < staged.partitions:
            message = f"topic {topic} has no partition {partition}"
            raise ArgumentError(message, detail=f"It has the partitions 0 to {staged.partitions - 1}.")
        writer = self._writers[topic, partition] = _PartitionWriter(self, self._disk, topic, partition, staged)
        self.chunk_bytes = max(INLINE_BYTES, min(CHUNK_BYTES, _MEMORY_BYTES // len(self._writers)))
        return writer

    def _check_open(self) -> None:
        if self._finished:
            raise IllegalStateError("this stage is finished", hint="Stage again with another attempt.")


class _PartitionWriter:
    """The rows of one partition on their way into segments."""

    __slots__ = (
        "_built",
        "_disk",
        "_needs_key",
        "_partition",
        "_rows",
        "_segment",
        "_segment_bytes",
        "_size",
        "_stage",
        "_topic",
        "_topic_name",
        "_widest",
    )

    def __init__(self, stage: SegmentStage, disk: Disk, name: str, partition: int, topic: StagedTopic) -> None:
        self._stage, self._disk = stage, disk
        self._topic_name, self._partition, self._topic = name, partition, topic
        self._widest = topic.config.max_message_bytes
        self._needs_key = topic.config.compact
        self._segment_bytes = topic.config.segment_bytes
        self._segment: SegmentWriter | None = None
        self._built: list[Segment] = []
        self._rows: list[Row] = []
        self._size = 0

    def add(self, timestamp: int, key: bytes | None, value: bytes | None, headers: Headers) -> None:
        if key is None:
            good, size = not self._needs_key, 0
        else:
            good = type(key) is bytes
            size = len(key)
        if value is not None:
            good = good and type(value) is bytes
            size += len(value)
        if headers:
            size += self._size_of(headers)
        if not (good and 0 <= timestamp <= _MAX_TIMESTAMP and size <= self._widest):
            raise self._refusal(timestamp, key, value, size)
        self._rows.append((timestamp, key, value, headers))
        self._size += size + 8
        if self._size >= self._stage.chunk_bytes or len(self._rows) >= CHUNK_RECORDS:
            self._write()

    def finish(self) -> Iterator[StagedSegment]:
        if self._rows:
            self._write()
        self._end_segment()
        for built in self._built:
            yield StagedSegment(self._topic_name, self._topic.id, self._partition, built)

    def abort(self) -> None:
        if self._segment is not None:
            self._segment.abort()
        for built in self._built:
            if built.file is not None:
                self._disk.remove(built.file)

    def _refusal(self, timestamp: int, key: Any, value: Any, size: int) -> HeadraceError:
        if (key is not None and type(key) is not bytes) or (value is not None and type(value) is not bytes):
            message = f"a record for {self._topic_name} is not serialised: keys and values must be bytes"
            return ArgumentError(message, detail=f"key {type(key).__name__}, value {type(value).__name__}")
        if size > self._widest:
            message = f"a record of {size:,} bytes is too large for topic {self._topic_name}"
            hint = f"max.message.bytes of the topic is {self._widest:,}: send less, or raise it."
            return RecordTooLargeError(message, hint=hint)
        if key is None and self._needs_key:
            message = f"a record without a key cannot go to {self._topic_name}: the topic is compacted"
            return ArgumentError(message, hint="Compaction keeps the last record of each key: give it one.")
        message = f"a record for {self._topic_name} has the timestamp {timestamp}"
        return ArgumentError(message, hint="Timestamps are milliseconds since 1970, 0 or more.")

    def _size_of(self, headers: Headers) -> int:
        try:
            return sum(len(name.encode()) + (0 if data is None else len(b"" + data)) for name, data in headers)
        except (AttributeError, TypeError, ValueError) as error:
            message = f"a record for {self._topic_name} has headers that cannot be written"
            raise ArgumentError(message, detail=repr(headers), hint="Headers are pairs of text and bytes.") from error

    def _write(self) -> None:
        if self._segment is None:
            self._segment = SegmentWriter(self._disk, self._stage.new_file(self._topic, self._partition))
        self._segment.write(batch_of(self._rows))
        self._rows, self._size = [], 0
        if self._segment.size >= self._segment_bytes:
            self._end_segment()

    def _end_segment(self) -> None:
        if self._segment is not None:
            self._built.append(self._segment.finish())
            self._segment = None
