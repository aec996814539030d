"""The caching layer of session stores."""

from __future__ import annotations

from collections.abc import Iterator

from headrace.errors import ArgumentError, UnsupportedError
from headrace.serde.bytes_keys import parse_session_key, session_key
from headrace.state.bytes_stores import BytesSessionStore, SessionKey, SessionValues
from headrace.state.contracts import StoreIterator
from headrace.state.key_schemas import SessionKeySchema
from headrace.state.layers.merging import Order, same
from headrace.state.layers.segmented_caching import SEGMENT_ID, SegmentedCaching, Span


class CachingSessionStore(SegmentedCaching[BytesSessionStore]):
    """A session store behind the cache."""

    def __init__(self, inner: BytesSessionStore, segment_interval_ms: int) -> None:
        super().__init__(inner, segment_interval_ms, SessionKeySchema())
        self._order: Order[SessionKey] = Order(same, self._rank, _session_key)

    def put(self, session: SessionKey, value: bytes | None) -> None:
        self._write_at(session_key(*session), value)

    def remove(self, session: SessionKey) -> None:
        """Put a tombstone into the cache."""
        self._write_at(session_key(*session), None)

    def fetch_session(self, key: bytes, start: int, end: int) -> bytes | None:
        """The value of that session, from the cache or else from the store beneath."""
        entry = self._cached_value(session_key(key, start, end))
        return self.inner.fetch_session(key, start, end) if entry is None else entry.value

    def fetch_session_flushed(self, key: bytes, start: int, end: int) -> bytes | None:
        """The value that was flushed last."""
        value = self.fetch_session(key, start, end)
        is_news = self._is_news(self._rank((key, start, end)), value)
        return self.inner.fetch_session(key, start, end) if is_news else value

    def find_sessions(self, key: bytes, earliest_end: int, latest_start: int, *, forward: bool = True) -> SessionValues:
        if self.persistent:
            cached = self._scan_spans(self._spans(key, earliest_end, latest_start, forward), forward)
        else:
            cached = self._scan_of_key(key, earliest_end, latest_start, forward)
        beneath = self.inner.find_sessions(key, earliest_end, latest_start, forward=forward)
        cached = self._matching(cached, key, key, earliest_end, latest_start)
        return self._merged(cached, beneath, self._order, forward)

    def find_sessions_keys(
        self,
        key_from: bytes | None,
        key_to: bytes | None,
        earliest_end: int,
        latest_start: int,
        *,
        forward: bool = True,
    ) -> SessionValues:
        if key_from is not None and key_to is not None and key_from > key_to:
            return StoreIterator(())
        cached = self._scan_of_keys(key_from, key_to, latest_start, forward)
        beneath = self.inner.find_sessions_keys(key_from, key_to, earliest_end, latest_start, forward=forward)
        cached = self._matching(cached, key_from, key_to, earliest_end, latest_start)
        return self._merged(cached, beneath, self._order, forward)

    def find_sessions_by_end(self, earliest_end: int, latest_end: int) -> SessionValues:
        """Refused: the cache is not in order of time."""
        message = f"store {self.name} is cached and cannot look for sessions by their end alone"
        raise UnsupportedError(message, hint="Turn caching off for this store, or ask for a range of keys.")

    def _spans(self, key: bytes, earliest_end: int, latest_start: int, forward: bool) -> Iterator[Span]:
        segments = self._segments(earliest_end, self._max_time)
        if forward:
            for segment_id in segments:
                first = max(earliest_end, segment_id * self._interval_ms)
                yield self._span(key, first, self._segment_end(segment_id), latest_start)
            return
        last = self._last_backward(latest_start)
        for segment_id in reversed(segments):
            first = segment_id * self._interval_ms
            yield self._span(key, first, min(last, self._segment_end(segment_id)), latest_start)

    def _last_backward(self, latest_start: int) -> int:
        # Looking backward, the last segment is cut at the latest start: a session that ends later is not found there.
        last = min(latest_start, self._max_time)
        self._check_segment(last, self._segment_id(self._max_time))
        if last < 0:
            # There is no session to look back from, and Kafka Streams refuses to make one up.
            message = f"store {self.name} is cached and has no sessions to look back from"
            raise ArgumentError(message, hint="Look forward, or backward once the store holds a session.")
        return last

    def _span(self, key: bytes, first: int, last: int, latest_start: int) -> Span:
        lower = self._cache_key(session_key(key, 0, max(0, first)))
        return lower, self._cache_key(session_key(key, min(latest_start, last), last))

    def _rank(self, session: SessionKey) -> bytes:
        return self._cache_key(session_key(*session))

    def _read_beneath(self, cache_key: bytes) -> bytes | None:
        return self.inner.fetch_session(*_session_key(cache_key))

    def _write_beneath(self, cache_key: bytes, value: bytes | None) -> None:
        self.inner.put(_session_key(cache_key), value)


def _session_key(cache_key: bytes) -> SessionKey:
    key, start, end = parse_session_key(cache_key)
    return key[SEGMENT_ID.size :], start, end
