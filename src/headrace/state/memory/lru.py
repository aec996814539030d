"""A key-value store in memory that keeps only the entries used last."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator

from headrace.records import NO_HEADERS, Headers
from headrace.state.bytes_stores import KeyValues
from headrace.state.contracts import StateStore, StoreContext, StoreIterator
from headrace.state.value_codecs import PLAIN, ValueCodec


class LRUStore:
    """At most ``max_entries`` entries; a put beyond that evicts the one unused for longest.

    ``on_evict`` is told the key, so that the changelog forgets it as well; not while the store is being restored.
    Iterators show the entries there were when they were made, and using one counts as no use of its entries.
    """

    persistent = False

    def __init__(self, name: str, max_entries: int) -> None:
        self.name = name
        self.is_open = True
        self.codec: ValueCodec = PLAIN
        self.on_evict: Callable[[bytes], None] | None = None
        self._max_entries = max_entries
        self._entries: OrderedDict[bytes, bytes] = OrderedDict()

    def init(self, context: StoreContext, root: StateStore | None = None) -> None:
        """Make the store known to its task."""
        context.register(root or self, self.restore)

    def flush_cache(self) -> None:
        """Nothing is cached."""

    def flush(self) -> None:
        """Nothing to write."""

    def close(self) -> None:
        """Close the store."""
        self.is_open = False

    def restore(self, key: bytes, value: bytes | None, timestamp: int, headers: Headers = NO_HEADERS) -> None:
        """Apply one record of the changelog."""
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
        return value

    def put(self, key: bytes, value: bytes | None) -> None:
        """Set the value; None deletes."""
        if value is None:
            self._entries.pop(key, None)
            return
        self._entries[key] = value
        self._entries.move_to_end(key)
        if len(self._entries) > self._max_entries:
            self._evict()

    def put_if_absent(self, key: bytes, value: bytes | None) -> bytes | None:
        """Set the value unless there is one, which is returned."""
        current = self.get(key)
        if current is None:
            self.put(key, value)
        return current

    def put_all(self, entries: Iterable[tuple[bytes, bytes | None]]) -> None:
        """Set several values."""
        for key, value in entries:
            self.put(key, value)

    def delete(self, key: bytes) -> bytes | None:
        """Delete; returns the value there was."""
        return self._entries.pop(key, None)

    def range(self, key_from: bytes | None, key_to: bytes | None, *, forward: bool = True) -> KeyValues:
        """The entries of both ends and between."""
        found = [
            entry
            for entry in self._entries.items()
            if (key_from is None or entry[0] >= key_from) and (key_to is None or entry[0] <= key_to)
        ]
        return StoreIterator(self._in_order(found, forward))

    def prefix_scan(self, prefix: bytes) -> KeyValues:
        """The entries whose keys begin with ``prefix``."""
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
        self._entries.pop(eldest, None)
