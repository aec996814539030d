"""The caching layer: writes stay in the thread's cache until it flushes; then they reach the store and whoever listens.

At a flush only the last value of a key is written. The old value that the listener is told is read from the store
beneath at that moment; a tombstone for a key the store does not know leaves no trace when somebody listens.

Iterators merge the cache with the store beneath (see ``merging``). Cached windows and sessions are in files of their
own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from headrace.errors import StoreError
from headrace.records import Change, Record
from headrace.state.bytes_stores import BytesKeyValueStore, Entries
from headrace.state.cache import NO_RECORD, CacheEntry, NamedCache, ThreadCache
from headrace.state.contracts import FlushListener, FlushReceiver, StateStore, StoreContext
from headrace.state.key_schemas import Matches
from headrace.state.layers.merging import Cached, Rank, merged, same
from headrace.state.layers.wrapped import S, Wrapped


class Caching(Wrapped[S], ABC):
    """What the cached stores have in common: the way into the cache and, at a flush, out of it."""

    _cache: NamedCache
    _thread_cache: ThreadCache | None = None
    _receive: FlushReceiver | None = None
    _send_old_values = False

    def init(self, context: StoreContext, root: StateStore | None = None) -> None:
        """Take a namespace in the thread's cache and open the store beneath."""
        self._thread_cache = context.cache
        self._cache = context.cache.namespace(f"{context.task_id}-{self.name}", self._on_flush)
        super().init(context, root)

    def set_flush_listener(self, listener: FlushListener, send_old_values: bool) -> bool:
        """Tell ``listener`` of every entry that is flushed, as ``Record(key bytes, Change(new bytes, old bytes))``."""
        return self.set_flush_receiver(
            lambda key, new, old, timestamp, headers: listener(Record(key, Change(new, old), timestamp, headers)),
            send_old_values,
        )

    def set_flush_receiver(self, receive: FlushReceiver, send_old_values: bool) -> bool:
        """The same in parts: ``receive(key, new, old, timestamp, headers)``, all in bytes."""
        self._receive = receive
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

    def get(self, key: bytes) -> bytes | None:
        """The value, from the cache or else from the store beneath."""
        entry = self._cache.get(self._cache_key(key))
        return self.inner.get(key) if entry is None else entry.value

    def get_flushed(self, key: bytes) -> bytes | None:
        """The value that was flushed last."""
        value = self.get(key)
        return self.inner.get(key) if self._is_news(self._cache_key(key), value) else value

    def _write(self, cache_key: bytes, value: bytes | None) -> None:
        entry = CacheEntry(value, self._context.record_context or NO_RECORD, dirty=True)
        self._threads().put(self._cache, cache_key, entry)

    def _threads(self) -> ThreadCache:
        if self._thread_cache is None:
            message = f"store {self.name} is closed"
            raise StoreError(message)
        return self._thread_cache

    def _merged(
        self,
        cache_keys: list[bytes],
        beneath: Entries,
        rank: Rank,
        forward: bool,
        matches: Matches | None = None,
        *,
        is_exact: bool = False,
    ) -> Entries:
        """The entries that the cache has as ``cache_keys`` now, those that match, and those of the store beneath."""
        if not cache_keys:
            return beneath
        return merged(self._read(cache_keys, matches), beneath, rank, forward, is_exact=is_exact)

    def _read(self, cache_keys: list[bytes], matches: Matches | None) -> Cached:
        """The values of the moment, of entries that were evicted meanwhile too: the store beneath shows older ones.

        Reading an entry is a use of it, whether it matches or not.
        """
        for cache_key in cache_keys:
            key, entry = self._store_key(cache_key), self._cache.get(cache_key)
            if matches is None or matches(key):
                yield key, CacheEntry(self.inner.get(key)) if entry is None else entry

    def _is_news(self, cache_key: bytes, value: bytes | None) -> bool:
        """Whether nobody has been told of the value yet, unless by the record that is processed now."""
        entry = self._cache.held_back(cache_key)
        if entry is None:
            return False
        current = self._context.record_context
        return value is None or current is None or entry.context.metadata != current.metadata

    def _on_flush(self, entries: Iterable[tuple[bytes, CacheEntry]]) -> None:
        context = self._context
        current = context.record_context
        try:
            for cache_key, entry in self._to_let_go(entries):
                self._let_go(cache_key, entry)
        finally:
            context.record_context = current

    def _to_let_go(self, entries: Iterable[tuple[bytes, CacheEntry]]) -> Iterable[tuple[bytes, CacheEntry]]:
        return entries

    def _let_go(self, cache_key: bytes, entry: CacheEntry) -> None:
        key, value, context, receive = self._store_key(cache_key), entry.value, entry.context, self._receive
        old = None
        if receive is not None and (value is None or self._send_old_values):
            old = self.inner.get(key)
            if value is None and old is None:
                return
        self._context.record_context = context
        self.inner.put(key, value)
        if receive is not None:
            receive(key, value, old if self._send_old_values else None, context.timestamp, context.headers)

    @abstractmethod
    def _cache_key(self, key: bytes) -> bytes:
        """Where the cache has what the store beneath has as ``key``."""

    @abstractmethod
    def _store_key(self, cache_key: bytes) -> bytes:
        """The key in the store beneath."""


class Flushed:
    """Reads single rows of a cached store as those who follow its changes know them. It is a use of them.

    A join of tables computes the change of its result from a change of one side and the row of the other side. It
    hears of rows when they are flushed, so that is how the other row has to be read. A later one in the cache will be
    heard of in its turn, or never, if it is deleted before. Only where one record has changed both sides their new rows
    meet at once, as in Kafka Streams.
    """

    def __init__(self, cached: Caching[Any]) -> None:
        self.get = cached.get_flushed


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
        for key, value in entries:
            self._write(key, value)

    def delete(self, key: bytes) -> bytes | None:
        current = self.get(key)
        self._write(key, None)
        return current

    def peek(self, key: bytes) -> bytes | None:
        """The value as ``get`` has it; that does not count as its use."""
        entry = self._cache.peek(key)
        return self.inner.get(key) if entry is None else entry.value

    def has_room(self, keys: Collection[bytes], size: int) -> bool:
        """Whether entries of that size can be written for ``keys``, over and over, without a flush."""
        return self._threads().has_room(self._cache, keys, size)

    def put_last(self, entries: Mapping[bytes, CacheEntry]) -> None:
        """Write the final value of each key, as if it had been read before. Only where ``has_room`` is True."""
        self._threads().put_last(self._cache, entries)

    def range(self, key_from: bytes | None, key_to: bytes | None, *, forward: bool = True) -> Entries:
        """The entries of both ends and between, cached or not."""
        beneath = self.inner.range(key_from, key_to, forward=forward)
        return self._merged(self._cache.keys(key_from, key_to, forward=forward), beneath, same, forward)

    def prefix_scan(self, prefix: bytes) -> Entries:
        beneath = self.inner.prefix_scan(prefix)
        return self._merged(self._cache.keys_with_prefix(prefix), beneath, same, True)

    def approximate_num_entries(self) -> int:
        return self.inner.approximate_num_entries()

    def _cache_key(self, key: bytes) -> bytes:
        return key

    def _store_key(self, cache_key: bytes) -> bytes:
        return cache_key
