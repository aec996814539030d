"""Stores that keep headers beside their values (``dsl.store.format=HEADERS``, and the windows of stream joins).

A stored value begins with the size of its headers and the headers, then comes the time, then the value. Changelog
records hold the bare value and carry the headers as their own. A persistent store that was not made for headers can
still be used: an adapter takes them off on the way in, and values come back without them.
"""

from __future__ import annotations

import struct
from functools import partial
from typing import TYPE_CHECKING, Any

from headrace.records import NO_HEADERS, Headers, ValueAndTimestamp
from headrace.serde.varint import read_varint, write_varint
from headrace.state.contracts import ChangeLogger
from headrace.state.layers.adapters import Adapter
from headrace.state.layers.wrapped import S
from headrace.state.value_codecs import (
    NO_TIMESTAMP_BYTES,
    PLAIN,
    TIMESTAMP_SIZE,
    TIMESTAMPED,
    ChangeWriter,
    Current,
    Dumps,
    Loads,
    reader,
)

if TYPE_CHECKING:
    from headrace.serde import Serde

_TIMESTAMP = struct.Struct(">q")
_NO_HEADERS = b"\0"
_NULL = b"\x01"


def dump_headers(headers: Headers) -> bytes:
    """Headers as bytes, after their size; no headers are a single zero."""
    if not headers:
        return _NO_HEADERS
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


class HeadersCodec:
    """``ValueAndTimestamp`` with headers. A tombstone in the changelog has the current record's time and headers."""

    def bind(self, serde: Serde[Any], topic: str) -> tuple[Dumps, Loads]:
        """The serde's methods, with headers and timestamp put in front and taken off."""
        serialize, deserialize = partial(serde.serialize, topic), reader(serde, topic)

        def dumps(value: ValueAndTimestamp) -> bytes | None:
            if value.value is None or (raw := serialize(value.value)) is None:
                return None
            return dump_headers(value.headers) + _TIMESTAMP.pack(value.timestamp) + raw

        def loads(data: bytes) -> ValueAndTimestamp | None:
            headers, timestamped = split_headers(data)
            value = deserialize(timestamped[TIMESTAMP_SIZE:])
            if value is None:
                return None
            return ValueAndTimestamp(value, _TIMESTAMP.unpack_from(timestamped)[0], load_headers(headers))

        return dumps, loads

    def change_writer(self, append: ChangeLogger, current: Current) -> ChangeWriter:
        """The bare value at its own time, with its own headers."""

        def write(key: bytes, stored: bytes | None) -> None:
            if stored is None:
                append(key, None, current.timestamp, current.headers)
                return
            headers, timestamped = split_headers(stored)
            timestamp = _TIMESTAMP.unpack_from(timestamped)[0]
            append(key, timestamped[TIMESTAMP_SIZE:], timestamp, load_headers(headers))

        return write

    def from_changelog(self, value: bytes | None, timestamp: int, headers: Headers) -> bytes | None:
        """The record's headers and time in front of its value."""
        return None if value is None else dump_headers(headers) + _TIMESTAMP.pack(timestamp) + value


class SessionHeadersCodec:
    """Aggregates of sessions with room for headers, which no operator fills yet: users see the bare aggregate."""

    def bind(self, serde: Serde[Any], topic: str) -> tuple[Dumps, Loads]:
        """The serde's methods, with empty headers put in front and any taken off."""
        serialize, deserialize = partial(serde.serialize, topic), reader(serde, topic)

        def dumps(value: Any) -> bytes | None:
            raw = serialize(value)
            return None if raw is None else _NO_HEADERS + raw

        def loads(data: bytes) -> Any:
            return deserialize(split_headers(data)[1])

        return dumps, loads

    def change_writer(self, append: ChangeLogger, current: Current) -> ChangeWriter:
        """The bare aggregate with its own headers, at the time of the current record."""

        def write(key: bytes, stored: bytes | None) -> None:
            if stored is None:
                append(key, None, current.timestamp, current.headers)
                return
            headers, value = split_headers(stored)
            append(key, value, current.timestamp, load_headers(headers))

        return write

    def from_changelog(self, value: bytes | None, timestamp: int, headers: Headers) -> bytes | None:
        """The record's headers in front of its value."""
        return None if value is None else dump_headers(headers) + value


HEADERS = HeadersCodec()
SESSION_HEADERS = SessionHeadersCodec()


def for_headers(store: S, *, has_headers: bool, is_timestamped: bool) -> Any:
    """``store`` as one that takes values with headers; stores in memory keep any bytes."""
    if has_headers or not store.persistent:
        store.codec = HEADERS
        return store
    if is_timestamped:
        store.codec = TIMESTAMPED
        return Adapter(store, _without_headers, _with_no_headers)
    store.codec = PLAIN
    return Adapter(store, _without_headers_and_timestamp, _with_no_headers_nor_timestamp)


def session_for_headers(store: S, *, has_headers: bool) -> Any:
    """``store`` as one that takes aggregates with headers; stores in memory keep any bytes."""
    if has_headers or not store.persistent:
        store.codec = SESSION_HEADERS
        return store
    return Adapter(store, _without_headers, _with_no_headers)


def _without_headers(value: bytes) -> bytes:
    return split_headers(value)[1]


def _with_no_headers(value: bytes) -> bytes:
    return _NO_HEADERS + value


def _without_headers_and_timestamp(value: bytes) -> bytes:
    return split_headers(value)[1][TIMESTAMP_SIZE:]


def _with_no_headers_nor_timestamp(value: bytes) -> bytes:
    return _NO_HEADERS + NO_TIMESTAMP_BYTES + value
