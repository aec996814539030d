"""What the stores in RocksDB share: a database of their own, open from ``init`` to ``close``."""

from __future__ import annotations

from headrace.errors import StoreError
from headrace.state.rocksdb.database import Database


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
