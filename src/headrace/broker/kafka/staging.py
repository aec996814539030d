"""Output that nobody sees yet: in memory, in the handover, or in a file below ``staging.dir``.

What is staged in the process that decides stays in its memory: it is published with the decision, in one transaction. A
small stage is the handover itself. A large one is a file, whose name carries the attempt, and which everybody who may
have to publish it can open: a local directory where all processes are on one machine, else what ``pyarrow.fs`` opens.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack, suppress
from typing import IO, Any, Protocol

import msgspec

from headrace.broker.kafka import crash_points
from headrace.broker.kafka.chunks import Chunk, frames_of
from headrace.broker.kafka.limits import TopicLimits, check_partition, check_record
from headrace.broker.kafka.staging_directory import StagingDirectory
from headrace.broker.port import Handover, TopicPartition
from headrace.errors import BrokerError, IllegalStateError
from headrace.failpoints import reach
from headrace.records import NO_HEADERS, Headers

INLINE_BYTES = 64 * 1024
"""What is smaller travels in the handover."""
_CHUNK_RECORDS = 4096
_CHUNK_BYTES = 1 << 20
_encode = msgspec.msgpack.Encoder().encode


class Staged(msgspec.Struct, frozen=True, array_like=True):
    """What a stage hands over."""

    publisher: int
    """Whose part of a publication it is."""
    records: int
    file: str | None = None
    inline: bytes | None = None
    is_held: bool = False
    """Whether it is in the memory of the process that made it, under the name ``file``, and nowhere else."""
    is_sent: bool = False
    """Whether the records are in their topics already."""


_decode_staged = msgspec.msgpack.Decoder(Staged).decode


def staged_of(handover: Handover) -> Staged:
    """What a stage handed over."""
    try:
        return _decode_staged(handover)
    except msgspec.MsgspecError as error:
        raise BrokerError("this is no handover of a stage", detail=str(error)) from error


class Sink(Protocol):
    """Where the chunks of a stage go."""

    def add(self, chunk: Chunk, size: int) -> None:
        """Take a chunk of about so many bytes."""

    def finish(self) -> Staged:
        """Make all of it durable."""

    def abort(self) -> None:
        """Drop it."""


class HeldSink:
    """Keeps chunks in the memory of the process that is going to decide."""

    def __init__(self, held: dict[str, list[Chunk]], name: str, publisher: int) -> None:
        self._held, self._name, self._publisher = held, name, publisher
        self._chunks: list[Chunk] = []

    def add(self, chunk: Chunk, size: int) -> None:
        self._chunks.append(chunk)

    def finish(self) -> Staged:
        self._held[self._name] = self._chunks
        return Staged(self._publisher, sum(len(chunk.keys) for chunk in self._chunks), self._name, is_held=True)

    def abort(self) -> None:
        self._chunks = []


class FileSink:
    """Keeps chunks in memory while they are few, and then in a file."""

    def __init__(self, directory: StagingDirectory, name: str, publisher: int) -> None:
        self._directory, self._name, self._publisher = directory, name, publisher
        self._chunks: list[Chunk] = []
        self._size = self._records = 0
        self._writing = ExitStack()
        self._file: IO[bytes] | None = None

    def add(self, chunk: Chunk, size: int) -> None:
        self._chunks.append(chunk)
        self._records += len(chunk.keys)
        self._size += size
        if self._size > INLINE_BYTES:
            self._spill()

    def finish(self) -> Staged:
        if self._file is None:
            return Staged(self._publisher, self._records, inline=b"".join(frames_of(self._chunks)))
        self._writing.close()
        return Staged(self._publisher, self._records, self._name)

    def abort(self) -> None:
        if self._file is not None:
            with suppress(OSError):
                self._writing.close()
            self._directory.remove(self._name)

    def _spill(self) -> None:
        if self._file is None:
            self._file = self._writing.enter_context(self._directory.new(self._name))
        for frame in frames_of(self._chunks):
            self._file.write(frame)
        self._chunks = []


class StageWriter:
    """The output of one attempt, partition by partition."""

    def __init__(self, limits_of: Callable[[str, int], TopicLimits], sink: Sink) -> None:
        self._limits_of, self._sink = limits_of, sink
        self._open: dict[TopicPartition, _Columns] = {}
        self._is_finished = False
        self.counts: Counter[str] = Counter()
        """How many records each topic gets, when it is finished."""

    def append(
        self,
        topic: str,
        partition: int,
        timestamp: int,
        key: bytes | None,
        value: bytes | None,
        headers: Headers = NO_HEADERS,
    ) -> None:
        columns = self._open.get((topic, partition))
        if columns is None:
            columns = self._begin(topic, partition)
        if columns.add(timestamp, key, value, headers):
            self._seal(columns)

    def finish(self) -> Handover:
        """Make all of it durable, and give what a decision needs to name it."""
        self._check_open()
        for columns in self._open.values():
            self._seal(columns)
        staged = self._sink.finish()
        self._is_finished = True
        reach(crash_points.STAGED)
        return _encode(staged)

    def abort(self) -> None:
        """Drop what was written."""
        if not self._is_finished:
            self._is_finished = True
            self._open = {}
            self._sink.abort()

    def __enter__(self) -> StageWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self.abort()

    def _begin(self, topic: str, partition: int) -> _Columns:
        self._check_open()
        limits = self._limits_of(topic, partition)
        check_partition(topic, partition, limits)
        columns = self._open[topic, partition] = _Columns(topic, partition, limits)
        return columns

    def _seal(self, columns: _Columns) -> None:
        if columns.keys:
            size = columns.size
            chunk = columns.chunk()
            self.counts[chunk.topic] += len(chunk.keys)
            self._sink.add(chunk, size)

    def _check_open(self) -> None:
        if self._is_finished:
            raise IllegalStateError("this stage is finished", hint="Stage again with another attempt.")


class _Columns:
    """Records of one partition that come in."""

    __slots__ = ("_limits", "_place", "has_headers", "headers", "keys", "size", "timestamps", "values")

    def __init__(self, topic: str, partition: int, limits: TopicLimits) -> None:
        self._place, self._limits = (topic, partition), limits
        self.has_headers, self.size = False, 0
        self._clear()

    def add(self, timestamp: int, key: bytes | None, value: bytes | None, headers: Headers) -> bool:
        """Take a record; whether there is enough for a chunk."""
        self.size += check_record(self._place[0], self._limits, timestamp, key, value, headers) + 8
        self.timestamps.append(timestamp)
        self.keys.append(key)
        self.values.append(value)
        self.headers.append(headers)
        if headers:
            self.has_headers = True
        return len(self.keys) >= _CHUNK_RECORDS or self.size >= _CHUNK_BYTES

    def chunk(self) -> Chunk:
        headers: Any = self.headers if self.has_headers else None
        chunk = Chunk(*self._place, self.timestamps, self.keys, self.values, headers)
        self._clear()
        return chunk

    def _clear(self) -> None:
        self.timestamps: list[int] = []
        self.keys: list[bytes | None] = []
        self.values: list[bytes | None] = []
        self.headers: list[Headers] = []
        self.has_headers = False
        self.size = 0
