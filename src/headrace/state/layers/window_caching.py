"""The caching layer of window stores."""

from __future__ import annotations

from headrace.serde.bytes_keys import parse_window_store_key, window_store_key, window_store_start
from headrace.state.bytes_stores import BytesWindowStore, WindowedValues, WindowKey, WindowValues
from headrace.state.contracts import StoreIterator
from headrace.state.key_schemas import MAX_SEQUENCE, WindowKeySchema
from headrace.state.layers.merging import Cached, Order, same
from headrace.state.layers.segmented_caching import SEGMENT_ID, SegmentedCaching, Span

_BY_START: Order[int] = Order(window_store_start, same, window_store_start, of_one_key=True)


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

    def fetch_flushed(self, key: bytes, time: int) -> bytes | None:
        """The value that was flushed last."""
        value = self.fetch(key, time)
        return self.inner.fetch(key, time) if self._is_news(self._rank((key, time)), value) else value

    def fetch_range(self, key: bytes, time_from: int, time_to: int, *, forward: bool = True) -> WindowValues:
        """The windows of one key that start in the span."""
        beneath = self.inner.fetch_range(key, time_from, time_to, forward=forward)
        if self.persistent:
            cached = self._scan_segments(key, key, time_from, time_to, forward)
        else:
            cached = self._scan_of_key(key, time_from, time_to, forward)
        cached = self._matching(cached, key, key, time_from, time_to)
        return self._merged(cached, beneath, _BY_START, forward)

    def fetch_keys(
        self, key_from: bytes | None, key_to: bytes | None, time_from: int, time_to: int, *, forward: bool = True
    ) -> WindowedValues:
        """The windows of a range of keys that start in the span."""
        if key_from is not None and key_to is not None and key_from > key_to:
            return StoreIterator(())
        beneath = self.inner.fetch_keys(key_from, key_to, time_from, time_to, forward=forward)
        if self.persistent:
            cached = self._scan_segments(key_from, key_to, time_from, time_to, forward)
        else:
            cached = self._scan_of_keys(key_from, key_to, time_to, forward)
        return self._merged(self._matching(cached, key_from, key_to, time_from, time_to), beneath, self._order, forward)

    def fetch_all(self, time_from: int, time_to: int, *, forward: bool = True) -> WindowedValues:
        """The windows of all keys that start in the span."""
        beneath = self.inner.fetch_all(time_from, time_to, forward=forward)
        cached = self._cache.scan(None, None, forward=forward)
        return self._merged(self._matching(cached, None, None, time_from, time_to), beneath, self._order, forward)

    def _scan_segments(
        self, key_from: bytes | None, key_to: bytes | None, time_from: int, time_to: int, forward: bool
    ) -> Cached:
        if forward:
            first_id = self._segment_id(max(0, time_from))
            self._check_segment(min(max(0, time_to), self._segment_end(first_id)), first_id)
        segments = self._segments(time_from, min(time_to, self._max_time))
        ordered = segments if forward else reversed(segments)
        return self._scan_spans((self._span(id_, key_from, key_to, time_from, time_to) for id_ in ordered), forward)

    def _span(
        self, segment_id: int, key_from: bytes | None, key_to: bytes | None, time_from: int, time_to: int
    ) -> Span:
        if key_from is not None and key_from == key_to:
            first = max(0, time_from, segment_id * self._interval_ms)
            last = min(time_to, self._segment_end(segment_id))
            lower = self._cache_key(window_store_key(key_from, first))
            return lower, self._cache_key(window_store_key(key_from, last, MAX_SEQUENCE))
        prefix = SEGMENT_ID.pack(segment_id)
        lower = b"" if key_from is None else self._schema.lower_bound(key_from)
        if key_to is None:
            return prefix + lower, SEGMENT_ID.pack(segment_id + 1)
        return prefix + lower, prefix + self._schema.upper_bound(key_to, time_to)

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
