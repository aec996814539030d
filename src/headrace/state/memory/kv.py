"""The key-value store in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from headrace.records import NO_HEADERS, Headers
from headrace.state.bytes_stores import Entries, next_prefix
from headrace.state.contracts import StoreIterator
from headrace.state.memory.sorted_map import SortedMap
from headrace.state.memory.store import MemoryStore
from headrace.state.memory.stored_map import StoredMap

if TYPE_CHECKING:
    from headrace.state.rocksdb.visits import VisitedDatabase


class InMemoryKeyValueStore(MemoryStore):
    """Bytes in a dict. Iterators show the keys there were when they were made, with their values of the moment."""

    remembered = ("_map",)

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._map: SortedMap[bytes, bytes] | StoredMap = SortedMap()
        # A read, or a new value for a known key, costs nothing more than the dict.
        self._entries: dict[bytes, bytes] | StoredMap = self._map.entries
        self.get: Callable[[bytes], bytes | None] = self._entries.get

    def close(self) -> None:
        self._map.clear()
        super().close()

    def restore(self, key: bytes, value: bytes | None, timestamp: int, headers: Headers = NO_HEADERS) -> None:
        self.put(key, self.codec.from_changelog(value, timestamp, headers))

    def put(self, key: bytes, value: bytes | None) -> None:
        if value is None:
            self._map.remove(key)
        elif key in self._entries:
            self._entries[key] = value
        else:
            self._map.put(key, value)

    def put_if_absent(self, key: bytes, value: bytes | None) -> bytes | None:
        current = self.get(key)
        if current is None:
            self.put(key, value)
        return current

    def put_all(self, entries: Iterable[tuple[bytes, bytes | None]]) -> None:
        for key, value in entries:
            self.put(key, value)

    def delete(self, key: bytes) -> bytes | None:
        return self._map.remove(key)

    def range(self, key_from: bytes | None, key_to: bytes | None, *, forward: bool = True) -> Entries:
        """The entries of both ends and between."""
        return StoreIterator(self._map.items(key_from, key_to, forward=forward))

    def prefix_scan(self, prefix: bytes) -> Entries:
        entries = self._map.items(prefix, next_prefix(prefix))
        return StoreIterator(entry for entry in entries if entry[0].startswith(prefix))

    def approximate_num_entries(self) -> int:
        """How many entries there are; exact here."""
        return len(self._map)

    def _take_up(self, home: VisitedDatabase) -> None:
        self._map = self._entries = StoredMap(home)
        self.get = home.get

    def _put_down(self, home: VisitedDatabase) -> None:
        """Everything is there already."""
