"""The key-value store in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from headrace.records import NO_HEADERS, Headers
from headrace.state.bytes_stores import Entries, KeyValueWrites, next_prefix
from headrace.state.contracts import StoreIterator
from headrace.state.memory.sorted_map import SortedMap
from headrace.state.memory.store import MemoryStore
from headrace.state.rocksdb.database import Database

if TYPE_CHECKING:
    from headrace.state.rocksdb.visits import VisitedDatabase


class InMemoryKeyValueStore(MemoryStore, KeyValueWrites):
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

    def range(self, key_from: bytes | None, key_to: bytes | None, *, forward: bool = True) -> Entries:
        """The entries of both ends and between."""
        return StoreIterator(self._map.items(key_from, key_to, forward=forward))

    def prefix_scan(self, prefix: bytes) -> Entries:
        entries = self._map.items(prefix, next_prefix(prefix))
        return StoreIterator(entry for entry in entries if entry[0].startswith(prefix))

    def approximate_num_entries(self) -> int:
        """How many entries there are; exact here."""
        return len(self._map)

    def _load(self, home: VisitedDatabase) -> None:
        self._map = self._entries = StoredMap(home)
        self.get = home.get

    def _save(self, home: VisitedDatabase) -> None:
        """Everything is there already."""


class StoredMap:
    """The entries in the database that they are saved to: it has the face of a ``SortedMap``."""

    remembered = ("_count",)

    def __init__(self, database: Database) -> None:
        self._database = database
        self._count = 0
        self.entries = self
        self.get: Callable[[bytes], bytes | None] = database.get
        """``get(key)``: its value or None."""

    def __len__(self) -> int:
        return self._count

    def __contains__(self, key: bytes) -> bool:
        return self.get(key) is not None

    def __setitem__(self, key: bytes, value: bytes) -> None:
        self._database.put(key, value)

    def put(self, key: bytes, value: bytes) -> None:
        if key not in self:
            self._count += 1
        self._database.put(key, value)

    def remove(self, key: bytes) -> bytes | None:
        value = self.get(key)
        if value is not None:
            self._count -= 1
            self._database.put(key, None)
        return value

    def clear(self) -> None:
        """Let go of the entries, which stay in the database."""

    def items(self, first: bytes | None, last: bytes | None, *, forward: bool = True) -> Iterator[tuple[bytes, bytes]]:
        """Keys and values in order; a value is read when its turn comes, keys removed by then are left out."""
        end = None if last is None else last + b"\0"
        for key, _ in self._database.scan(first or b"", end, reverse=not forward):
            value = self.get(key)
            if value is not None:
                yield key, value
