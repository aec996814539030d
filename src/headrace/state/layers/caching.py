"""The caching layer: writes stay in the thread's cache until it flushes; then they reach the store and whoever listens.

At a flush only the last value of a key is written. The old value that the listener is told is read from the store
beneath at that moment; a tombstone for a key the store does not know leaves no trace when somebody listens.

Iterators merge the cache with the store beneath. Their oddities (see ``merged``) are Kafka Streams'.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, TypeVar

from headrace.errors import ArgumentError, IllegalStateError, StoreError, UnsupportedError
from headrace.records import NO_TIMESTAMP, Change, Record
from headrace.serde.bytes_keys import (
    parse_session_key,
    parse_window_store_key,
    session_key,
    window_store_key,
    window_store_start,
)
from headrace.state.bytes_stores import (
    BytesKeyValueStore,
    BytesSessionStore,
    BytesWindowStore,
    KeyValues,
    SessionKey,
    SessionValues,
    WindowedValues,
    WindowKey,
    WindowValues,
)
from headrace.state.cache import NO_RECORD, CacheEntry, NamedCache, ThreadCache
from headrace.state.contracts import FlushListener, StateStore, StoreContext, StoreIterator
from headrace.state.key_schemas import MAX_SEQUENCE, KeySchema, SessionKeySchema, WindowKeySchema
from headrace.state.layers.wrapped import S, Wrapped

K = TypeVar("K")
T = TypeVar("T")

Cached = Iterator[tuple[bytes, CacheEntry]]

_SEGMENT_ID = struct.Struct(">q")


class Caching(Wrapped[S]):
    """What the cached stores have in common: the way into the cache and, at a flush, out of it."""

    _cache: NamedCache
    _thread_cache: ThreadCache | None = None
    _listener: FlushListener | None = None
    _send_old_values = False

    def init(self, context: StoreContext, root: StateStore | None = None) -> None:
        """Take a namespace in the thread's cache and open the store beneath."""
        self._thread_cache = context.cache
        self._cache = context.cache.namespace(f"{context.task_id}-{self.name}", self._on_flush)
        super().init(context, root)

    def set_flush_listener(self, listener: FlushListener, send_old_values: bool) -> bool:
        """Tell ``listener`` of every entry that is flushed, as ``Record(key bytes, Change(new bytes, old bytes))``."""
        self._listener = listener
        self._send_old_values = send_old_values
        return True

    def flush_cache(self) -> None:
        """Write all dirty entries to the store beneath."""
        self._threads().flush(self._cache)

    def flush(self) -> None:
        """Flush the cache, then the store beneath."""
        self.flush_cache()
        self.inner.flush()

    def clear_cache(self) -> None:
        """Forget what is cached, written or not."""
        self._threads().clear(self._cache)

    def close(self) -> None:
        """Flush, give the cache up, close the store beneath."""
        if self._thread_cache is None:
            return
        try:
            self._thread_cache.flush(self._cache)
        finally:
            self._thread_cache.close(self._cache)
            self._thread_cache = None
            self.inner.close()

    def _write(self, cache_key: bytes, value: bytes | None) -> None:
        entry = CacheEntry(value, self._context.record_context or NO_RECORD, dirty=True)
        self._threads().put(self._cache, cache_key, entry)

    def _threads(self) -> ThreadCache:
        if self._thread_cache is None:
            message = f"store {self.name} is closed"
            raise StoreError(message)
        return self._thread_cache

    def _on_flush(self, entries: list[tuple[bytes, CacheEntry]]) -> None:
        for cache_key, entry in entries:
            self._let_go(cache_key, entry)

    def _let_go(self, cache_key: bytes, entry: CacheEntry) -> None:
        old = self._read_beneath(cache_key) if self._wants_old(entry) else None
        if self._listener is not None and entry.value is None and old is None:
            return
        context = self._context
        current, context.record_context = context.record_context, entry.context
        try:
            self._write_beneath(cache_key, entry.value)
            if self._listener is not None:
                change = Change(entry.value, old if self._send_old_values else None)
                key = self._store_key(cache_key)
                self._listener(Record(key, change, entry.context.timestamp, entry.context.headers))
        finally:
            context.record_context = current

    def _wants_old(self, entry: CacheEntry) -> bool:
        return self._listener is not None and (entry.value is None or self._send_old_values)

    def _store_key(self, cache_key: bytes) -> bytes:
        raise NotImplementedError

    def _read_beneath(self, cache_key: bytes) -> bytes | None:
        raise NotImplementedError

    def _write_beneath(self, cache_key: bytes, value: bytes | None) -> None:
        raise NotImplementedError


class CachingKeyValueStore(Caching[BytesKeyValueStore]):
    """A key-value store behind the cache. What is read is cached, too."""

    def get(self, key: bytes) -> bytes | None:
        """The value, from the cache or else from the store beneath."""
        entry = self._cache.get(key)
        if entry is not None:
            return entry.value
        value = self.inner.get(key)
        if value is not None:
            self._threads().put(self._cache, key, CacheEntry(value))
        return value

    def put(self, key: bytes, value: bytes | None) -> None:
        """Set in the cache; None is kept as a tombstone."""
        self._write(key, value)

    def put_if_absent(self, key: bytes, value: bytes | None) -> bytes | None:
        """Set in the cache unless there is a value, which is returned."""
        current = self.get(key)
        if current is None:
            self._write(key, value)
        return current

    def put_all(self, entries: Iterable[tuple[bytes, bytes | None]]) -> None:
        """Set several values."""
        for key, value in entries:
            self._write(key, value)

    def delete(self, key: bytes) -> bytes | None:
        """Delete; returns the value there was."""
        current = self.get(key)
        self._write(key, None)
        return current

    def range(self, key_from: bytes | None, key_to: bytes | None, *, forward: bool = True) -> KeyValues:
        """The entries of both ends and between, cached or not."""
        beneath = self.inner.range(key_from, key_to, forward=forward)
        cached = self._cache.scan(key_from, key_to, forward=forward)
        return merged(cached, beneath, _SAME_KEYS, forward)

    def prefix_scan(self, prefix: bytes) -> KeyValues:
        """The entries whose keys begin with ``prefix``."""
        beneath = self.inner.prefix_scan(prefix)
        return merged(self._cache.scan_prefix(prefix), beneath, _SAME_KEYS, True)

    def approximate_num_entries(self) -> int:
        """About how many entries the store beneath has."""
        return self.inner.approximate_num_entries()

    def _store_key(self, cache_key: bytes) -> bytes:
        return cache_key

    def _read_beneath(self, cache_key: bytes) -> bytes | None:
        return self.inner.get(cache_key)

    def _write_beneath(self, cache_key: bytes, value: bytes | None) -> None:
        self.inner.put(cache_key, value)


class SegmentedCaching(Caching[S]):
    """A store behind the cache whose order is by segments of time: so is the cache's, for the two to merge.

    A key in the cache is the segment's id (eight bytes), then the key of the store.
    """

    def __init__(self, inner: S, segment_interval_ms: int, schema: KeySchema) -> None:
        super().__init__(inner)
        self._interval_ms = segment_interval_ms
        self._schema = schema
        self._max_time = NO_TIMESTAMP

    def _write_at(self, key: bytes, value: bytes | None) -> None:
        time = self._schema.time_of(key)
        self._write(_SEGMENT_ID.pack(self._segment_id(time)) + key, value)
        self._max_time = max(self._max_time, time)

    def _cached_value(self, key: bytes) -> CacheEntry | None:
        return self._cache.get(self._cache_key(key))

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
        return (entry for entry in cached if matches(entry[0][_SEGMENT_ID.size :]))


class CachingWindowStore(SegmentedCaching[BytesWindowStore]):
    """A window store behind the cache."""

    def __init__(self, inner: BytesWindowStore, segment_interval_ms: int) -> None:
        super().__init__(inner, segment_interval_ms, WindowKeySchema())
        self._order: Order[WindowKey] = Order(_same, self._rank, _window_key)

    def put(self, key: bytes, value: bytes | None, window_start: int) -> None:
        """Set in the cache."""
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
            prefix = _SEGMENT_ID.pack(segment_id)
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


class CachingSessionStore(SegmentedCaching[BytesSessionStore]):
    """A session store behind the cache."""

    def __init__(self, inner: BytesSessionStore, segment_interval_ms: int) -> None:
        super().__init__(inner, segment_interval_ms, SessionKeySchema())
        self._order: Order[SessionKey] = Order(_same, self._rank, _session_key)

    def put(self, session: SessionKey, value: bytes | None) -> None:
        """Set in the cache."""
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
        """The sessions of a range of keys."""
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


class Order(Generic[K]):
    """How keys of the cache and of the store beneath compare, and how the former become the latter."""

    __slots__ = ("cache_rank", "store_rank", "to_key")

    def __init__(
        self, cache_rank: Callable[[bytes], Any], store_rank: Callable[[K], Any], to_key: Callable[[bytes], K]
    ) -> None:
        self.cache_rank = cache_rank
        self.store_rank = store_rank
        self.to_key = to_key


def _same(key: Any) -> Any:
    return key


def _window_key(cache_key: bytes) -> WindowKey:
    key, start, _ = parse_window_store_key(cache_key)
    return key[_SEGMENT_ID.size :], start


def _session_key(cache_key: bytes) -> SessionKey:
    key, start, end = parse_session_key(cache_key)
    return key[_SEGMENT_ID.size :], start, end


_SAME_KEYS: Order[bytes] = Order(_same, _same, _same)
_BY_START: Order[int] = Order(window_store_start, _same, window_store_start)


class _Lookahead(Generic[T]):
    """An iterator whose next item can be looked at; it is fetched no sooner than that."""

    __slots__ = ("_items", "_next")

    def __init__(self, items: Iterator[T]) -> None:
        self._items = items
        self._next: T | None = None

    def peek(self) -> T | None:
        """The next item; None at the end."""
        if self._next is None:
            self._next = next(self._items, None)
        return self._next

    def pop(self) -> None:
        """Go past the next item."""
        self.peek()
        self._next = None


def merged(cached: Cached, beneath: StoreIterator[K, bytes], order: Order[K], forward: bool) -> StoreIterator[K, bytes]:
    """The entries of the cache and of the store beneath as one; the cache's win."""
    return StoreIterator(_merge(_Lookahead(cached), _Lookahead(beneath), order, forward), beneath.close)


def _merge(
    cached: _Lookahead[tuple[bytes, CacheEntry]], beneath: _Lookahead[tuple[K, bytes]], order: Order[K], forward: bool
) -> Iterator[tuple[K, Any]]:
    while True:
        _skip_tombstones(cached, beneath, order)
        ours, theirs = cached.peek(), beneath.peek()
        if ours is None and theirs is None:
            return
        if ours is not None and theirs is not None:
            rank, other = order.cache_rank(ours[0]), order.store_rank(theirs[0])
            if rank == other:
                beneath.pop()
            elif (rank > other) is forward:
                ours = None
        if ours is not None:
            cached.pop()
            yield order.to_key(ours[0]), ours[1].value
        elif theirs is not None:
            beneath.pop()
            yield theirs


def _skip_tombstones(
    cached: _Lookahead[tuple[bytes, CacheEntry]], beneath: _Lookahead[tuple[K, bytes]], order: Order[K]
) -> None:
    # Kafka Streams compares here as if every iterator went forward. Backward, a tombstone is therefore lost (and the
    # entry it deletes shows) when the store's next key is greater, and shows up itself, with the value None, when it
    # is smaller.
    while (ours := cached.peek()) is not None and ours[1].value is None:
        theirs = beneath.peek()
        if theirs is not None:
            rank, other = order.cache_rank(ours[0]), order.store_rank(theirs[0])
            if rank > other:
                return
            if rank == other:
                beneath.pop()
        cached.pop()
