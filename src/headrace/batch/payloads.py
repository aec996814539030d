"""Records on their way from one task to another within a batch: columns in memory, few large chunks of bytes between.

A chunk is one MessagePack array of columns: timestamps, keys, values (unless they are the keys once more) and, only
where a record has any, headers. Measured on small records it is written and read in half the time of an Arrow IPC
message (52 to 111 against 211 ns, 105 against 196 ns a record), and has two thirds of its size.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice, repeat
from typing import TypeAlias

import msgspec

from headrace.errors import InternalError
from headrace.processors.columns import RecordColumns
from headrace.records import NO_HEADERS, Headers

CHUNK_RECORDS = 32768
CHUNK_BYTES = 2 << 20
"""A chunk has no more bytes than this, unless it is a single record that is larger."""
_FIRST_RECORDS = 64
"""In the first chunk of a payload, while it is not known how large its records are."""

Sent: TypeAlias = tuple[int, bytes | None, bytes | None, Headers]
"""A record on its way to another task: ``(timestamp, key, value, headers)``."""

_Rows: TypeAlias = "tuple[Sequence[int], Sequence[bytes | None], Sequence[bytes | None], Sequence[Headers] | None]"
_HeaderColumn: TypeAlias = list[list[tuple[str, bytes | None]]]
_Columns: TypeAlias = tuple[list[int], list[bytes | None], list[bytes | None] | None, _HeaderColumn | None]

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(_Columns).decode


def encode(records: Iterable[Sent]) -> bytes:
    """All of the records as one chunk.

    >>> decode(encode([(1, b"k", None, NO_HEADERS)]))
    [(1, b'k', None, ())]
    """
    return _packed(_columns(records))


def encode_chunks(records: Iterable[Sent]) -> Iterator[bytes]:
    """The records as chunks of bounded size, in order.

    >>> [decode(chunk) for chunk in encode_chunks([(1, b"k", b"v", NO_HEADERS)])]
    [[(1, b'k', b'v', ())]]
    """
    waiting = iter(records)
    while some := list(islice(waiting, CHUNK_RECORDS)):
        yield from _bounded(_columns(some))


def decode(chunk: bytes) -> list[Sent]:
    """The records of a chunk."""
    timestamps, keys, values, headers = _read(chunk)
    return list(zip(timestamps, keys, values, repeat(NO_HEADERS) if headers is None else headers, strict=False))


def _columns(records: Iterable[Sent]) -> _Rows:
    timestamps, keys, values, headers = tuple(zip(*records, strict=True)) or ((), (), (), ())
    return timestamps, keys, values, headers if any(headers) else None


def columns_in(chunk: bytes, topic: str, partition: int, offset: int) -> RecordColumns:
    """The records of a chunk in columns, numbered from ``offset`` on.

    >>> columns_in(encode([(1, b"k", b"v", NO_HEADERS)]), "words", 0, 7).row(0)
    ('words', 0, 7, 1, b'k', b'v', ())
    """
    timestamps, keys, values, headers = _read(chunk)
    offsets = range(offset, offset + len(timestamps))
    return RecordColumns(topic, partition, offsets, timestamps, keys, values, headers)


class Payload:
    """The records for one partition: they are taken one by one and delivered in chunks.

    Whoever writes many may append to the columns: to ``values`` and ``keys``, at last to ``timestamps``, and then call
    ``seal`` where there are ``limit`` of them.

    >>> payload = Payload(lambda chunk: print(decode(chunk)))
    >>> payload.add(1, b"k", b"v", NO_HEADERS)
    >>> payload.seal()
    [(1, b'k', b'v', ())]
    """

    __slots__ = ("_deliver", "_headers", "keys", "limit", "timestamps", "values")

    def __init__(self, deliver: Callable[[bytes], None]) -> None:
        self._deliver = deliver
        self.timestamps: list[int] = []
        self.keys: list[bytes | None] = []
        self.values: list[bytes | None] = []
        self.limit = _FIRST_RECORDS
        # Shorter than the other columns: what is missing is empty.
        self._headers: list[Headers] = []

    def add(self, timestamp: int, key: bytes | None, value: bytes | None, headers: Headers) -> None:
        """Take one record."""
        if headers:
            self._headers += [NO_HEADERS] * (len(self.timestamps) - len(self._headers))
            self._headers.append(headers)
        self.values.append(value)
        self.keys.append(key)
        self.timestamps.append(timestamp)
        if len(self.timestamps) >= self.limit:
            self.seal()

    def seal(self) -> None:
        """Deliver what was not delivered yet."""
        count, size = len(self.timestamps), 0
        if not count:
            return
        if self._headers:
            self._headers += [NO_HEADERS] * (count - len(self._headers))
        for chunk in _bounded((self.timestamps, self.keys, self.values, self._headers or None)):
            self._deliver(chunk)
            size += len(chunk)
        # How large records are is known by now.
        self.limit = max(1, min(CHUNK_RECORDS, CHUNK_BYTES * count // size))
        for column in (self.timestamps, self.keys, self.values, self._headers):
            column.clear()


def _packed(columns: _Rows) -> bytes:
    timestamps, keys, values, headers = columns
    # Who groups by the value sends it twice.
    return _encode((timestamps, keys, None if values == keys else values, headers))


def _bounded(columns: _Rows) -> Iterator[bytes]:
    chunk = _packed(columns)
    count = len(columns[0])
    if len(chunk) <= CHUNK_BYTES or count == 1:
        yield chunk
        return
    middle = count // 2
    for part in (slice(middle), slice(middle, None)):
        timestamps, keys, values, headers = columns
        yield from _bounded(
            (timestamps[part], keys[part], values[part], headers[part] if headers and any(headers[part]) else None)
        )


def _read(chunk: bytes) -> tuple[list[int], list[bytes | None], list[bytes | None], list[Headers] | None]:
    try:
        timestamps, keys, values, headers = _decode(chunk)
    except msgspec.DecodeError as error:
        raise InternalError("a payload between two tasks cannot be read", detail=str(error)) from error
    if values is None:
        values = keys.copy()
    if len({len(timestamps), len(keys), len(values), len(timestamps if headers is None else headers)}) > 1:
        raise InternalError("a payload between two tasks cannot be read", detail="its columns differ in length")
    return timestamps, keys, values, None if headers is None else list(map(_headers, headers))


def _headers(pairs: list[tuple[str, bytes | None]]) -> Headers:
    return Headers(pairs) if pairs else NO_HEADERS
