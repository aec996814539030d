"""What the stores in RocksDB share: a database of their own, open from ``init`` to ``close``; and key-value stores."""

from __future__ import annotations

from headrace.errors import StoreError
from headrace.records import NO_HEADERS, Headers
from headrace.state.bytes_stores import Entries, KeyValueWrites, next_prefix
from headrace.state.contracts import StateStore, StoreContext, StoreIterator
from headrace.state.rocksdb.database import Database
from headrace.state.value_codecs import PLAIN, ValueCodec


class DatabaseStore:
    """A store in a RocksDB database below the task's directory. Its ``init`` opens the database."""

    persistent = True

    def __init__(self, name: str) -> None:
        self.name = name
        self._database: Database | None = None

    @property
    def is_open(self) -> bool:
        return self._database is not None

    def flush_cache(self) -> None:
        """Nothing is cached."""

    def flush(self) -> None:
        """Hand what was written to RocksDB's files."""
        self._open_database().flush()

    def close(self) -> None:
        if self._database is not None:
            self._database.close()
            self._database = None

    def _open_database(self) -> Database:
        if self._database is None:
            message = f"store {self.name} is closed"
            raise StoreError(message)
        return self._database


class RocksDBStore(DatabaseStore, KeyValueWrites):
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
