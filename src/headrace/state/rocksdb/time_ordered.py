"""Window and session stores ordered by time, for aggregations that emit when a window closes.

Inside a segment the entries come by time first, then key: finding the windows that have closed is one scan. Where
lookups by key are frequent (sliding windows, sessions) an index by key lies beside them. Changelog records have the
same keys as those of other window and session stores.
"""

from __future__ import annotations

import struct
from itertools import takewhile
from typing import Protocol

from headrace.serde.bytes_keys import parse_session_key
from headrace.state.bytes_stores import SessionValues, WindowedValues
from headrace.state.contracts import StoreIterator
from headrace.state.key_schemas import KeySchema, Matches, SessionKeySchema, WindowKeySchema
from headrace.state.rocksdb.segments import Entries, SegmentedStore
from headrace.state.rocksdb.session import SegmentedSessions
from headrace.state.rocksdb.window import SegmentedWindows, windowed
from headrace.windows import MAX_TIMESTAMP

_BY_TIME, _BY_KEY = b"\0", b"\1"
_LONG = struct.Struct(">q")


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

    def fetch_by_time(
        self, key_from: bytes | None, key_to: bytes | None, time_from: int, time_to: int, *, forward: bool
    ) -> Entries:
        """The entries whose time and key lie in the ranges, by time, then key."""
        self._open_database()
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
        return super()._fetch(key_from, key_to, time_from, time_to, bounds, forward)

    def _scan(
        self, segment_id: int, bounds: tuple[bytes | None, bytes | None], matches: Matches, forward: bool
    ) -> Entries:
        lower, upper = bounds
        first = _BY_KEY + (lower or b"")
        last = None if upper is None else _BY_KEY + upper
        for index_key, _ in self._segments.scan(segment_id, first, last, forward=forward):
            key = index_key[1:]
            if matches(key) and (value := self._get_at(segment_id, key)) is not None:
                yield key, value

    def _get_at(self, segment_id: int, key: bytes) -> bytes | None:
        return self._segments.get(segment_id, _BY_TIME + self._time_first(key))

    def _put_at(self, segment_id: int, key: bytes, value: bytes | None) -> None:
        self._segments.put(segment_id, _BY_TIME + self._time_first(key), value)
        if self.with_index:
            self._segments.put(segment_id, _BY_KEY + key, None if value is None else b"")

    def _delete_at(self, segment_id: int, key: bytes) -> None:
        self._segments.delete(segment_id, _BY_TIME + self._time_first(key))
        if self.with_index:
            self._segments.delete(segment_id, _BY_KEY + key)


class RocksDBTimeOrderedWindowStore(TimeOrderedStore, SegmentedWindows):
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

    def fetch_all(self, time_from: int, time_to: int, *, forward: bool = True) -> WindowedValues:
        """The windows of all keys that start in the span, by time, then key."""
        first = max(time_from, self._first_live())
        return windowed(self.fetch_by_time(None, None, first, time_to, forward=forward))

    def _first_live(self) -> int:
        # One millisecond longer than the other window stores keep, as in Kafka Streams.
        return self._stream_time - self._retention_ms


class RocksDBTimeOrderedSessionStore(TimeOrderedStore, SegmentedSessions):
    """Values by session; those that end in a span of time come by end, then start, then key."""

    def __init__(self, name: str, retention_ms: int, segment_interval_ms: int) -> None:
        super().__init__(
            name, retention_ms, segment_interval_ms, SessionKeySchema(), _SessionTimeFirst(), with_index=True
        )

    def find_sessions_by_end(self, earliest_end: int, latest_end: int) -> SessionValues:
        """The sessions that end in that span, by end, start and key."""
        found = self.fetch_by_time(None, None, earliest_end, MAX_TIMESTAMP, forward=True)
        sessions = ((parse_session_key(key), value) for key, value in found)
        return StoreIterator(takewhile(lambda entry: entry[0][2] <= latest_end, sessions))
