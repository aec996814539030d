"""What the caching layers of window and session stores share: the cache is in order of segments, like the store."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from itertools import chain

from headrace.errors import IllegalStateError
from headrace.records import NO_TIMESTAMP
from headrace.state.cache import CacheEntry
from headrace.state.key_schemas import KeySchema
from headrace.state.layers.caching import Caching
from headrace.state.layers.merging import Cached
from headrace.state.layers.wrapped import S

SEGMENT_ID = struct.Struct(">q")

Span = tuple[bytes | None, bytes | None]
"""The first and the last key of a stretch of the cache; None is an open end."""


class SegmentedCaching(Caching[S]):
    """A cached store whose order is by segments of time. The cache has the same order, so that the two can be merged.

    A key in the cache is the segment's id (eight bytes), then the key of the store.
    """

    remembered = ("_max_time",)

    def __init__(self, inner: S, segment_interval_ms: int, schema: KeySchema) -> None:
        super().__init__(inner)
        self._interval_ms = segment_interval_ms
        self._schema = schema
        self._max_time = NO_TIMESTAMP

    def _write_at(self, key: bytes, value: bytes | None) -> None:
        time = self._schema.time_of(key)
        self._write(SEGMENT_ID.pack(self._segment_id(time)) + key, value)
        self._max_time = max(self._max_time, time)

    def _cached_value(self, key: bytes) -> CacheEntry | None:
        return self._cache.get(self._cache_key(key))

    def _segment_id(self, time: int) -> int:
        return time // self._interval_ms if time >= 0 else -(-time // self._interval_ms)

    def _cache_key(self, key: bytes) -> bytes:
        return SEGMENT_ID.pack(self._segment_id(self._schema.time_of(key))) + key

    def _store_key(self, cache_key: bytes) -> bytes:
        return cache_key[SEGMENT_ID.size :]

    def _segment_end(self, segment_id: int) -> int:
        return (segment_id + 1) * self._interval_ms - 1

    def _check_segment(self, time: int, segment_id: int) -> None:
        # Where a time range ends before the segment it begins in, Kafka Streams gives up.
        if self._segment_id(time) != segment_id:
            message = f"store {self.name} is cached and cannot look across segments in this order"
            raise IllegalStateError(message, hint="Ask for a range that does not end before it begins, or forward.")

    def _segments(self, time_from: int, time_to: int) -> range:
        """The segments of a span of time, as far as the cache goes."""
        held = self._cache.ends()
        if held is None:
            return range(0)
        first, last = (SEGMENT_ID.unpack_from(key)[0] for key in held)
        # No entry is older than 0, so there are no segments below it.
        return range(max(self._segment_id(max(0, time_from)), first), min(self._segment_id(max(0, time_to)), last) + 1)

    def _scan_spans(self, spans: Iterable[Span], forward: bool) -> Cached:
        # All of them now, so that writes during the iteration change nothing in it.
        return chain.from_iterable([self._cache.scan(first, last, forward=forward) for first, last in spans])

    def _scan_of_key(self, key: bytes, time_from: int, time_to: int, forward: bool) -> Cached:
        first, last = self._schema.fixed_bounds(key, time_from, time_to)
        return self._cache.scan(self._cache_key(first), self._cache_key(last), forward=forward)

    def _scan_of_keys(self, key_from: bytes | None, key_to: bytes | None, time_to: int, forward: bool) -> Cached:
        first = None if key_from is None else self._cache_key(self._schema.lower_bound(key_from))
        last = None if key_to is None else self._cache_key(self._schema.upper_bound(key_to, time_to))
        return self._cache.scan(first, last, forward=forward)

    def _matching(
        self, cached: Cached, key_from: bytes | None, key_to: bytes | None, time_from: int, time_to: int
    ) -> Cached:
        matches = self._schema.matcher(key_from, key_to, time_from, time_to)
        return (entry for entry in cached if matches(entry[0][SEGMENT_ID.size :]))
