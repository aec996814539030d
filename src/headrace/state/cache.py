"""The record cache: one budget of bytes per thread, shared by all its cached stores.

Each store has a namespace of its own. A write that exceeds the budget evicts entries of the store just written,
the least recently used first; evicting a dirty entry flushes all dirty entries of that store with it. Sizes are counted
as Kafka Streams counts them, so that the same budget evicts at the same moments.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from headrace.errors import InternalError
from headrace.records import RecordContext
from headrace.state.bytes_stores import next_prefix
from headrace.state.memory.sorted_map import SortedMap

_NODE_SIZE = 3 * 8
_DIRTY_FLAG_SIZE = 1
_TIMESTAMP_OFFSET_PARTITION_SIZE = 8 + 8 + 4
NO_RECORD = RecordContext(-1, -1, -1, "")
"""The context of an entry that was only read."""


@dataclass(slots=True, eq=False)
class CacheEntry:
    """A cached value and the record that wrote it; ``dirty`` until it reached the store beneath."""

    value: bytes | None
    context: RecordContext = NO_RECORD
    dirty: bool = False
    size: int = field(init=False)
    """Bytes counted for the entry, without its key."""

    def __post_init__(self) -> None:
        self.size = _DIRTY_FLAG_SIZE + len(self.value or b"") + context_size(self.context)


def context_size(context: RecordContext) -> int:
    """Bytes counted for the origin of a record."""
    size = _TIMESTAMP_OFFSET_PARTITION_SIZE + len(context.topic or "")
    for name, value in context.headers:
        size += len(name) + len(value or b"")
    return size


FlushEntries = Callable[[list[tuple[bytes, CacheEntry]]], None]
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

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: bytes) -> CacheEntry | None:
        """The entry, which thereby is the one used last."""
        entry = self._entries.get(key)
        if entry is not None:
            self._entries.move_to_end(key)
        return entry

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

    def delete(self, key: bytes) -> None:
        """Forget the entry."""
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
        self.size_bytes = 0

    def scan(
        self, first: bytes | None, last: bytes | None, *, forward: bool = True
    ) -> Iterator[tuple[bytes, CacheEntry]]:
        """The entries of both ends and between, in order of their keys. Reading one counts as its use."""
        return self._read(self._keys.keys(first, last, forward=forward))

    def scan_prefix(self, prefix: bytes) -> Iterator[tuple[bytes, CacheEntry]]:
        """The entries whose keys begin with ``prefix``, in order of their keys. Reading one counts as its use."""
        # No other key may be read, not even the first after the prefix: that would keep it in the cache.
        return self._read([key for key in self._keys.keys(prefix, next_prefix(prefix)) if key.startswith(prefix)])

    def _read(self, keys: list[bytes]) -> Iterator[tuple[bytes, CacheEntry]]:
        return ((key, entry) for key in keys if (entry := self.get(key)) is not None)

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
        deleted = [key for key in self._dirty if self._entries[key].value is None]
        for _, entry in entries:
            entry.dirty = False
        # Flushing may lead to new writes here, so nothing is dirty any more before it begins.
        self._dirty.clear()
        self.on_flush(entries)
        for key in deleted:
            self.delete(key)


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

    def flush(self, cache: NamedCache) -> None:
        """Flush the dirty entries of one cache."""
        before = cache.size_bytes
        cache.flush()
        self.size_bytes += cache.size_bytes - before

    def clear(self, cache: NamedCache) -> None:
        """Forget the entries of one cache."""
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
