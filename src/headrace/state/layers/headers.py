"""Stores that keep headers beside their values (``dsl.store.format=HEADERS``, and the windows of stream joins).

A stored value begins with the size of its headers and the headers, then comes the time, then the value. Changelog
records hold the bare value and carry the headers as their own. A persistent store that was not made for headers can
still be used: an adapter takes them off on the way in, and values come back without them.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from headrace.records import NO_HEADERS, Headers, ValueAndTimestamp
from headrace.state.bytes_stores import (
    BytesKeyValueStore,
    BytesSessionStore,
    BytesWindowStore,
    KeyValues,
    SessionKey,
    SessionValues,
    WindowedValues,
    WindowValues,
)
from headrace.state.contracts import ChangeLogger, StoreIterator
from headrace.state.layers.wrapped import S, Wrapped
from headrace.state.value_codecs import (
    NO_TIMESTAMP_BYTES,
    PLAIN,
    TIMESTAMP_SIZE,
    TIMESTAMPED,
    ChangeWriter,
    Current,
    Dumps,
    Loads,
)

if TYPE_CHECKING:
    from headrace.serde import Serde

K = TypeVar("K")

_TIMESTAMP = struct.Struct(">q")
_NO_HEADERS = b"\0"
_NULL = b"\x01"


def dump_headers(headers: Headers) -> bytes:
    """Headers as bytes, after their size; no headers are a single zero."""
    if not headers:
        return _NO_HEADERS
    parts = [_varint(len(headers))]
    for name, value in headers:
        raw_name = name.encode()
        parts += _varint(len(raw_name)), raw_name
        parts += (_NULL,) if value is None else (_varint(len(value)), value)
    body = b"".join(parts)
    return _varint(len(body)) + body


def split_headers(data: bytes) -> tuple[bytes, bytes]:
    """The headers at the front of a stored value (without their size), and what follows them."""
    if data[0] == 0:
        return b"", data[1:]
    size, at = _read_varint(data, 0)
    return data[at : at + size], data[at + size :]


def load_headers(data: bytes) -> Headers:
    """The headers that ``dump_headers`` wrote, without their size."""
    if not data:
        return NO_HEADERS
    count, at = _read_varint(data, 0)
    headers: list[tuple[str, bytes | None]] = []
    for _ in range(count):
        size, at = _read_varint(data, at)
        name, at = data[at : at + size].decode(), at + size
        size, at = _read_varint(data, at)
        headers.append((name, None if size < 0 else data[at : at + size]))
        at += max(size, 0)
    return Headers(headers)


def _varint(number: int) -> bytes:
    zigzag = number << 1
    groups = bytearray()
    while zigzag > 0x7F:
        groups.append(zigzag & 0x7F | 0x80)
        zigzag >>= 7
    groups.append(zigzag)
    return bytes(groups)


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    zigzag = shift = 0
    while True:
        byte = data[at]
        at += 1
        zigzag |= (byte & 0x7F) << shift
        if byte < 0x80:
            return zigzag >> 1 ^ -(zigzag & 1), at
        shift += 7


class HeadersCodec:
    """``ValueAndTimestamp`` with headers. A tombstone in the changelog has the current record's time and headers."""

    def bind(self, serde: Serde[Any], topic: str) -> tuple[Dumps, Loads]:
        """The serde's methods, with headers and timestamp put in front and taken off."""
        serialize, deserialize = partial(serde.serialize, topic), partial(serde.deserialize, topic)

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
        serialize, deserialize = partial(serde.serialize, topic), partial(serde.deserialize, topic)

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

Convert = Callable[[bytes], bytes]


def _timestamped_without_headers(value: bytes) -> bytes:
    return split_headers(value)[1]


def _timestamped_with_headers(value: bytes) -> bytes:
    return _NO_HEADERS + value


def _plain_without_headers(value: bytes) -> bytes:
    return split_headers(value)[1][TIMESTAMP_SIZE:]


def _plain_with_headers(value: bytes) -> bytes:
    return _NO_HEADERS + NO_TIMESTAMP_BYTES + value


class _Adapter(Wrapped[S]):
    """Takes headers off on the way in, and puts empty ones in front on the way out."""

    def __init__(self, inner: S, take_off: Convert, put_on: Convert) -> None:
        super().__init__(inner)
        self._take_off = take_off
        self._put_on = put_on

    def _in(self, value: bytes | None) -> bytes | None:
        return None if value is None else self._take_off(value)

    def _out(self, value: bytes | None) -> bytes | None:
        return None if value is None else self._put_on(value)

    def _all_out(self, entries: StoreIterator[K, bytes]) -> StoreIterator[K, bytes]:
        put_on = self._put_on
        return StoreIterator(((key, put_on(value)) for key, value in entries), entries.close)


class KeyValueWithoutHeaders(_Adapter[BytesKeyValueStore]):
    """A key-value store that takes and gives values with headers, and keeps none."""

    def get(self, key: bytes) -> bytes | None:
        """The value, without headers."""
        return self._out(self.inner.get(key))

    def put(self, key: bytes, value: bytes | None) -> None:
        """Set the value."""
        self.inner.put(key, self._in(value))

    def put_if_absent(self, key: bytes, value: bytes | None) -> bytes | None:
        """Set the value unless there is one."""
        return self._out(self.inner.put_if_absent(key, self._in(value)))

    def put_all(self, entries: Iterable[tuple[bytes, bytes | None]]) -> None:
        """Set the values."""
        self.inner.put_all([(key, self._in(value)) for key, value in entries])

    def delete(self, key: bytes) -> bytes | None:
        """Delete; returns the value there was."""
        return self._out(self.inner.delete(key))

    def range(self, key_from: bytes | None, key_to: bytes | None, *, forward: bool = True) -> KeyValues:
        """The entries of both ends and between."""
        return self._all_out(self.inner.range(key_from, key_to, forward=forward))

    def prefix_scan(self, prefix: bytes) -> KeyValues:
        """The entries whose keys begin with ``prefix``."""
        return self._all_out(self.inner.prefix_scan(prefix))

    def approximate_num_entries(self) -> int:
        """About how many entries there are."""
        return self.inner.approximate_num_entries()


class WindowWithoutHeaders(_Adapter[BytesWindowStore]):
    """A window store that takes and gives values with headers, and keeps none."""

    def put(self, key: bytes, value: bytes | None, window_start: int) -> None:
        """Set the value."""
        self.inner.put(key, self._in(value), window_start)

    def fetch(self, key: bytes, time: int) -> bytes | None:
        """The value of the window, without headers."""
        return self._out(self.inner.fetch(key, time))

    def fetch_range(self, key: bytes, time_from: int, time_to: int, *, forward: bool = True) -> WindowValues:
        """The windows of one key that start in the span."""
        return self._all_out(self.inner.fetch_range(key, time_from, time_to, forward=forward))

    def fetch_keys(
        self, key_from: bytes | None, key_to: bytes | None, time_from: int, time_to: int, *, forward: bool = True
    ) -> WindowedValues:
        """The windows of a range of keys that start in the span."""
        return self._all_out(self.inner.fetch_keys(key_from, key_to, time_from, time_to, forward=forward))

    def fetch_all(self, time_from: int, time_to: int, *, forward: bool = True) -> WindowedValues:
        """The windows of all keys that start in the span."""
        return self._all_out(self.inner.fetch_all(time_from, time_to, forward=forward))


class SessionWithoutHeaders(_Adapter[BytesSessionStore]):
    """A session store that takes and gives aggregates with headers, and keeps none."""

    def put(self, session: SessionKey, value: bytes | None) -> None:
        """Set the aggregate."""
        self.inner.put(session, self._in(value))

    def remove(self, session: SessionKey) -> None:
        """Take the session out."""
        self.inner.remove(session)

    def fetch_session(self, key: bytes, start: int, end: int) -> bytes | None:
        """The aggregate of that session, without headers."""
        return self._out(self.inner.fetch_session(key, start, end))

    def find_sessions(self, key: bytes, earliest_end: int, latest_start: int, *, forward: bool = True) -> SessionValues:
        """The sessions of one key that end no earlier and start no later."""
        return self._all_out(self.inner.find_sessions(key, earliest_end, latest_start, forward=forward))

    def find_sessions_keys(
        self,
        key_from: bytes | None,
        key_to: bytes | None,
        earliest_end: int,
        latest_start: int,
        *,
        forward: bool = True,
    ) -> SessionValues:
        """The sessions of a range of keys."""
        found = self.inner.find_sessions_keys(key_from, key_to, earliest_end, latest_start, forward=forward)
        return self._all_out(found)

    def find_sessions_by_end(self, earliest_end: int, latest_end: int) -> SessionValues:
        """The sessions that end in that span."""
        return self._all_out(self.inner.find_sessions_by_end(earliest_end, latest_end))


def key_value_for_headers(store: BytesKeyValueStore, *, has_headers: bool, is_timestamped: bool) -> BytesKeyValueStore:
    """``store`` as one that takes values with headers; stores in memory keep any bytes."""
    if has_headers or not store.persistent:
        store.codec = HEADERS
        return store
    store.codec = TIMESTAMPED if is_timestamped else PLAIN
    return KeyValueWithoutHeaders(store, *_conversion(is_timestamped))


def window_for_headers(store: BytesWindowStore, *, has_headers: bool, is_timestamped: bool) -> BytesWindowStore:
    """``store`` as one that takes values with headers; stores in memory keep any bytes."""
    if has_headers or not store.persistent:
        store.codec = HEADERS
        return store
    store.codec = TIMESTAMPED if is_timestamped else PLAIN
    return WindowWithoutHeaders(store, *_conversion(is_timestamped))


def session_for_headers(store: BytesSessionStore, *, has_headers: bool) -> BytesSessionStore:
    """``store`` as one that takes aggregates with headers; stores in memory keep any bytes."""
    if has_headers or not store.persistent:
        store.codec = SESSION_HEADERS
        return store
    return SessionWithoutHeaders(store, _timestamped_without_headers, _timestamped_with_headers)


def _conversion(is_timestamped: bool) -> tuple[Convert, Convert]:
    if is_timestamped:
        return _timestamped_without_headers, _timestamped_with_headers
    return _plain_without_headers, _plain_with_headers
