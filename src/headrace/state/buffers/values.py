"""The bytes of a buffered record: where it came from, and the values before and after."""

from __future__ import annotations

import struct
from typing import NamedTuple

from headrace.records import Headers, RecordContext

_TIME_AND_OFFSET = struct.Struct(">qq")
_INT = struct.Struct(">i")
_LONG = struct.Struct(">q")
_NULL = _INT.pack(-1)
_SAME_AS_PRIOR = _INT.pack(-2)


class BufferValue(NamedTuple):
    """A record in a buffer: the value before it was first buffered, the old, the new, and its origin."""

    prior: bytes | None
    old: bytes | None
    new: bytes | None
    context: RecordContext

    def dump(self) -> bytes:
        """As changelog and store keep it."""
        is_same = self.old is not None and self.old == self.prior
        old = _SAME_AS_PRIOR if is_same else _sized(self.old)
        return b"".join((dump_context(self.context), _sized(self.prior), old, _sized(self.new)))

    @classmethod
    def parse(cls, data: bytes) -> BufferValue:
        """Read what ``dump`` wrote; bytes after it are left alone."""
        return _Reader(data).value()

    @property
    def memory_size(self) -> int:
        """The bytes it counts for against the limit of a buffer."""
        values = _length(self.prior) + _length(self.new) + _length(None if self.old == self.prior else self.old)
        return values + context_size(self.context)


def dump_context(context: RecordContext) -> bytes:
    """Time, offset, topic, partition and headers of a record."""
    parts = [
        _TIME_AND_OFFSET.pack(context.timestamp, context.offset),
        _sized((context.topic or "").encode()),
        _INT.pack(context.partition),
        _INT.pack(len(context.headers)),
    ]
    for name, value in context.headers:
        parts += _sized(name.encode()), _sized(value)
    return b"".join(parts)


def context_size(context: RecordContext) -> int:
    """The bytes a record's origin counts for: texts by their length in UTF-16, as Java counts."""
    headers = sum(_utf16_length(name) + _length(value) for name, value in context.headers)
    return 20 + _utf16_length(context.topic or "") + headers


def _utf16_length(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-16-le")) // 2


def _length(value: bytes | None) -> int:
    return 0 if value is None else len(value)


def _sized(value: bytes | None) -> bytes:
    return _NULL if value is None else _INT.pack(len(value)) + value


class _Reader:
    """Reads a buffer value from front to back."""

    __slots__ = ("_at", "_data")

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def value(self) -> BufferValue:
        context = self._context()
        prior = self._sized()
        size = self._int()
        old = prior if size == -2 else self._bytes(size)
        return BufferValue(prior, old, self._sized(), context)

    def _context(self) -> RecordContext:
        timestamp, offset = self._long(), self._long()
        topic = (self._sized() or b"").decode()
        partition = self._int()
        headers = Headers(((self._sized() or b"").decode(), self._sized()) for _ in range(self._int()))
        return RecordContext(timestamp, offset, partition, topic, headers)

    def _int(self) -> int:
        self._at += 4
        return int(_INT.unpack_from(self._data, self._at - 4)[0])

    def _long(self) -> int:
        self._at += 8
        return int(_LONG.unpack_from(self._data, self._at - 8)[0])

    def _sized(self) -> bytes | None:
        return self._bytes(self._int())

    def _bytes(self, size: int) -> bytes | None:
        if size < 0:
            return None
        self._at += size
        return self._data[self._at - size : self._at]
