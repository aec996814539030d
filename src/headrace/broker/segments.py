"""The bytes of a segment: an Arrow IPC stream whose record batches (*chunks*) can be read and verified one by one.

A segment file is a schema message, chunks, and the end mark: any Arrow implementation opens it. The catalog keeps an
index of its chunks (where each begins and ends, which offsets it has, its CRC-32). So a reader gets to an offset
without looking at what is before it, holds one chunk in memory, and never hands Arrow bytes that it has not verified.
Each chunk is verified at its first read in a process.

Chunks are read with ``pread``, not through a memory map: values are copied into Python objects anyway, a truncated
file or a failing disk is then an error instead of a SIGBUS, and it measures no slower (2.3 against 2.1 million
records/s).

*Dense* segments have every offset from their base on. Compaction leaves gaps: *sparse* segments have a column with
each record's offset (relative to the base), and one with the time from which a tombstone may go.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from itertools import repeat
from typing import Any, NamedTuple, TypeAlias

import msgspec
import pyarrow as pa

from headrace.broker.arrays import binary_array, int64_array
from headrace.errors import CorruptLogError
from headrace.records import NO_HEADERS, Headers, RawRecord

CHUNK_RECORDS = 4096
CHUNK_BYTES = 1 << 20

_FIELDS = [
    pa.field("timestamp", pa.int64(), nullable=False),
    pa.field("key", pa.binary()),
    pa.field("value", pa.binary()),
    pa.field("headers", pa.binary()),
]
DENSE = pa.schema(_FIELDS)
SPARSE = pa.schema(
    [
        *_FIELDS,
        pa.field("offset", pa.int64(), nullable=False),
        pa.field("delete_horizon", pa.int64()),
    ]
)
END_MARK = b"\xff\xff\xff\xff\x00\x00\x00\x00"

Batch: TypeAlias = Any
"""A pyarrow.RecordBatch; pyarrow has no types of its own."""

Row: TypeAlias = tuple[int, bytes | None, bytes | None, Headers]
"""A record to write: timestamp, key, value, headers."""

_decode_headers = msgspec.msgpack.Decoder(list[tuple[str, bytes | None]]).decode
_encode_headers = msgspec.msgpack.Encoder().encode


class Chunk(NamedTuple):
    """One record batch in a segment: its offsets (relative to the base), its bytes, and their CRC-32."""

    first: int
    next: int
    records: int
    start: int
    end: int
    checksum: int
    max_timestamp: int


_chunks_decoder = msgspec.msgpack.Decoder(list[Chunk])


def pack_chunks(chunks: Sequence[Chunk]) -> bytes:
    return msgspec.msgpack.encode(chunks)


def unpack_chunks(data: bytes) -> list[Chunk]:
    return _chunks_decoder.decode(data)


def header(*, sparse: bool) -> bytes:
    return (SPARSE if sparse else DENSE).serialize().to_pybytes()  # type: ignore[no-any-return]


def batch_of(rows: list[Row]) -> Batch:
    """Records as a dense record batch."""
    timestamps, keys, values, headers = zip(*rows, strict=True)
    encoded = [_encode_headers(given) if given else None for given in headers] if any(headers) else [None] * len(rows)
    columns = [
        int64_array(timestamps),
        binary_array(keys),
        binary_array(values),
        binary_array(encoded),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=DENSE)


def with_offsets(batch: Batch, offsets: Any, horizons: Any = None) -> Batch:
    """The batch as a sparse one, with the given offsets; nothing in it has a horizon unless told."""
    horizons = pa.nulls(batch.num_rows, pa.int64()) if horizons is None else horizons
    columns = [batch.column(name) for name in DENSE.names]
    return pa.RecordBatch.from_arrays([*columns, offsets, horizons], schema=SPARSE)


def message_of(batch: Batch) -> memoryview:
    return memoryview(batch.serialize())


class Segment(NamedTuple):
    """A segment that was written, and its place in a partition as soon as it has one.

    A large one is in ``file``, a small one is its ``payload``, which is not loaded where it is not asked for.
    """

    records: int
    next: int
    """The number of offsets it covers, gaps included."""
    size: int
    min_timestamp: int
    max_timestamp: int
    checksum: int
    chunks: bytes
    file: str | None
    sparse: bool = False
    base_offset: int = 0
    arrived_ms: int = 0
    """When the last of its records arrived."""
    id: int = 0
    """Its number in the catalog; 0 where it is not registered."""
    payload: bytes | None = None

    @property
    def next_offset(self) -> int:
        return self.base_offset + self.next


class SegmentPlace(NamedTuple):
    """Where a segment is, for messages."""

    topic: str
    partition: int
    base_offset: int
    file: str

    def corrupt(self, chunk: Chunk, detail: str) -> CorruptLogError:
        """The error for a chunk that is not what was written."""
        first, last = self.base_offset + chunk.first, self.base_offset + chunk.next - 1
        message = f"{self.topic}-{self.partition} is corrupt at offsets {first} to {last}: {self.file}"
        hint = (
            "Restore the file from a backup. Where the records can be had again, delete the topic or raise its start: "
            "no record is ever skipped silently."
        )
        return CorruptLogError(message, detail=detail, hint=hint)


def verify(data: bytes, chunk: Chunk, place: SegmentPlace) -> None:
    """Refuse bytes that are not those that were written."""
    expected = chunk.end - chunk.start
    if len(data) != expected:
        detail = f"bytes {chunk.start} to {chunk.end} were written, {len(data)} of {expected} are there"
        raise place.corrupt(chunk, detail)
    found = zlib.crc32(data)
    if found != chunk.checksum:
        detail = f"the checksum of bytes {chunk.start} to {chunk.end} is {found:08x}, written was {chunk.checksum:08x}"
        raise place.corrupt(chunk, detail)


def batch_from(data: bytes, *, sparse: bool) -> Batch:
    """The record batch in verified bytes."""
    return pa.ipc.read_record_batch(pa.py_buffer(data), SPARSE if sparse else DENSE)


def offsets_in(batch: Batch, first: int, base_offset: int) -> Sequence[int]:
    """The offsets of a batch: those in its column, or as many as there are records."""
    if batch.num_columns == len(DENSE):
        return range(base_offset + first, base_offset + first + batch.num_rows)
    return [base_offset + delta for delta in batch.column("offset").to_pylist()]


def records_in(batch: Batch, topic: str, partition: int, offsets: Sequence[int]) -> list[RawRecord]:
    timestamps, keys, values, headers = (batch.column(name) for name in DENSE.names)
    found = repeat(NO_HEADERS) if headers.null_count == batch.num_rows else map(_headers_from, headers.to_pylist())
    columns = offsets, timestamps.to_pylist(), keys.to_pylist(), values.to_pylist(), found
    return list(zip(repeat(topic), repeat(partition), *columns, strict=False))


def _headers_from(data: bytes | None) -> Headers:
    return NO_HEADERS if data is None else Headers(_decode_headers(data))
