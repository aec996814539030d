"""The record cache: one budget of bytes per thread, shared by all its cached stores.

Each store has a namespace of its own. A write that exceeds the budget evicts entries of the store just written,
the least recently used first; evicting a dirty entry flushes all dirty entries of that store with it. Sizes are counted
as Kafka Streams counts them, so that the same budget evicts at the same moments.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping

from headrace.errors import InternalError
from headrace.records import RecordContext
from headrace.state.bytes_stores import next_prefix
from headrace.state.memory.sorted_map import SortedMap

_NODE_SIZE = 3 * 8
_DIRTY_FLAG_SIZE = 1
_TIMESTAMP_OFFSET_PARTITION_SIZE = 8 + 8 + 4
NO_RECORD = RecordContext(-1, -1, -1, "")
"""The context of an entry that was only read."""


class CacheEntry:
    """A cached value and the record that wrote it; ``dirty`` until it reached the store beneath."""

    __slots__ = ("context", "dirty", "size", "value")

    size: int
    """Bytes counted for the entry, without its key."""

    def __init__(
        self, value: bytes | None, context: RecordContext = NO_RECORD, dirty: bool = False, size: int | None = None
    ) -> None:
        self.value = value
        self.context = context
        self.dirty = dirty
        self.size = _DIRTY_FLAG_SIZE + len(value or b"") + context_size(context) if size is None else size


def entry_size(value_size: int, topic: str) -> int:
    """Bytes counted for an entry with a value of that size, written by a record of ``topic`` without headers."""
    return _DIRTY_FLAG_SIZE + value_size + _TIMESTAMP_OFFSET_PARTITION_SIZE + len(topic)


def context_size(context: RecordContext) -> int:
    """Bytes counted for the origin of a record."""
    _, _, _, topic, headers, _, _ = context
    size = _TIMESTAMP_OFFSET_PARTITION_SIZE + len(topic or "")
    for name, value in headers:
        size += len(name) + len(value or b"")
    return size


FlushEntries = Callable[[Iterable[tuple[bytes, CacheEntry]]], None]
"""Called with the dirty entries of a namespace, in the order they were last written."""


class NamedCache:
    """The cache of one store."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.on_flush: FlushEntries | None = None
        self.size_bytes = 0
        # From least to most recently used.
        self._entries: OrderedDict[bytes, CacheEntry] = OrderedDict()
        self._keys: SortedMap[bytes, bool] = SortedMap()
        self._dirty: dict[bytes, None] = {}
        # What a flush under way has yet to hand on. Should it be evicted meanwhile, it can still be read here.
        self._leaving: dict[bytes, CacheEntry] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: bytes) -> CacheEntry | None:
        """The entry, which thereby is the one used last."""
        entry = self._entries.get(key)
        if entry is None:
            return self._leaving.get(key)
        self._entries.move_to_end(key)
        return entry

    def peek(self, key: bytes) -> CacheEntry | None:
        """The entry; that does not count as its use."""
        return self._entries.get(key) or self._leaving.get(key)

    def growth(self, keys: Iterable[bytes], size: int) -> int | None:
        """By how many bytes the cache grows if the entries of ``keys`` have that size; None where one would shrink."""
        growth, entries = 0, self._entries
        for key in keys:
            before = entries.get(key)
            if before is None:
                growth += len(key) + _NODE_SIZE + size
            elif before.size <= size:
                growth += size - before.size
            else:
                return None
        return growth

    def can_forget(self, size: int, kept: Container[bytes]) -> bool:
        """Whether so many bytes can be evicted without a flush and without an entry of ``kept``."""
        for key, entry in self._entries.items():
            if size <= 0 or entry.dirty:
                break
            if key not in kept:
                size -= _size(key, entry)
        return size <= 0

    def put(self, key: bytes, entry: CacheEntry) -> None:
        """Set the entry. One that was only read never replaces one that is dirty."""
        if not entry.dirty and key in self._dirty:
            message = f"cache {self.name}: a clean entry would replace a dirty one"
            raise InternalError(message, detail=f"key {key!r}")
        before = self._entries.get(key)
        if before is not None:
            self.size_bytes -= _size(key, before)
        else:
            self._keys.put(key, True)
        self._entries[key] = entry
        self._entries.move_to_end(key)
        if entry.dirty:
            self._dirty.pop(key, None)
            self._dirty[key] = None
        self.size_bytes += _size(key, entry)

    def put_all(self, entries: Mapping[bytes, CacheEntry]) -> None:
        """Set dirty entries, in order."""
        held, dirty, grown = self._entries, self._dirty, 0
        for key, entry in entries.items():
            before = held.get(key)
            held[key] = entry
            if before is None:
                self._keys.put(key, True)
                grown += len(key) + _NODE_SIZE + entry.size
            else:
                held.move_to_end(key)
                dirty.pop(key, None)
                grown += entry.size - before.size
            dirty[key] = None
        self.size_bytes += grown

    def delete(self, key: bytes) -> None:
        entry = self._entries.pop(key, None)
        if entry is not None:
            self._keys.remove(key)
            self._dirty.pop(key, None)
            self.size_bytes -= _size(key, entry)

    def evict(self) -> None:
        """Forget the entry unused for longest; if it is dirty, flush, itself first."""
        if not self._entries:
            return
        key, entry = self._entries.popitem(last=False)
        self._keys.remove(key)
        self.size_bytes -= _size(key, entry)
        if entry.dirty:
            self._flush((key, entry))

    def flush(self) -> None:
        """Hand all dirty entries to the store."""
        self._flush(None)

    def clear(self) -> None:
        """Forget everything, dirty or not."""
        self._entries.clear()
        self._keys.clear()
        self._dirty.clear()
        self._leaving.clear()
        self.size_bytes = 0

    def held_back(self, key: bytes) -> CacheEntry | None:
        """The entry, if it has yet to be handed to the store."""
        return self._entries[key] if key in self._dirty else self._leaving.get(key)

    def first_key(self, least: bytes) -> bytes | None:
        """The first key that is not below ``least``; None where there is none."""
        found = self._keys.first(least)
        evicted = [key for key in self._leaving if key >= least]
        return found if not evicted else min(evicted) if found is None else min(found, *evicted)

    def keys(self, first: bytes | None, last: bytes | None, *, forward: bool = True) -> list[bytes]:
        """The keys of both ends and between, in order."""
        keys = self._keys.keys(first, last, forward=forward)
        evicted = [key for key in self._leaving if key not in self._entries]
        if not evicted:
            return keys
        keys += (key for key in evicted if (first is None or key >= first) and (last is None or key <= last))
        return sorted(keys, reverse=not forward)

    def keys_with_prefix(self, prefix: bytes) -> list[bytes]:
        """The keys that begin with ``prefix``, in order."""
        # Not even the first one after the prefix may be among them: who reads it would keep it in the cache.
        return [key for key in self.keys(prefix, next_prefix(prefix)) if key.startswith(prefix)]

    def _flush(self, evicted: tuple[bytes, CacheEntry] | None) -> None:
        if not self._dirty:
            return
        if self.on_flush is None:
            message = f"cache {self.name} has nobody to flush to"
            raise InternalError(message)
        entries = [] if evicted is None else [evicted]
        if evicted is not None:
            self._dirty.pop(evicted[0], None)
        entries += [(key, self._entries[key]) for key in self._dirty]
        leaving = self._leaving
        for key, entry in entries:
            entry.dirty = False
            leaving[key] = entry
        # Flushing may lead to new writes here, so nothing is dirty any more before it begins.
        self._dirty.clear()
        deleted = [(key, entry) for key, entry in entries if entry.value is None]
        try:
            self.on_flush(self._leave(entries))
        except BaseException:
            for _ in self._leave(entries):
                pass
            raise
        for key, entry in deleted:
            # A new value may have come meanwhile.
            if self._entries.get(key) is entry:
                self.delete(key)

    def _leave(self, entries: list[tuple[bytes, CacheEntry]]) -> Iterator[tuple[bytes, CacheEntry]]:
        leaving = self._leaving
        for item in entries:
            # Where a later value has left already, in a flush during this one, it must not be overwritten.
            if leaving.get(item[0]) is item[1]:
                del leaving[item[0]]
                yield item


class ThreadCache:
    """The caches of all stores of a thread, within one budget."""

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self.size_bytes = 0
        self._caches: dict[str, NamedCache] = {}

    def namespace(self, name: str, on_flush: FlushEntries) -> NamedCache:
        """The cache called ``name``, made if there is none; ``on_flush`` gets its dirty entries from now on."""
        cache = self._caches.setdefault(name, NamedCache(name))
        cache.on_flush = on_flush
        return cache

    def put(self, cache: NamedCache, key: bytes, entry: CacheEntry) -> None:
        """Set an entry; evict from the same cache while the budget is exceeded."""
        before = cache.size_bytes
        cache.put(key, entry)
        self.size_bytes += cache.size_bytes - before
        while self.size_bytes > self.max_bytes and len(cache):
            self._evict(cache)

    def has_room(self, cache: NamedCache, keys: Collection[bytes], size: int) -> bool:
        """Whether entries of that size can be written for ``keys``, over and over, without a flush.

        While nothing shrinks the cache holds, at any moment, what was used last, as much as fits. A dirty entry is let
        go only when it and what was used after it exceed the budget, and that is never more than it is at the end.
        """
        growth = cache.growth(keys, size)
        return growth is not None and cache.can_forget(self.size_bytes + growth - self.max_bytes, keys)

    def put_last(self, cache: NamedCache, entries: Mapping[bytes, CacheEntry]) -> None:
        """Write each key's final value, in the order of the last writes; call it only after ``has_room`` said True.

        A clean entry that some write in between would have let go, and a later one read again, is in the store beneath
        as it is here.
        """
        before = cache.size_bytes
        cache.put_all(entries)
        self.size_bytes += cache.size_bytes - before
        while self.size_bytes > self.max_bytes and len(cache):
            self._evict(cache)

    def flush(self, cache: NamedCache) -> None:
        """Flush the dirty entries of one cache."""
        before = cache.size_bytes
        cache.flush()
        self.size_bytes += cache.size_bytes - before

    def clear(self, cache: NamedCache) -> None:
        self.size_bytes -= cache.size_bytes
        cache.clear()
        if not any(map(len, self._caches.values())):
            # What is written to a cache while one of its entries is let go is counted twice.
            self.size_bytes = 0

    def close(self, cache: NamedCache) -> None:
        """Give the cache up."""
        self._caches.pop(cache.name, None)
        self.clear(cache)

    def _evict(self, cache: NamedCache) -> None:
        before = cache.size_bytes
        cache.evict()
        self.size_bytes += cache.size_bytes - before


def _size(key: bytes, entry: CacheEntry) -> int:
    return len(key) + _NODE_SIZE + entry.size
