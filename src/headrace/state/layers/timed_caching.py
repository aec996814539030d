"""The caching layers of window and session stores: the cache is in order of segments, like the store."""

from __future__ import annotations

import struct
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import NoReturn

from headrace.errors import ArgumentError, IllegalStateError, UnsupportedError
from headrace.records import NO_TIMESTAMP
from headrace.serde.bytes_keys import session_key, window_store_key, window_store_start
from headrace.state.bytes_stores import BytesTimedStore, Entries
from headrace.state.cache import NamedCache
from headrace.state.contracts import StoreIterator
from headrace.state.key_schemas import MAX_SEQUENCE, SESSION_KEYS, WINDOW_KEYS, KeySchema
from headrace.state.layers.caching import Caching

_SEGMENT_ID = struct.Struct(">q")
_FEW = 4
"""So many segments are looked through quicker than those of them are found that the cache has entries of."""

Span = tuple[bytes | None, bytes | None]
"""The first and the last key of a stretch of the cache; None is an open end."""


def held_segments(cache: NamedCache, first: int, last: int) -> Iterator[int]:
    """Of the segments from ``first`` to ``last`` those that the cache has entries of: ages may lie between them."""
    # No entry is older than 0, so there are no segments below it.
    first = max(0, first)
    while first <= last and (key := cache.first_key(_SEGMENT_ID.pack(first))) is not None:
        (segment_id,) = _SEGMENT_ID.unpack_from(key)
        if not first <= segment_id <= last:
            return
        yield segment_id
        first = segment_id + 1


class TimedCaching(Caching[BytesTimedStore]):
    """A cached store whose order is by segments of time. The cache has the same order, so that the two can be merged.

    A key in the cache is the segment's id (eight bytes), then the key of the store.
    """

    remembered = ("_max_time",)
    _schema: KeySchema

    def __init__(self, inner: BytesTimedStore, segment_interval_ms: int) -> None:
        super().__init__(inner)
        self._interval_ms = segment_interval_ms
        self._max_time = NO_TIMESTAMP

    def put(self, key: bytes, value: bytes | None) -> None:
        """Set in the cache; None is kept as a tombstone."""
        time = self._schema.time_of(key)
        self._write(_SEGMENT_ID.pack(self._segment_id(time)) + key, value)
        self._max_time = max(self._max_time, time)

    def remove(self, key: bytes) -> None:
        self.put(key, None)

    def fetch_keys(
        self, key_from: bytes | None, key_to: bytes | None, time_from: int, time_to: int, *, forward: bool = True
    ) -> Entries:
        if key_from is not None and key_to is not None and key_from > key_to:
            return StoreIterator(())
        beneath = self.inner.fetch_keys(key_from, key_to, time_from, time_to, forward=forward)
        cached = self._cached_keys(key_from, key_to, time_from, time_to, forward)
        matches = self._schema.matcher(key_from, key_to, time_from, time_to)
        return self._merged(cached, beneath, self._cache_key, forward, matches)

    @abstractmethod
    def _cached_keys(
        self, key_from: bytes | None, key_to: bytes | None, time_from: int, time_to: int, forward: bool
    ) -> list[bytes]:
        """Where the cache may have entries of a range of keys."""

    def _segment_id(self, time: int) -> int:
        return time // self._interval_ms if time >= 0 else -(-time // self._interval_ms)

    def _cache_key(self, key: bytes) -> bytes:
        return _SEGMENT_ID.pack(self._segment_id(self._schema.time_of(key))) + key

    def _store_key(self, cache_key: bytes) -> bytes:
        return cache_key[_SEGMENT_ID.size :]

    def _segment_end(self, segment_id: int) -> int:
        return (segment_id + 1) * self._interval_ms - 1

    def _check_segment(self, time: int, segment_id: int) -> None:
        # Where a time range ends before the segment it begins in, Kafka Streams gives up.
        if self._segment_id(time) != segment_id:
            message = f"store {self.name} is cached and cannot look across segments in this order"
            raise IllegalStateError(message, hint="Ask for a range that does not end before it begins, or forward.")

    def _in_spans(self, spans: Iterable[Span], forward: bool) -> list[bytes]:
        return [key for first, last in spans for key in self._cache.keys(first, last, forward=forward)]

    def _of_key(self, key: bytes, time_from: int, time_to: int, forward: bool) -> list[bytes]:
        first, last = self._schema.fixed_bounds(key, time_from, time_to)
        return self._cache.keys(self._cache_key(first), self._cache_key(last), forward=forward)

    def _of_keys(self, key_from: bytes | None, key_to: bytes | None, time_to: int, forward: bool) -> list[bytes]:
        first = None if key_from is None else self._cache_key(self._schema.lower_bound(key_from))
        last = None if key_to is None else self._cache_key(self._schema.upper_bound(key_to, time_to))
        return self._cache.keys(first, last, forward=forward)


class CachingWindowStore(TimedCaching):
    """A window store behind the cache."""

    _schema = WINDOW_KEYS

    def fetch(self, key: bytes, time_from: int, time_to: int, *, forward: bool = True) -> Entries:
        """The windows of one key: exact backward, too, since sliding windows are computed from them."""
        beneath = self.inner.fetch(key, time_from, time_to, forward=forward)
        if self.persistent:
            cached = self._in_segments(key, key, time_from, time_to, forward)
        else:
            cached = self._of_key(key, time_from, time_to, forward)
        matches = self._schema.matcher(key, key, time_from, time_to)
        return self._merged(cached, beneath, window_store_start, forward, matches, is_exact=True)

    def fetch_all(self, time_from: int, time_to: int, *, forward: bool = True) -> Entries:
        beneath = self.inner.fetch_all(time_from, time_to, forward=forward)
        cached = self._cache.keys(None, None, forward=forward)
        matches = self._schema.matcher(None, None, time_from, time_to)
        return self._merged(cached, beneath, self._cache_key, forward, matches)

    def _cached_keys(
        self, key_from: bytes | None, key_to: bytes | None, time_from: int, time_to: int, forward: bool
    ) -> list[bytes]:
        if self.persistent:
            return self._in_segments(key_from, key_to, time_from, time_to, forward)
        return self._of_keys(key_from, key_to, time_to, forward)

    def _in_segments(
        self, key_from: bytes | None, key_to: bytes | None, time_from: int, time_to: int, forward: bool
    ) -> list[bytes]:
        first_id, last_id = self._segment_id(max(0, time_from)), self._segment_id(min(time_to, self._max_time))
        if forward:
            self._check_segment(min(max(0, time_to), self._segment_end(first_id)), first_id)
        segments = list(held_segments(self._cache, first_id, last_id))
        if (key_from is None or key_to is None) and (forward or first_id <= last_id):
            # An open end is open across segments, so that entries of other segments come again, as in Kafka Streams;
            # in a gap between segments once, however long it is. Forward the first segment is looked through in any
            # case, which counts as a use of what is found there.
            after = (segment_id + 1 for segment_id in segments if segment_id < last_id)
            segments = sorted({first_id, *segments, *after})
        if key_from is not None and key_from == key_to:
            # Backward a segment is looked through from its start, as in Kafka Streams: also that is a use.
            first_time = time_from if forward else 0
            spans = (self._span_of_key(id_, key_from, first_time, time_to) for id_ in segments)
        else:
            spans = (self._span(id_, key_from, key_to, time_to) for id_ in segments)
        return self._in_spans(spans if forward else reversed(list(spans)), forward)

    def _span_of_key(self, segment_id: int, key: bytes, time_from: int, time_to: int) -> Span:
        first, last = max(0, time_from, segment_id * self._interval_ms), min(time_to, self._segment_end(segment_id))
        lower, upper = window_store_key(key, first), window_store_key(key, last, MAX_SEQUENCE)
        return self._cache_key(lower), self._cache_key(upper)

    def _span(self, segment_id: int, key_from: bytes | None, key_to: bytes | None, time_to: int) -> Span:
        prefix = _SEGMENT_ID.pack(segment_id)
        lower = None if key_from is None else prefix + self._schema.lower_bound(key_from)
        return lower, None if key_to is None else prefix + self._schema.upper_bound(key_to, time_to)


class CachingSessionStore(TimedCaching):
    """A session store behind the cache."""

    _schema = SESSION_KEYS

    def fetch(self, key: bytes, time_from: int, time_to: int, *, forward: bool = True) -> Entries:
        if self.persistent:
            cached = self._in_spans(self._spans(key, time_from, time_to, forward), forward)
        else:
            cached = self._of_key(key, time_from, time_to, forward)
        beneath = self.inner.fetch(key, time_from, time_to, forward=forward)
        matches = self._schema.matcher(key, key, time_from, time_to)
        return self._merged(cached, beneath, self._cache_key, forward, matches)

    def fetch_all(self, time_from: int, time_to: int, *, forward: bool = True) -> NoReturn:
        """Refused: the cache is not in order of time."""
        message = f"store {self.name} is cached and cannot look for sessions by their end alone"
        raise UnsupportedError(message, hint="Turn caching off for this store, or ask for a range of keys.")

    def _cached_keys(
        self, key_from: bytes | None, key_to: bytes | None, time_from: int, time_to: int, forward: bool
    ) -> list[bytes]:
        return self._of_keys(key_from, key_to, time_to, forward)

    def _spans(self, key: bytes, earliest_end: int, latest_start: int, forward: bool) -> Iterator[Span]:
        first_id, last_id = max(0, self._segment_id(earliest_end)), self._segment_id(self._max_time)
        segments: Sequence[int] = range(first_id, last_id + 1)
        if len(segments) > _FEW:
            segments = list(held_segments(self._cache, first_id, last_id))
        if forward:
            for segment_id in segments:
                first = max(earliest_end, segment_id * self._interval_ms)
                yield self._span(segment_id, key, first, self._segment_end(segment_id), latest_start)
            return
        last = self._last_backward(latest_start)
        for segment_id in reversed(segments):
            first = segment_id * self._interval_ms
            yield self._span(segment_id, key, first, min(last, self._segment_end(segment_id)), latest_start)

    def _last_backward(self, latest_start: int) -> int:
        # Looking backward, the last segment is cut at the latest start: a session that ends later is not found there.
        last = min(latest_start, self._max_time)
        self._check_segment(last, self._segment_id(self._max_time))
        if last < 0:
            # There is no session to look back from, and Kafka Streams refuses to make one up.
            message = f"store {self.name} is cached and has no sessions to look back from"
            raise ArgumentError(message, hint="Look forward, or backward once the store holds a session.")
        return last

    def _span(self, segment_id: int, key: bytes, first: int, last: int, latest_start: int) -> Span:
        prefix = _SEGMENT_ID.pack(segment_id) + key
        return session_key(prefix, 0, first), session_key(prefix, min(latest_start, last), last)
