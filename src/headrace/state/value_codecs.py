"""How a store keeps a value: as it is, with its timestamp in front, or with headers as well.

A codec knows three forms of a value: typed (what users see), stored (bytes in the store and its cache) and
logged (bytes, timestamp and headers of a changelog record). Headers are kept beside values where
``dsl.store.format=HEADERS`` says so, and in the windows of stream joins.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from headrace.errors import UnreadableStateError
from headrace.records import NO_HEADERS, NO_TIMESTAMP, Headers, ValueAndTimestamp
from headrace.serde.primitives import IntegerSerde
from headrace.serde.varint import read_varint, write_varint
from headrace.state.contracts import ChangeLogger

if TYPE_CHECKING:
    from headrace.serde import Serde

_TIMESTAMP = struct.Struct(">q")
_TIMESTAMP_AND_LONG = struct.Struct(">qq")
_MIN_LONG, _MAX_LONG = -(2**63), 2**63 - 1
TIMESTAMP_SIZE = 8
NO_TIMESTAMP_BYTES = _TIMESTAMP.pack(NO_TIMESTAMP)
NO_HEADERS_BYTES = b"\0"
_NULL = b"\x01"

Dumps: TypeAlias = Callable[[Any], "bytes | None"]
Loads: TypeAlias = Callable[[bytes], Any]
ChangeWriter: TypeAlias = Callable[[bytes, "bytes | None"], None]
"""Writes a key and its stored value to a changelog."""


class Current(Protocol):
    """Time and headers of the record being processed; a context has them, or a ``RecordContext``."""

    @property
    def timestamp(self) -> int:
        """Its time."""

    @property
    def headers(self) -> Headers:
        """Its headers."""


class ValueCodec(Protocol):
    """The three forms of a store's values."""

    def bind(self, serde: Serde[Any], topic: str) -> tuple[Dumps, Loads]:
        """The ways from a typed value (never None) to the stored one, and back."""

    def change_writer(self, append: ChangeLogger, current: Current) -> ChangeWriter:
        """What appends a key and its stored value to the changelog; ``current`` is the record being processed."""

    def from_changelog(self, value: bytes | None, timestamp: int, headers: Headers) -> bytes | None:
        """The stored value that a changelog record stands for."""


def reader(serde: Serde[Any], topic: str) -> Loads:
    """The way back for what the store itself wrote: where that fails no record is to blame, and no handler is asked."""
    deserialize = serde.deserialize

    def read(data: bytes) -> Any:
        try:
            return deserialize(topic, data)
        except Exception as error:
            message = f"what {topic} holds cannot be read: {getattr(error, 'message', error)}"
            hint = "Give the store the serde it was written with, or reset the application."
            raise UnreadableStateError(message, detail=getattr(error, "detail", None), hint=hint) from error

    return read


class PlainCodec:
    """Values as their serde makes them; changelog records have the current record's time."""

    def __reduce__(self) -> str:
        # The same object in every process: who asks whether it is this one asks for the object.
        return "PLAIN"

    def bind(self, serde: Serde[Any], topic: str) -> tuple[Dumps, Loads]:
        """The serde's own methods."""
        return partial(serde.serialize, topic), reader(serde, topic)

    def change_writer(self, append: ChangeLogger, current: Current) -> ChangeWriter:
        """The value as it is."""
        return lambda key, stored: append(key, stored, current.timestamp, NO_HEADERS)

    def from_changelog(self, value: bytes | None, timestamp: int, headers: Headers) -> bytes | None:
        """The value as it is."""
        return value


class TimestampedCodec:
    """``ValueAndTimestamp``: eight bytes of time, then the value. The changelog has the bare value at that time."""

    def __reduce__(self) -> str:
        return "TIMESTAMPED"

    def bind(self, serde: Serde[Any], topic: str) -> tuple[Dumps, Loads]:
        """The serde's methods, with the timestamp put in front and taken off."""
        serialize, deserialize = partial(serde.serialize, topic), reader(serde, topic)
        if isinstance(serde, IntegerSerde) and serde.fixed_size == TIMESTAMP_SIZE:
            return _timestamped_long(serialize, deserialize)
        pack, unpack = _TIMESTAMP.pack, _TIMESTAMP.unpack_from

        def dumps(value: ValueAndTimestamp) -> bytes | None:
            if value.value is None or (raw := serialize(value.value)) is None:
                return None
            return pack(value.timestamp) + raw

        def loads(data: bytes) -> ValueAndTimestamp | None:
            value = deserialize(data[TIMESTAMP_SIZE:])
            return None if value is None else ValueAndTimestamp(value, unpack(data)[0])

        return dumps, loads

    def change_writer(self, append: ChangeLogger, current: Current) -> ChangeWriter:
        """The bare value at its own time; a tombstone at the time of the current record."""
        unpack = _TIMESTAMP.unpack_from

        def write(key: bytes, stored: bytes | None) -> None:
            if stored is None:
                append(key, None, current.timestamp, NO_HEADERS)
            else:
                append(key, stored[TIMESTAMP_SIZE:], unpack(stored)[0], NO_HEADERS)

        return write

    def from_changelog(self, value: bytes | None, timestamp: int, headers: Headers) -> bytes | None:
        """The record's time in front of its value."""
        return None if value is None else _TIMESTAMP.pack(timestamp) + value


def _timestamped_long(serialize: Dumps, deserialize: Loads) -> tuple[Dumps, Loads]:
    """The same for counts, packed and unpacked in one go. What is out of the ordinary goes to the serde."""
    pack, unpack = _TIMESTAMP_AND_LONG.pack, _TIMESTAMP_AND_LONG.unpack

    def dumps(value: ValueAndTimestamp) -> bytes | None:
        number, timestamp = value.value, value.timestamp
        if type(number) is int and _MIN_LONG <= number <= _MAX_LONG:
            return pack(timestamp, number)
        raw = None if number is None else serialize(number)
        return None if raw is None else _TIMESTAMP.pack(timestamp) + raw

    def loads(data: bytes) -> ValueAndTimestamp | None:
        if len(data) != _TIMESTAMP_AND_LONG.size:
            return deserialize(data[TIMESTAMP_SIZE:])  # type: ignore[no-any-return]
        timestamp, number = unpack(data)
        return ValueAndTimestamp(number, timestamp)

    return dumps, loads


PLAIN = PlainCodec()
TIMESTAMPED = TimestampedCodec()


def dump_headers(headers: Headers) -> bytes:
    """Headers as bytes, after their size; no headers are a single zero."""
    if not headers:
        return NO_HEADERS_BYTES
    parts = [write_varint(len(headers))]
    for name, value in headers:
        raw_name = name.encode()
        parts += write_varint(len(raw_name)), raw_name
        parts += (_NULL,) if value is None else (write_varint(len(value)), value)
    body = b"".join(parts)
    return write_varint(len(body)) + body


def split_headers(data: bytes) -> tuple[bytes, bytes]:
    """The headers at the front of a stored value (without their size), and what follows them."""
    if data[0] == 0:
        return b"", data[1:]
    size, at = read_varint(data)
    return data[at : at + size], data[at + size :]


def load_headers(data: bytes) -> Headers:
    """The headers that ``dump_headers`` wrote, without their size."""
    if not data:
        return NO_HEADERS
    count, at = read_varint(data)
    headers: list[tuple[str, bytes | None]] = []
    for _ in range(count):
        size, at = read_varint(data, at)
        name, at = data[at : at + size].decode(), at + size
        size, at = read_varint(data, at)
        headers.append((name, None if size < 0 else data[at : at + size]))
        at += max(size, 0)
    return Headers(headers)


@dataclass(frozen=True, slots=True)
class HeadersCodec:
    """Headers, then the value with its timestamp or, for the aggregates of sessions, without.

    No operator fills the headers of sessions yet: users see the bare aggregate. A tombstone in the changelog has the
    time and the headers of the current record.
    """

    is_timestamped: bool

    def bind(self, serde: Serde[Any], topic: str) -> tuple[Dumps, Loads]:
        """The ways without headers, with headers put in front and taken off."""
        dumps_rest, loads_rest = self._rest.bind(serde, topic)
        is_timestamped = self.is_timestamped

        def dumps(value: Any) -> bytes | None:
            raw = dumps_rest(value)
            if raw is None:
                return None
            return (dump_headers(value.headers) if is_timestamped else NO_HEADERS_BYTES) + raw

        def loads(data: bytes) -> Any:
            headers, rest = split_headers(data)
            value = loads_rest(rest)
            if value is None or not is_timestamped:
                return value
            return ValueAndTimestamp(value.value, value.timestamp, load_headers(headers))

        return dumps, loads

    def change_writer(self, append: ChangeLogger, current: Current) -> ChangeWriter:
        """The bare value with its own headers, at its own time if it has one."""
        is_timestamped = self.is_timestamped

        def write(key: bytes, stored: bytes | None) -> None:
            if stored is None:
                append(key, None, current.timestamp, current.headers)
                return
            headers, value = split_headers(stored)
            timestamp = current.timestamp
            if is_timestamped:
                timestamp, value = _TIMESTAMP.unpack_from(value)[0], value[TIMESTAMP_SIZE:]
            append(key, value, timestamp, load_headers(headers))

        return write

    def from_changelog(self, value: bytes | None, timestamp: int, headers: Headers) -> bytes | None:
        """The record's headers in front of its value."""
        stored = self._rest.from_changelog(value, timestamp, headers)
        return None if stored is None else dump_headers(headers) + stored

    @property
    def _rest(self) -> PlainCodec | TimestampedCodec:
        return TIMESTAMPED if self.is_timestamped else PLAIN


@dataclass(frozen=True, slots=True)
class HeadersInChangelog:
    """A codec whose changelog records have the headers of the record being processed, which is the one stored."""

    inner: ValueCodec

    def bind(self, serde: Serde[Any], topic: str) -> tuple[Dumps, Loads]:
        return self.inner.bind(serde, topic)

    def change_writer(self, append: ChangeLogger, current: Current) -> ChangeWriter:
        """What the inner codec writes, with headers."""

        def append_with_headers(key: bytes, value: bytes | None, timestamp: int | None, headers: Headers) -> None:
            append(key, value, timestamp, current.headers)

        return self.inner.change_writer(append_with_headers, current)

    def from_changelog(self, value: bytes | None, timestamp: int, headers: Headers) -> bytes | None:
        return self.inner.from_changelog(value, timestamp, headers)


HEADERS, SESSION_HEADERS = HeadersCodec(is_timestamped=True), HeadersCodec(is_timestamped=False)
