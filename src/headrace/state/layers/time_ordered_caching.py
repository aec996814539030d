"""The caching layer of window stores ordered by time: the cache has the same order, and the same index.

With an index each window has two entries in the cache, one by time with the value and an empty one by key; both
count against the budget, and whichever is flushed first takes the window to the store.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from itertools import chain

from headrace.records import NO_HEADERS, NO_TIMESTAMP
from headrace.serde.bytes_keys import window_store_start
from headrace.state.bytes_stores import BytesTimedStore, Entries
from headrace.state.cache import NO_RECORD, CacheEntry
from headrace.state.contracts import StoreIterator
from headrace.state.key_schemas import WINDOW_KEYS
from headrace.state.layers.caching import Caching
from headrace.state.layers.merging import Cached, merged
from headrace.state.layers.timed_caching import held_segments

_SEGMENT_ID = struct.Struct(">q")
_START = struct.Struct(">q")
_BY_TIME, _BY_KEY = b"\0", b"\1"
_PAST_INDEX = b"\2"
_HEAD_SIZE = 9


class TimeOrderedCachingWindowStore(Caching[BytesTimedStore]):
    """A window store ordered by time behind the cache."""

    remembered = ("_max_time",)

    def __init__(self, inner: BytesTimedStore, segment_interval_ms: int, *, with_index: bool) -> None:
        super().__init__(inner)
        self._interval_ms = segment_interval_ms
        self._with_index = with_index
        self._max_time = NO_TIMESTAMP

    def put(self, key: bytes, value: bytes | None) -> None:
        start = window_store_start(key)
        self._write(self._cache_key(key), value)
        if self._with_index:
            context = self._context.record_context or NO_RECORD
            entry = CacheEntry(b"", context._replace(topic="", headers=NO_HEADERS), dirty=True)
            self._threads().put(self._cache, self._index_key(key), entry)
        self._max_time = max(self._max_time, start)

    def fetch(self, key: bytes, time_from: int, time_to: int, *, forward: bool = True) -> Entries:
        beneath = self.inner.fetch(key, time_from, time_to, forward=forward)
        cached = self._cached(key, key, time_from, time_to, forward, indexed=self._with_index)
        return merged(cached, beneath, window_store_start, forward, is_exact=True)

    def fetch_keys(
        self, key_from: bytes | None, key_to: bytes | None, time_from: int, time_to: int, *, forward: bool = True
    ) -> Entries:
        if key_from is not None and key_to is not None and key_from > key_to:
            return StoreIterator(())
        beneath = self.inner.fetch_keys(key_from, key_to, time_from, time_to, forward=forward)
        cached = self._cached(key_from, key_to, time_from, time_to, forward, indexed=self._with_index)
        return merged(cached, beneath, self._index_key if self._with_index else self._cache_key, forward)

    def fetch_all(self, time_from: int, time_to: int, *, forward: bool = True) -> Entries:
        """The windows of all keys that start in the span, by time, then key."""
        beneath = self.inner.fetch_all(time_from, time_to, forward=forward)
        cached = self._cached(None, None, time_from, time_to, forward, indexed=False)
        return merged(cached, beneath, self._cache_key, forward)

    def _cached(
        self,
        key_from: bytes | None,
        key_to: bytes | None,
        time_from: int,
        time_to: int,
        forward: bool,
        *,
        indexed: bool,
    ) -> Cached:
        found = []
        for segment_id in self._segments(time_from, time_to, forward):
            prefix = _SEGMENT_ID.pack(segment_id)
            if indexed:
                found.append(self._scan_index(prefix, key_from, key_to, time_to, forward))
            else:
                first = prefix + _BY_TIME + _START.pack(max(0, time_from))
                found.append(self._read(self._cache.keys(first, prefix + _BY_KEY, forward=forward), None))
        matches = WINDOW_KEYS.matcher(key_from, key_to, time_from, time_to)
        return (entry for entry in chain.from_iterable(found) if matches(entry[0]))

    def _scan_index(
        self, prefix: bytes, key_from: bytes | None, key_to: bytes | None, time_to: int, forward: bool
    ) -> Cached:
        lower = _BY_KEY if key_from is None else _BY_KEY + WINDOW_KEYS.lower_bound(key_from)
        upper = _PAST_INDEX if key_to is None else _BY_KEY + WINDOW_KEYS.upper_bound(key_to, time_to)
        keys = self._cache.keys(prefix + lower, prefix + upper, forward=forward)
        by_time = [self._cache_key(self._store_key(key)) for key in keys]
        # A window that is not in the cache now is the store's to show.
        is_cached = [self._cache.peek(key) is not None for key in by_time]
        return self._read_indexed(list(zip(keys, by_time, is_cached, strict=True)))

    def _read_indexed(self, found: list[tuple[bytes, bytes, bool]]) -> Cached:
        for index_key, by_time, is_cached in found:
            self._cache.get(index_key)
            if is_cached:
                yield from self._read([by_time], None)

    def _segments(self, time_from: int, time_to: int, forward: bool) -> list[int]:
        last = min(time_to, self._max_time)
        found = list(held_segments(self._cache, time_from // self._interval_ms, last // self._interval_ms))
        return found if forward else found[::-1]

    def _to_let_go(self, entries: Iterable[tuple[bytes, CacheEntry]]) -> Iterator[tuple[bytes, CacheEntry]]:
        done: set[bytes] = set()
        for cache_key, entry in entries:
            by_time = cache_key
            value: CacheEntry | None = entry
            if cache_key[_SEGMENT_ID.size : _HEAD_SIZE] == _BY_KEY:
                by_time = self._cache_key(self._store_key(cache_key))
                value = None if by_time in done else self._cache.get(by_time)
            if value is not None and by_time not in done:
                done.add(by_time)
                yield by_time, value

    def _cache_key(self, key: bytes) -> bytes:
        return self._segment(key) + _BY_TIME + WINDOW_KEYS.time_first(key)

    def _index_key(self, key: bytes) -> bytes:
        return self._segment(key) + _BY_KEY + key

    def _segment(self, key: bytes) -> bytes:
        return _SEGMENT_ID.pack(window_store_start(key) // self._interval_ms)

    def _store_key(self, cache_key: bytes) -> bytes:
        rest = cache_key[_HEAD_SIZE:]
        is_index = cache_key[_SEGMENT_ID.size : _HEAD_SIZE] == _BY_KEY
        return rest if is_index else WINDOW_KEYS.time_last(rest)
