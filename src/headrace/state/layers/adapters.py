"""Stores that keep less than the typed store around them gives: bare values, or values without headers.

What is not kept is read as empty headers, and as the timestamp -1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

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
from headrace.state.contracts import StoreIterator
from headrace.state.layers.wrapped import S, Wrapped
from headrace.state.value_codecs import NO_TIMESTAMP_BYTES, TIMESTAMP_SIZE

K = TypeVar("K")

Convert = Callable[[bytes], bytes]


class Adapter(Wrapped[S]):
    """On write strips what the store cannot hold; on read fills in a default for it."""

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


class KeyValueAdapter(Adapter[BytesKeyValueStore]):
    """A key-value store that takes and gives more than it keeps."""

    def get(self, key: bytes) -> bytes | None:
        """The value, with a stand-in for what is not kept."""
        return self._out(self.inner.get(key))

    def put(self, key: bytes, value: bytes | None) -> None:
        self.inner.put(key, self._in(value))

    def put_if_absent(self, key: bytes, value: bytes | None) -> bytes | None:
        """Set the value unless there is one."""
        return self._out(self.inner.put_if_absent(key, self._in(value)))

    def put_all(self, entries: Iterable[tuple[bytes, bytes | None]]) -> None:
        self.inner.put_all([(key, self._in(value)) for key, value in entries])

    def delete(self, key: bytes) -> bytes | None:
        """Delete; returns the value there was."""
        return self._out(self.inner.delete(key))

    def range(self, key_from: bytes | None, key_to: bytes | None, *, forward: bool = True) -> KeyValues:
        """The entries of both ends and between."""
        return self._all_out(self.inner.range(key_from, key_to, forward=forward))

    def prefix_scan(self, prefix: bytes) -> KeyValues:
        return self._all_out(self.inner.prefix_scan(prefix))

    def approximate_num_entries(self) -> int:
        return self.inner.approximate_num_entries()


class WindowAdapter(Adapter[BytesWindowStore]):
    """A window store that takes and gives more than it keeps."""

    def put(self, key: bytes, value: bytes | None, window_start: int) -> None:
        self.inner.put(key, self._in(value), window_start)

    def fetch(self, key: bytes, time: int) -> bytes | None:
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


class SessionAdapter(Adapter[BytesSessionStore]):
    """A session store that takes and gives more than it keeps."""

    def put(self, session: SessionKey, value: bytes | None) -> None:
        self.inner.put(session, self._in(value))

    def remove(self, session: SessionKey) -> None:
        self.inner.remove(session)

    def fetch_session(self, key: bytes, start: int, end: int) -> bytes | None:
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
        found = self.inner.find_sessions_keys(key_from, key_to, earliest_end, latest_start, forward=forward)
        return self._all_out(found)

    def find_sessions_by_end(self, earliest_end: int, latest_end: int) -> SessionValues:
        """The sessions that end in that span."""
        return self._all_out(self.inner.find_sessions_by_end(earliest_end, latest_end))


class PlainKeyValueAsTimestamped(KeyValueAdapter):
    """A plain key-value store that takes and gives values with timestamps."""

    def __init__(self, inner: BytesKeyValueStore) -> None:
        super().__init__(inner, _without_timestamp, _with_no_timestamp)


class PlainWindowAsTimestamped(WindowAdapter):
    """A plain window store that takes and gives values with timestamps."""

    def __init__(self, inner: BytesWindowStore) -> None:
        super().__init__(inner, _without_timestamp, _with_no_timestamp)


def _without_timestamp(value: bytes) -> bytes:
    return value[TIMESTAMP_SIZE:]


def _with_no_timestamp(value: bytes) -> bytes:
    return NO_TIMESTAMP_BYTES + value
