"""The caching layer of session stores."""

from __future__ import annotations

from headrace.errors import ArgumentError, UnsupportedError
from headrace.serde.bytes_keys import parse_session_key, session_key
from headrace.state.bytes_stores import BytesSessionStore, SessionKey, SessionValues
from headrace.state.contracts import StoreIterator
from headrace.state.key_schemas import SessionKeySchema
from headrace.state.layers.merging import Cached, Order, merged, same
from headrace.state.layers.segmented_caching import SEGMENT_ID, SegmentedCaching


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

    def find_sessions(self, key: bytes, earliest_end: int, latest_start: int, *, forward: bool = True) -> SessionValues:
        """The sessions of one key that end no earlier and start no later."""
        if self.persistent:
            cached = self._by_segment(key, earliest_end, latest_start, forward)
        else:
            cached = self._scan_of_key(key, earliest_end, latest_start, forward)
        beneath = self.inner.find_sessions(key, earliest_end, latest_start, forward=forward)
        cached = self._matching(cached, key, key, earliest_end, latest_start)
        return merged(cached, beneath, self._order, forward)

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
        return merged(cached, beneath, self._order, forward)

    def find_sessions_by_end(self, earliest_end: int, latest_end: int) -> SessionValues:
        """Refused: the cache is not in order of time."""
        message = f"store {self.name} is cached and cannot look for sessions by their end alone"
        raise UnsupportedError(message, hint="Turn caching off for this store, or ask for a range of keys.")

    def _by_segment(self, key: bytes, earliest_end: int, latest_start: int, forward: bool) -> Cached:
        if forward:
            segment_id, first = self._segment_id(earliest_end), earliest_end
            while True:
                yield from self._segment(key, first, self._segment_end(segment_id), latest_start, forward)
                segment_id += 1
                if segment_id > self._segment_id(self._max_time):
                    return
                first = segment_id * self._interval_ms
        last_id = self._segment_id(self._max_time)
        # Looking backward, the last segment is cut at the latest start: a session that ends later is not found there.
        last = min(latest_start, self._max_time)
        self._check_segment(last, last_id)
        if last < 0:
            # There is no session to look back from, and Kafka Streams refuses to make one up.
            message = f"store {self.name} is cached and has no sessions to look back from"
            raise ArgumentError(message, hint="Look forward, or backward once the store holds a session.")
        for segment_id in range(last_id, self._segment_id(earliest_end) - 1, -1):
            first = segment_id * self._interval_ms
            yield from self._segment(key, first, last, latest_start, forward)
            last = first - 1

    def _segment(self, key: bytes, first: int, last: int, latest_start: int, forward: bool) -> Cached:
        lower = self._cache_key(session_key(key, 0, max(0, first)))
        upper = self._cache_key(session_key(key, min(latest_start, last), last))
        return self._cache.scan(lower, upper, forward=forward)

    def _rank(self, session: SessionKey) -> bytes:
        return self._cache_key(session_key(*session))

    def _read_beneath(self, cache_key: bytes) -> bytes | None:
        return self.inner.fetch_session(*_session_key(cache_key))

    def _write_beneath(self, cache_key: bytes, value: bytes | None) -> None:
        self.inner.put(_session_key(cache_key), value)


def _session_key(cache_key: bytes) -> SessionKey:
    key, start, end = parse_session_key(cache_key)
    return key[SEGMENT_ID.size :], start, end
