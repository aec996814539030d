"""Window and session stores ordered by time, for aggregations that emit when a window closes.

Inside a segment the entries come by time first, then key: finding the windows that have closed is one scan. Where
lookups by key are frequent (sliding windows, sessions) an index by key lies beside them. Changelog records have the
same keys as those of other window and session stores.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Protocol

from headrace.records import NO_HEADERS, Headers
from headrace.serde.bytes_keys import (
    parse_session_key,
    parse_window_store_key,
    session_key,
    window_store_key,
    window_store_start,
)
from headrace.state.bytes_stores import SessionKey, SessionValues, WindowedValues, WindowValues
from headrace.state.contracts import StoreIterator
from headrace.state.key_schemas import MAX_SEQUENCE, KeySchema, SessionKeySchema, WindowKeySchema
from headrace.state.rocksdb.segments import Entries, SegmentedStore
from headrace.windows import MAX_TIMESTAMP

_BY_TIME, _BY_KEY = b"\0", b"\1"
_LONG = struct.Struct(">q")
_MIN_SEGMENT_INTERVAL_MS = 60_000


class TimeFirst(Protocol):
    """How an entry's key is rearranged so that its time comes first."""

    def __call__(self, key: bytes) -> bytes:
        """The key with its time in front."""

    def key_of(self, time_first: bytes) -> bytes:
        """The key as it was."""


class _WindowTimeFirst:
    """Window start, key, sequence number."""

    def __call__(self, key: bytes) -> bytes:
        return key[-12:-4] + key[:-12] + key[-4:]

    def key_of(self, time_first: bytes) -> bytes:
        return time_first[8:-4] + time_first[:8] + time_first[-4:]


class _SessionTimeFirst:
    """Session end, session start, key."""

    def __call__(self, key: bytes) -> bytes:
        return key[-16:] + key[:-16]

    def key_of(self, time_first: bytes) -> bytes:
        return time_first[16:] + time_first[:16]


class TimeOrderedStore(SegmentedStore):
    """A segmented store whose entries lie by time; with an index also by key."""

    def __init__(
        self,
        name: str,
        retention_ms: int,
        segment_interval_ms: int,
        schema: KeySchema,
        time_first: TimeFirst,
        *,
        with_index: bool,
    ) -> None:
        super().__init__(name, retention_ms, segment_interval_ms, schema)
        self.with_index = with_index
        self._time_first = time_first

    def restore(self, key: bytes, value: bytes | None, timestamp: int, headers: Headers = NO_HEADERS) -> None:
        """Apply one record of the changelog; one that has expired is left out and not counted."""
        self._write(key, self.codec.from_changelog(value, timestamp, headers))

    def put_entry(self, key: bytes, value: bytes | None) -> None:
        """Write an entry; dropped when its segment has expired."""
        self._check_open()
        if not self._write(key, value):
            self._context.drop("expired-segment")

    def remove_entry(self, key: bytes) -> None:
        """Delete an entry."""
        self._check_open()
        time = self._schema.time_of(key)
        self._stream_time = max(self._stream_time, time)
        segment_id = self._segments.id_of(time)
        self._segments.delete(segment_id, _BY_TIME + self._time_first(key))
        if self.with_index:
            self._segments.delete(segment_id, _BY_KEY + key)

    def get_entry(self, key: bytes) -> bytes | None:
        """The value of an entry, unless it is too old."""
        self._check_open()
        time = self._schema.time_of(key)
        return None if time < self._first_live() else self._get(self._segments.id_of(time), key)

    def fetch_by_time(
        self, key_from: bytes | None, key_to: bytes | None, time_from: int, time_to: int, *, forward: bool
    ) -> Entries:
        """The entries whose time and key lie in the ranges, by time, then key."""
        self._check_open()
        if self._schema.needs_time_range and time_to < time_from:
            return iter(())
        last = self._schema.last_time(time_to)
        lower = _BY_TIME + _LONG.pack(max(0, time_from))
        upper = _BY_KEY if last == MAX_TIMESTAMP else _BY_TIME + _LONG.pack(last + 1)
        matches = self._schema.matcher(key_from, key_to, time_from, time_to)
        segments = self._segments
        found = (
            (self._time_first.key_of(time_first[1:]), value)
            for segment_id in segments.between(time_from, last, forward=forward)
            for time_first, value in segments.scan(segment_id, lower, upper, forward=forward)
        )
        return (entry for entry in found if matches(entry[0]))

    def _fetch(
        self,
        key_from: bytes | None,
        key_to: bytes | None,
        time_from: int,
        time_to: int,
        bounds: tuple[bytes | None, bytes | None],
        forward: bool,
    ) -> Entries:
        if not self.with_index:
            return self.fetch_by_time(key_from, key_to, time_from, time_to, forward=forward)
        self._check_open()
        if self._schema.needs_time_range and time_to < time_from:
            return iter(())
        return self._fetch_by_index(key_from, key_to, time_from, time_to, bounds, forward)

    def _fetch_by_index(
        self,
        key_from: bytes | None,
        key_to: bytes | None,
        time_from: int,
        time_to: int,
        bounds: tuple[bytes | None, bytes | None],
        forward: bool,
    ) -> Entries:
        lower, upper = bounds
        first = _BY_KEY + (lower or b"")
        last = None if upper is None else _BY_KEY + upper
        matches = self._schema.matcher(key_from, key_to, time_from, time_to)
        for segment_id in self._segments.between(time_from, self._schema.last_time(time_to), forward=forward):
            for index_key, _ in self._segments.scan(segment_id, first, last, forward=forward):
                key = index_key[1:]
                if matches(key) and (value := self._get(segment_id, key)) is not None:
                    yield key, value

    def _get(self, segment_id: int, key: bytes) -> bytes | None:
        return self._segments.get(segment_id, _BY_TIME + self._time_first(key))

    def _write(self, key: bytes, value: bytes | None) -> bool:
        time = self._schema.time_of(key)
        self._stream_time = max(self._stream_time, time)
        segment_id = self._segments.id_of(time)
        if not self._segments.open_if_live(segment_id, self._stream_time):
            return False
        self._segments.put(segment_id, _BY_TIME + self._time_first(key), value)
        if self.with_index:
            self._segments.put(segment_id, _BY_KEY + key, None if value is None else b"")
        return True


class RocksDBTimeOrderedWindowStore(TimeOrderedStore):
    """Values by window. All windows come by start, then key; those of a range of keys too, unless there is an index."""

    is_timestamped = True

    def __init__(
        self,
        name: str,
        retention_ms: int,
        segment_interval_ms: int,
        window_size_ms: int,
        *,
        retain_duplicates: bool = False,
        with_index: bool = False,
    ) -> None:
        super().__init__(
            name, retention_ms, segment_interval_ms, WindowKeySchema(), _WindowTimeFirst(), with_index=with_index
        )
        self.window_size_ms = window_size_ms
        self.retain_duplicates = retain_duplicates
        self._sequence = 0

    def put(self, key: bytes, value: bytes | None, window_start: int) -> None:
        """Set the value of the window; None deletes, except among duplicates, which only expire."""
        if self.retain_duplicates:
            if value is None:
                return
            self._sequence = (self._sequence + 1) & MAX_SEQUENCE
        self.put_entry(window_store_key(key, window_start, self._sequence), value)

    def fetch(self, key: bytes, time: int) -> bytes | None:
        """The value of the window that starts at ``time``."""
        return self.get_entry(window_store_key(key, time, self._sequence))

    def fetch_range(self, key: bytes, time_from: int, time_to: int, *, forward: bool = True) -> WindowValues:
        """The windows of one key that start in the span, by time."""
        found = self.fetch_key(key, time_from, time_to, forward=forward)
        return StoreIterator((window_store_start(entry_key), value) for entry_key, value in found)

    def fetch_keys(
        self, key_from: bytes | None, key_to: bytes | None, time_from: int, time_to: int, *, forward: bool = True
    ) -> WindowedValues:
        """The windows of a range of keys that start in the span."""
        return _windowed(self.fetch_range_of_keys(key_from, key_to, time_from, time_to, forward=forward))

    def fetch_all(self, time_from: int, time_to: int, *, forward: bool = True) -> WindowedValues:
        """The windows of all keys that start in the span, by time, then key."""
        first = max(time_from, self._first_live())
        return _windowed(self.fetch_by_time(None, None, first, time_to, forward=forward))

    def _first_live(self) -> int:
        # One millisecond longer than the other window stores keep, as in Kafka Streams.
        return self._stream_time - self._retention_ms


class RocksDBTimeOrderedSessionStore(TimeOrderedStore):
    """Values by session; those that end in a span of time come by end, then start, then key."""

    def __init__(self, name: str, retention_ms: int, segment_interval_ms: int) -> None:
        super().__init__(
            name, retention_ms, segment_interval_ms, SessionKeySchema(), _SessionTimeFirst(), with_index=True
        )

    def put(self, session: SessionKey, value: bytes | None) -> None:
        """Set the value of the session; None removes it."""
        self.put_entry(session_key(*session), value)

    def remove(self, session: SessionKey) -> None:
        """Take the session out."""
        self.remove_entry(session_key(*session))

    def fetch_session(self, key: bytes, start: int, end: int) -> bytes | None:
        """The value of that session."""
        return self.get_entry(session_key(key, start, end))

    def find_sessions(self, key: bytes, earliest_end: int, latest_start: int, *, forward: bool = True) -> SessionValues:
        """The sessions of one key that end no earlier and start no later."""
        return _sessions(self.fetch_key(key, earliest_end, latest_start, forward=forward))

    def find_sessions_keys(
        self,
        key_from: bytes | None,
        key_to: bytes | None,
        earliest_end: int,
        latest_start: int,
        *,
        forward: bool = True,
    ) -> SessionValues:
        """The sessions of a range of keys, by segment, then key."""
        return _sessions(self.fetch_range_of_keys(key_from, key_to, earliest_end, latest_start, forward=forward))

    def find_sessions_by_end(self, earliest_end: int, latest_end: int) -> SessionValues:
        """The sessions that end in that span, by end, start and key."""
        found = self.fetch_by_time(None, None, earliest_end, MAX_TIMESTAMP, forward=True)
        return StoreIterator(
            (session, value)
            for session, value in ((parse_session_key(key), value) for key, value in found)
            if session[2] <= latest_end
        )


def _windowed(entries: Entries) -> WindowedValues:
    return StoreIterator((parse_window_store_key(key)[:2], value) for key, value in entries)


def _sessions(entries: Entries) -> SessionValues:
    return StoreIterator((parse_session_key(key), value) for key, value in entries)


def segment_interval(retention_ms: int) -> int:
    """How much time one segment of a window or session store holds."""
    return max(retention_ms // 2, _MIN_SEGMENT_INTERVAL_MS)


@dataclass(frozen=True, slots=True)
class TimeOrderedWindowSupplier:
    """Supplies window stores ordered by time."""

    name: str
    retention_ms: int
    window_size_ms: int
    retain_duplicates: bool = False
    with_index: bool = False
    has_headers: bool = False

    metrics_scope = "rocksdb-window"
    is_timestamped = True

    @property
    def segment_interval_ms(self) -> int:
        """How much time one segment holds."""
        return segment_interval(self.retention_ms)

    def get(self) -> RocksDBTimeOrderedWindowStore:
        """A new store."""
        return RocksDBTimeOrderedWindowStore(
            self.name,
            self.retention_ms,
            self.segment_interval_ms,
            self.window_size_ms,
            retain_duplicates=self.retain_duplicates,
            with_index=self.with_index,
        )


@dataclass(frozen=True, slots=True)
class TimeOrderedSessionSupplier:
    """Supplies session stores ordered by time."""

    name: str
    retention_ms: int
    has_headers: bool = False

    metrics_scope = "rocksdb-session"

    @property
    def segment_interval_ms(self) -> int:
        """How much time one segment holds."""
        return segment_interval(self.retention_ms)

    def get(self) -> RocksDBTimeOrderedSessionStore:
        """A new store."""
        return RocksDBTimeOrderedSessionStore(self.name, self.retention_ms, self.segment_interval_ms)
