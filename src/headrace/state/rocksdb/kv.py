"""The key-value store in RocksDB."""

from __future__ import annotations

from collections.abc import Iterable

from headrace.records import NO_HEADERS, Headers
from headrace.state.bytes_stores import Entries, next_prefix
from headrace.state.contracts import StateStore, StoreContext, StoreIterator
from headrace.state.rocksdb.database import Database
from headrace.state.rocksdb.store import DatabaseStore
from headrace.state.value_codecs import PLAIN, ValueCodec


class RocksDBStore(DatabaseStore):
    """Bytes in a RocksDB database. Iterators show the store as it was when they were made."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.codec: ValueCodec = PLAIN

    def init(self, context: StoreContext, root: StateStore | None = None) -> None:
        self._database = Database.open(self.name, context)
        context.register(root or self, self.restore)

    def restore(self, key: bytes, value: bytes | None, timestamp: int, headers: Headers = NO_HEADERS) -> None:
        self.put(key, self.codec.from_changelog(value, timestamp, headers))

    def get(self, key: bytes) -> bytes | None:
        return (self._database or self._open_database()).get(key)

    def put(self, key: bytes, value: bytes | None) -> None:
        (self._database or self._open_database()).put(key, value)

    def put_if_absent(self, key: bytes, value: bytes | None) -> bytes | None:
        current = self.get(key)
        if current is None and value is not None:
            self.put(key, value)
        return current

    def put_all(self, entries: Iterable[tuple[bytes, bytes | None]]) -> None:
        for key, value in entries:
            self.put(key, value)

    def delete(self, key: bytes) -> bytes | None:
        current = self.get(key)
        self.put(key, None)
        return current

    def range(self, key_from: bytes | None, key_to: bytes | None, *, forward: bool = True) -> Entries:
        """The entries of both ends and between."""
        return self._scan(key_from or b"", None if key_to is None else key_to + b"\0", forward)

    def prefix_scan(self, prefix: bytes) -> Entries:
        return self._scan(prefix, next_prefix(prefix), True)

    def approximate_num_entries(self) -> int:
        return self._open_database().approximate_num_entries()

    def _scan(self, start: bytes, end: bytes | None, forward: bool) -> Entries:
        scan = self._open_database().scan(start, end, reverse=not forward)
        return StoreIterator(scan, scan.close)
