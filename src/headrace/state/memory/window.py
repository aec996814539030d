"""The window store in memory."""

from __future__ import annotations

import struct
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from typing import TYPE_CHECKING, TypeAlias

from headrace.records import NO_HEADERS, NO_TIMESTAMP, Headers
from headrace.serde.bytes_keys import parse_window_store_key
from headrace.state.bytes_stores import WindowedValues, WindowKey, WindowValues
from headrace.state.contracts import StoreIterator
from headrace.state.key_schemas import MAX_SEQUENCE
from headrace.state.memory.sorted_map import SortedMap
from headrace.state.memory.store import MemoryStore
from headrace.windows import MAX_TIMESTAMP

if TYPE_CHECKING:
    from headrace.state.rocksdb.visits import VisitedDatabase

_SEQUENCE = struct.Struct(">i")
_START = struct.Struct(">Q")
_ZERO = 1 << 63

_Window: TypeAlias = tuple[int, SortedMap[bytes, bytes]]
"""A window's start, and its values by key."""


class InMemoryWindowStore(MemoryStore):
    """Values by window start, then key. A window expires as soon as the retention has passed.

    A store that retains duplicates keeps each under its key and a sequence number.
    """

    remembered = ("_stream_time", "_sequence")

    def __init__(self, name: str, retention_ms: int, *, retain_duplicates: bool = False) -> None:
        super().__init__(name)
        self.retain_duplicates = retain_duplicates
        self._retention_ms = retention_ms
        self._windows: SortedMap[int, SortedMap[bytes, bytes]] = SortedMap()
        # The window starts of each key: looking for one key must not mean looking at all windows.
        self._starts: dict[bytes, list[int]] = {}
        self._stream_time = NO_TIMESTAMP
        self._sequence = 0
        # No window starts before this; it may start later. Saves looking for expired windows.
        self._earliest = MAX_TIMESTAMP
        # What has changed since the store was put down: start and key of entries.
        self._changed: dict[tuple[int, bytes], None] = {}

    def close(self) -> None:
        self._windows.clear()
        self._starts.clear()
        self._earliest = MAX_TIMESTAMP
        super().close()

    def restore(self, key: bytes, value: bytes | None, timestamp: int, headers: Headers = NO_HEADERS) -> None:
        plain_key, start, _ = parse_window_store_key(key)
        self.put(plain_key, self.codec.from_changelog(value, timestamp, headers), start)

    def put(self, key: bytes, value: bytes | None, window_start: int) -> None:
        """Set the value of the window; None deletes, except among duplicates, which only expire."""
        self._stream_time = max(self._stream_time, window_start)
        self._expire()
        if window_start <= self._stream_time - self._retention_ms:
            self._context.drop("expired-window")
        elif value is not None:
            entry_key = self._entry_key(key)
            self._window(window_start).put(entry_key, value)
            self._index(key, window_start)
            if self._home is not None:
                self._changed[window_start, entry_key] = None
        elif not self.retain_duplicates:
            self._remove(key, window_start)

    def fetch(self, key: bytes, time: int) -> bytes | None:
        if time <= self._stream_time - self._retention_ms:
            return None
        window = self._windows.entries.get(time)
        return None if window is None else window.entries.get(key)

    def fetch_range(self, key: bytes, time_from: int, time_to: int, *, forward: bool = True) -> WindowValues:
        """The windows of one key that start in the span, by time."""
        windows = self._windows_of(key, time_from, time_to, forward)
        if self.retain_duplicates:
            return StoreIterator((start, value) for (_, start), value in _duplicates(windows, key, key, forward))
        return StoreIterator(
            (start, value) for start, window in windows if (value := window.entries.get(key)) is not None
        )

    def fetch_keys(
        self, key_from: bytes | None, key_to: bytes | None, time_from: int, time_to: int, *, forward: bool = True
    ) -> WindowedValues:
        """The windows of a range of keys that start in the span, by time, then key."""
        return StoreIterator(self._entries(key_from, key_to, time_from, time_to, forward))

    def fetch_all(self, time_from: int, time_to: int, *, forward: bool = True) -> WindowedValues:
        """The windows of all keys that start in the span, by time, then key."""
        return StoreIterator(self._entries(None, None, time_from, time_to, forward))

    def _window(self, start: int) -> SortedMap[bytes, bytes]:
        window = self._windows.entries.get(start)
        if window is None:
            window = SortedMap()
            self._windows.put(start, window)
            self._earliest = min(self._earliest, start)
        return window

    def _index(self, key: bytes, start: int) -> None:
        starts = self._starts.get(key)
        if starts is None:
            self._starts[key] = [start]
        elif starts[-1] < start:
            starts.append(start)
        elif starts[at := bisect_left(starts, start)] != start:
            starts.insert(at, start)

    def _remove(self, key: bytes, start: int) -> None:
        window = self._windows.entries.get(start)
        if window is not None and window.remove(key) is not None:
            starts = self._starts[key]
            del starts[bisect_left(starts, start)]
            if not starts:
                del self._starts[key]
            if not window.entries:
                self._windows.remove(start)
            if self._home is not None:
                self._changed[start, key] = None

    def _entry_key(self, key: bytes) -> bytes:
        if not self.retain_duplicates:
            return key
        self._sequence = (self._sequence + 1) & MAX_SEQUENCE
        return key + _SEQUENCE.pack(self._sequence)

    def _plain_key(self, entry_key: bytes) -> bytes:
        return entry_key[: -_SEQUENCE.size] if self.retain_duplicates else entry_key

    def _expire(self) -> None:
        first_live = self._stream_time - self._retention_ms + 1
        if self._earliest < first_live:
            for start in self._windows.keys(None, first_live - 1):
                for entry_key in self._windows.entries[start].entries:
                    self._forget_before(first_live, self._plain_key(entry_key))
                self._windows.remove(start)
            self._earliest = next(iter(self._windows.keys(None, None)), MAX_TIMESTAMP)

    def _forget_before(self, first_live: int, key: bytes) -> None:
        starts = self._starts.get(key)
        if starts is not None:
            del starts[: bisect_left(starts, first_live)]
            if not starts:
                del self._starts[key]

    def _windows_of(self, key: bytes, time_from: int, time_to: int, forward: bool) -> list[_Window]:
        starts = self._starts.get(key, [])
        first = max(time_from, self._stream_time - self._retention_ms + 1)
        found = starts[bisect_left(starts, first) : bisect_right(starts, time_to)]
        windows = self._windows.entries
        # The windows are taken now, so that none expires from under the iterator.
        return [(start, windows[start]) for start in (found if forward else reversed(found))]

    def _entries(
        self, key_from: bytes | None, key_to: bytes | None, time_from: int, time_to: int, forward: bool
    ) -> Iterator[tuple[WindowKey, bytes]]:
        first = max(time_from, self._stream_time - self._retention_ms + 1)
        windows = list(self._windows.items(first, time_to, forward=forward))
        if self.retain_duplicates:
            return _duplicates(windows, key_from, key_to, forward)
        return (
            ((key, start), value)
            for start, window in windows
            for key, value in window.items(key_from, key_to, forward=forward)
        )

    def _take_up(self, home: VisitedDatabase) -> None:
        for place, value in home.scan():
            start = _START.unpack_from(place)[0] - _ZERO
            entry_key = place[_START.size :]
            self._window(start).put(entry_key, value)
            self._index(self._plain_key(entry_key), start)

    def _put_down(self, home: VisitedDatabase) -> None:
        for start, entry_key in self._changed:
            window = self._windows.entries.get(start)
            value = None if window is None else window.entries.get(entry_key)
            home.put(_place(start) + entry_key, value)
        self._changed.clear()
        if self._stream_time >= self._retention_ms:
            for place, _ in home.scan(b"", _place(self._stream_time - self._retention_ms + 1)):
                home.put(place, None)


def _place(start: int) -> bytes:
    return _START.pack(max(0, start + _ZERO))


def _duplicates(
    windows: list[_Window], key_from: bytes | None, key_to: bytes | None, forward: bool
) -> Iterator[tuple[WindowKey, bytes]]:
    first = None if key_from is None else key_from + _SEQUENCE.pack(0)
    last = None if key_to is None else key_to + _SEQUENCE.pack(MAX_SEQUENCE)
    for start, window in windows:
        for entry_key, value in window.items(first, last, forward=forward):
            key = entry_key[: -_SEQUENCE.size]
            # Between the duplicates of a key lie those of longer keys.
            if (key_from is None or key >= key_from) and (key_to is None or key <= key_to):
                yield (key, start), value
