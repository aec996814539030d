"""The key-value store in RocksDB."""

from __future__ import annotations

from collections.abc import Iterable

from headrace.errors import StoreError
from headrace.records import NO_HEADERS, Headers
from headrace.state.bytes_stores import KeyValues, next_prefix
from headrace.state.contracts import StateStore, StoreContext, StoreIterator
from headrace.state.rocksdb.database import Database
from headrace.state.value_codecs import PLAIN, ValueCodec


class RocksDBStore:
    """Bytes in a RocksDB database. Iterators show the store as it was when they were made."""

    persistent = True

    def __init__(self, name: str) -> None:
        self.name = name
        self.codec: ValueCodec = PLAIN
        self._database: Database | None = None

    @property
    def is_open(self) -> bool:
        """Whether the store can be used."""
        return self._database is not None

    def init(self, context: StoreContext, root: StateStore | None = None) -> None:
        """Open the database."""
        self._database = Database.open(self.name, context)
        context.register(root or self, self.restore)

    def flush_cache(self) -> None:
        """Nothing is cached."""

    def flush(self) -> None:
        """Hand what was written to RocksDB's files."""
        self._open().flush()

    def close(self) -> None:
        """Close the database and its iterators."""
        if self._database is not None:
            self._database.close()
            self._database = None

    def restore(self, key: bytes, value: bytes | None, timestamp: int, headers: Headers = NO_HEADERS) -> None:
        """Apply one record of the changelog."""
        self.put(key, self.codec.from_changelog(value, timestamp, headers))

    def get(self, key: bytes) -> bytes | None:
        """The value of ``key``."""
        if self._database is None:
            raise _closed(self.name)
        return self._database.get(key)

    def put(self, key: bytes, value: bytes | None) -> None:
        """Set the value; None deletes."""
        if self._database is None:
            raise _closed(self.name)
        self._database.put(key, value)

    def put_if_absent(self, key: bytes, value: bytes | None) -> bytes | None:
        """Set the value unless there is one, which is returned."""
        current = self.get(key)
        if current is None and value is not None:
            self.put(key, value)
        return current

    def put_all(self, entries: Iterable[tuple[bytes, bytes | None]]) -> None:
        """Set several values."""
        for key, value in entries:
            self.put(key, value)

    def delete(self, key: bytes) -> bytes | None:
        """Delete; returns the value there was."""
        current = self.get(key)
        self.put(key, None)
        return current

    def range(self, key_from: bytes | None, key_to: bytes | None, *, forward: bool = True) -> KeyValues:
        """The entries of both ends and between."""
        return self._scan(key_from or b"", None if key_to is None else key_to + b"\0", forward)

    def prefix_scan(self, prefix: bytes) -> KeyValues:
        """The entries whose keys begin with ``prefix``."""
        return self._scan(prefix, next_prefix(prefix), True)

    def approximate_num_entries(self) -> int:
        """RocksDB's estimate."""
        return self._open().approximate_num_entries()

    def _scan(self, start: bytes, end: bytes | None, forward: bool) -> KeyValues:
        scan = self._open().scan(start, end, reverse=not forward)
        return StoreIterator(scan, scan.close)

    def _open(self) -> Database:
        if self._database is None:
            raise _closed(self.name)
        return self._database


def _closed(name: str) -> StoreError:
    return StoreError(f"store {name} is closed")
