"""The caching layer of window stores."""

from __future__ import annotations

from headrace.serde.bytes_keys import parse_window_store_key, window_store_key, window_store_start
from headrace.state.bytes_stores import BytesWindowStore, WindowedValues, WindowKey, WindowValues
from headrace.state.contracts import StoreIterator
from headrace.state.key_schemas import MAX_SEQUENCE, WindowKeySchema
from headrace.state.layers.merging import Cached, Order, merged, same
from headrace.state.layers.segmented_caching import SEGMENT_ID, SegmentedCaching

_BY_START: Order[int] = Order(window_store_start, same, window_store_start)


class CachingWindowStore(SegmentedCaching[BytesWindowStore]):
    """A window store behind the cache."""

    def __init__(self, inner: BytesWindowStore, segment_interval_ms: int) -> None:
        super().__init__(inner, segment_interval_ms, WindowKeySchema())
        self._order: Order[WindowKey] = Order(same, self._rank, _window_key)

    def put(self, key: bytes, value: bytes | None, window_start: int) -> None:
        self._write_at(window_store_key(key, window_start), value)

    def fetch(self, key: bytes, time: int) -> bytes | None:
        """The value of the window that starts at ``time``, from the cache or else from the store beneath."""
        entry = self._cached_value(window_store_key(key, time))
        return self.inner.fetch(key, time) if entry is None else entry.value

    def fetch_range(self, key: bytes, time_from: int, time_to: int, *, forward: bool = True) -> WindowValues:
        """The windows of one key that start in the span."""
        beneath = self.inner.fetch_range(key, time_from, time_to, forward=forward)
        if self.persistent:
            cached = self._by_segment(key, key, time_from, time_to, forward)
        else:
            cached = self._scan_of_key(key, time_from, time_to, forward)
        return merged(self._matching(cached, key, key, time_from, time_to), beneath, _BY_START, forward)

    def fetch_keys(
        self, key_from: bytes | None, key_to: bytes | None, time_from: int, time_to: int, *, forward: bool = True
    ) -> WindowedValues:
        """The windows of a range of keys that start in the span."""
        if key_from is not None and key_to is not None and key_from > key_to:
            return StoreIterator(())
        beneath = self.inner.fetch_keys(key_from, key_to, time_from, time_to, forward=forward)
        if self.persistent:
            cached = self._by_segment(key_from, key_to, time_from, time_to, forward)
        else:
            cached = self._scan_of_keys(key_from, key_to, time_to, forward)
        return merged(self._matching(cached, key_from, key_to, time_from, time_to), beneath, self._order, forward)

    def fetch_all(self, time_from: int, time_to: int, *, forward: bool = True) -> WindowedValues:
        """The windows of all keys that start in the span."""
        beneath = self.inner.fetch_all(time_from, time_to, forward=forward)
        cached = self._cache.scan(None, None, forward=forward)
        return merged(self._matching(cached, None, None, time_from, time_to), beneath, self._order, forward)

    def _by_segment(
        self, key_from: bytes | None, key_to: bytes | None, time_from: int, time_to: int, forward: bool
    ) -> Cached:
        if forward:
            segment_id, first = self._segment_id(time_from), time_from
            last = min(time_to, self._segment_end(segment_id))
            self._check_segment(last, segment_id)
            while True:
                yield from self._segment(segment_id, key_from, key_to, first, last, time_to, forward)
                segment_id += 1
                if segment_id > self._segment_id(min(time_to, self._max_time)):
                    return
                first, last = segment_id * self._interval_ms, min(time_to, self._segment_end(segment_id))
        last = min(time_to, self._max_time)
        for segment_id in range(self._segment_id(last), self._segment_id(time_from) - 1, -1):
            first = segment_id * self._interval_ms
            yield from self._segment(segment_id, key_from, key_to, first, last, time_to, forward)
            last = first - 1

    def _segment(
        self,
        segment_id: int,
        key_from: bytes | None,
        key_to: bytes | None,
        first: int,
        last: int,
        time_to: int,
        forward: bool,
    ) -> Cached:
        if key_from is not None and key_from == key_to:
            lower: bytes | None = self._cache_key(window_store_key(key_from, max(0, first)))
            upper: bytes | None = self._cache_key(window_store_key(key_from, last, MAX_SEQUENCE))
        else:
            prefix = SEGMENT_ID.pack(segment_id)
            # An open end is open across segments, so that entries of other segments come again, as in Kafka Streams.
            lower = None if key_from is None else prefix + self._schema.lower_bound(key_from)
            upper = None if key_to is None else prefix + self._schema.upper_bound(key_to, time_to)
        return self._cache.scan(lower, upper, forward=forward)

    def _rank(self, window: WindowKey) -> bytes:
        return self._cache_key(window_store_key(*window))

    def _read_beneath(self, cache_key: bytes) -> bytes | None:
        return self.inner.fetch(*_window_key(cache_key))

    def _write_beneath(self, cache_key: bytes, value: bytes | None) -> None:
        key, start = _window_key(cache_key)
        self.inner.put(key, value, start)


def _window_key(cache_key: bytes) -> WindowKey:
    key, start, _ = parse_window_store_key(cache_key)
    return key[SEGMENT_ID.size :], start
