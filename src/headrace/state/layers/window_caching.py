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
        if key_from is not None and key_to is not None and key_from > key_to:
            return StoreIterator(())
        beneath = self.inner.fetch_keys(key_from, key_to, time_from, time_to, forward=forward)
        if self.persistent:
            cached = self._scan_segments(key_from, key_to, time_from, time_to, forward)
        else:
            cached = self._scan_of_keys(key_from, key_to, time_to, forward)
        return self._merged(self._matching(cached, key_from, key_to, time_from, time_to), beneath, self._order, forward)

    def fetch_all(self, time_from: int, time_to: int, *, forward: bool = True) -> WindowedValues:
        beneath = self.inner.fetch_all(time_from, time_to, forward=forward)
        cached = self._cache.scan(None, None, forward=forward)
        return self._merged(self._matching(cached, None, None, time_from, time_to), beneath, self._order, forward)

    def _scan_segments(
        self, key_from: bytes | None, key_to: bytes | None, time_from: int, time_to: int, forward: bool
    ) -> Cached:
        if forward:
            first_id = self._segment_id(max(0, time_from))
            self._check_segment(min(max(0, time_to), self._segment_end(first_id)), first_id)
        last_time = min(time_to, self._max_time)
        if key_from is None or key_to is None:
            # An open end is open across segments, so that entries of other segments come again, as in Kafka Streams.
            # Forward the first segment is looked through in any case, which counts as a use of what is found there.
            first_id, last_id = self._segment_id(time_from), self._segment_id(last_time)
            segments = range(first_id, (max(first_id, last_id) if forward else last_id) + 1)
        else:
            segments = self._segments(time_from, last_time)
        if key_from is not None and key_from == key_to:
            # Backward a segment is looked through from its start, as in Kafka Streams: also that is a use.
            first_time = time_from if forward else 0
            spans = (self._span_of_key(id_, key_from, first_time, time_to) for id_ in segments)
        else:
            spans = (self._span(id_, key_from, key_to, time_to) for id_ in segments)
        return self._scan_spans(spans if forward else reversed(list(spans)), forward)

    def _span_of_key(self, segment_id: int, key: bytes, time_from: int, time_to: int) -> Span:
        first, last = max(0, time_from, segment_id * self._interval_ms), min(time_to, self._segment_end(segment_id))
        lower, upper = window_store_key(key, first), window_store_key(key, last, MAX_SEQUENCE)
        return self._cache_key(lower), self._cache_key(upper)

    def _span(self, segment_id: int, key_from: bytes | None, key_to: bytes | None, time_to: int) -> Span:
        prefix = SEGMENT_ID.pack(segment_id)
        lower = None if key_from is None else prefix + self._schema.lower_bound(key_from)
        return lower, None if key_to is None else prefix + self._schema.upper_bound(key_to, time_to)

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
