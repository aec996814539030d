"""Window and session stores ordered by time, for aggregations that emit when a window closes.

Inside a segment the entries come by time first, then key: finding the windows that have closed is one scan. Where
lookups by key are frequent (sliding windows, sessions) an index by key lies beside them. Changelog records have the
same keys as those of other window and session stores.
"""

from __future__ import annotations

import struct

from headrace.state.bytes_stores import Entries
from headrace.state.contracts import StoreIterator
from headrace.state.key_schemas import SESSION_KEYS, WINDOW_KEYS, Matches
from headrace.state.rocksdb.segments import Bounds, Found, SegmentedStore
from headrace.windows import MAX_TIMESTAMP

_BY_TIME, _BY_KEY = b"\0", b"\1"
_LONG = struct.Struct(">q")


class TimeOrderedStore(SegmentedStore):
    """A segmented store whose entries lie by time; with an index also by key."""

    def __init__(
        self,
        name: str,
        retention_ms: int,
        segment_interval_ms: int,
        *,
        retain_duplicates: bool = False,
        with_index: bool = False,
    ) -> None:
        super().__init__(name, retention_ms, segment_interval_ms, retain_duplicates=retain_duplicates)
        self.with_index = with_index

    def _fetch_by_time(self, matches: Matches, time_from: int, time_to: int, forward: bool) -> Found:
        """The entries whose time lies in the span and that match, by time, then key."""
        self._open_database()
        lower = _BY_TIME + _LONG.pack(max(0, time_from))
        upper = _BY_KEY if time_to == MAX_TIMESTAMP else _BY_TIME + _LONG.pack(time_to + 1)
        segments = self._segments
        found = (
            (self._schema.time_last(time_first[1:]), value)
            for segment_id in segments.between(time_from, time_to, forward=forward)
            for time_first, value in segments.scan(segment_id, lower, upper, forward=forward)
        )
        return (entry for entry in found if matches(entry[0]))

    def _fetch(
        self, key_from: bytes | None, key_to: bytes | None, time_from: int, time_to: int, bounds: Bounds, forward: bool
    ) -> Found:
        if self.with_index:
            return super()._fetch(key_from, key_to, time_from, time_to, bounds, forward)
        matches = self._schema.matcher(key_from, key_to, time_from, time_to)
        return self._fetch_by_time(matches, time_from, self._schema.last_time(time_to), forward)

    def _scan(self, segment_id: int, bounds: Bounds, matches: Matches, forward: bool) -> Found:
        lower, upper = bounds
        first = _BY_KEY + (lower or b"")
        last = None if upper is None else _BY_KEY + upper
        for index_key, _ in self._segments.scan(segment_id, first, last, forward=forward):
            key = index_key[1:]
            if matches(key) and (value := self._get_at(segment_id, key)) is not None:
                yield key, value

    def _get_at(self, segment_id: int, key: bytes) -> bytes | None:
        return self._segments.get(segment_id, _BY_TIME + self._schema.time_first(key))

    def _put_at(self, segment_id: int, key: bytes, value: bytes | None) -> None:
        self._segments.put(segment_id, _BY_TIME + self._schema.time_first(key), value)
        if self.with_index:
            self._segments.put(segment_id, _BY_KEY + key, None if value is None else b"")

    def _delete_at(self, segment_id: int, key: bytes) -> None:
        self._segments.delete(segment_id, _BY_TIME + self._schema.time_first(key))
        if self.with_index:
            self._segments.delete(segment_id, _BY_KEY + key)


class RocksDBTimeOrderedWindowStore(TimeOrderedStore):
    """Values by window. All windows come by start, then key; those of a range of keys too, unless there is an index."""

    _schema = WINDOW_KEYS

    def fetch_all(self, time_from: int, time_to: int, *, forward: bool = True) -> Entries:
        """The windows of all keys that start in the span, by time, then key."""
        first = max(time_from, self._first_live())
        matches = self._schema.matcher(None, None, first, time_to)
        return StoreIterator(self._fetch_by_time(matches, first, time_to, forward))

    def _first_live(self) -> int:
        # One millisecond longer than the other window stores keep, as in Kafka Streams.
        return self._stream_time - self._retention_ms


class RocksDBTimeOrderedSessionStore(TimeOrderedStore):
    """Values by session, with an index by key."""

    _schema = SESSION_KEYS

    def fetch_all(self, time_from: int, time_to: int, *, forward: bool = True) -> Entries:
        """The sessions that end in that span, by end, start and key."""
        matches = self._schema.matcher(None, None, time_from, MAX_TIMESTAMP)
        return StoreIterator(self._fetch_by_time(matches, time_from, time_to, forward))
