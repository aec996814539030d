"""The caching layer of key-value stores."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from headrace.state.bytes_stores import BytesKeyValueStore, Entries
from headrace.state.cache import CacheEntry
from headrace.state.layers.caching import Caching
from headrace.state.layers.merging import same


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
        cached = self._cache.scan(key_from, key_to, forward=forward)
        return self._merged(cached, beneath, same, forward)

    def prefix_scan(self, prefix: bytes) -> Entries:
        beneath = self.inner.prefix_scan(prefix)
        return self._merged(self._cache.scan_prefix(prefix), beneath, same, True)

    def approximate_num_entries(self) -> int:
        return self.inner.approximate_num_entries()

    def _cache_key(self, key: bytes) -> bytes:
        return key

    def _store_key(self, cache_key: bytes) -> bytes:
        return cache_key
