"""A key-value store in memory that keeps only the entries used last."""

from __future__ import annotations

import struct
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from headrace.records import NO_HEADERS, Headers
from headrace.state.bytes_stores import Entries, KeyValueWrites
from headrace.state.contracts import StoreIterator
from headrace.state.memory.store import MemoryStore

if TYPE_CHECKING:
    from headrace.state.rocksdb.visits import VisitedDatabase

_USE = struct.Struct(">Q")


class LRUStore(MemoryStore, KeyValueWrites):
    """At most ``max_entries`` entries; a put beyond that evicts the one unused for longest.

    ``on_evict`` is told the key, so that the changelog forgets it as well; not while the store is being restored.
    Iterators show the entries that were there when they were made; reading from one does not count as use.
    """

    def __init__(self, name: str, max_entries: int) -> None:
        super().__init__(name)
        self.is_open = True
        self.on_evict: Callable[[bytes], None] | None = None
        self._max_entries = max_entries
        self._entries: OrderedDict[bytes, bytes] = OrderedDict()
        # The keys used since the store was saved, the last one last; and how many uses were saved so far.
        self._used: dict[bytes, None] = {}
        self._uses = 0

    def restore(self, key: bytes, value: bytes | None, timestamp: int, headers: Headers = NO_HEADERS) -> None:
        listener, self.on_evict = self.on_evict, None
        try:
            self.put(key, self.codec.from_changelog(value, timestamp, headers))
        finally:
            self.on_evict = listener

    def get(self, key: bytes) -> bytes | None:
        """The value, which thereby is the one used last."""
        value = self._entries.get(key)
        if value is not None:
            self._entries.move_to_end(key)
            self._note(key)
        return value

    def put(self, key: bytes, value: bytes | None) -> None:
        self._note(key)
        if value is None:
            self._entries.pop(key, None)
            return
        self._entries[key] = value
        self._entries.move_to_end(key)
        if len(self._entries) > self._max_entries:
            self._evict()

    def range(self, key_from: bytes | None, key_to: bytes | None, *, forward: bool = True) -> Entries:
        """The entries of both ends and between."""
        found = [
            entry
            for entry in self._entries.items()
            if (key_from is None or entry[0] >= key_from) and (key_to is None or entry[0] <= key_to)
        ]
        return StoreIterator(self._in_order(found, forward))

    def prefix_scan(self, prefix: bytes) -> Entries:
        return StoreIterator(self._in_order([e for e in self._entries.items() if e[0].startswith(prefix)], True))

    def approximate_num_entries(self) -> int:
        """How many entries there are; exact here."""
        return len(self._entries)

    @staticmethod
    def _in_order(found: list[tuple[bytes, bytes]], forward: bool) -> Iterator[tuple[bytes, bytes]]:
        return iter(sorted(found, reverse=not forward))

    def _evict(self) -> None:
        eldest = next(iter(self._entries))
        if self.on_evict is not None:
            self.on_evict(eldest)
        self._note(eldest)
        self._entries.pop(eldest, None)

    def _note(self, key: bytes) -> None:
        if self._home is not None:
            self._used.pop(key, None)
            self._used[key] = None

    def _load(self, home: VisitedDatabase) -> None:
        """The entries, each with the number of its last use, give the order."""
        held = sorted((value[: _USE.size], key, value[_USE.size :]) for key, value in home.scan())
        self._entries.update((key, value) for _, key, value in held)
        self._uses = _USE.unpack(held[-1][0])[0] if held else 0

    def _save(self, home: VisitedDatabase) -> None:
        for key in self._used:
            value = self._entries.get(key)
            self._uses += value is not None
            home.put(key, None if value is None else _USE.pack(self._uses) + value)
        self._used.clear()
