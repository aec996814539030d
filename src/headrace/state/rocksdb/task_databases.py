"""All databases of one task, visit by visit.

Stores in RocksDB lie in the task's directory. Stores in memory lie in shared memory between visits, in the same
layout: they are as fast as memory, and gone when the machine is.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from rocksdict import Options

from headrace.failpoints import reach
from headrace.state.rocksdb.database import raw_options
from headrace.state.rocksdb.failures import explained
from headrace.state.rocksdb.visits import CHUNK_BYTES, VisitedDatabase
from headrace.state.version import Version, Visit

FAILPOINTS = (
    "state.before-chunk",
    "state.after-chunk",
    "state.before-version",
    "state.after-version",
    "state.between-stores",
    "state.after-undo",
    "state.after-forget",
)
"""Where tests end the process: in the order of a commit, then while a database is opened."""


class TaskDatabases:
    """Opens the databases of a task's stores for a visit, and ends the visit for all of them."""

    def __init__(
        self,
        directory: Path,
        memory: Path,
        visit: Visit,
        *,
        chunk_bytes: int = CHUNK_BYTES,
        can_restore_from: Callable[[Version], bool] = lambda version: True,
        positions: Mapping[tuple[str, int], int] | None = None,
    ) -> None:
        self._can_restore_from = can_restore_from
        self._positions = positions
        self._directory = directory
        self._memory = memory
        self._visit = visit
        self._chunk_bytes = chunk_bytes
        self._databases: dict[str, VisitedDatabase] = {}

    def open(self, name: str, options: Options) -> VisitedDatabase:
        """The database of a persistent store."""
        return self._open(name, self._directory / "rocksdb" / name, options)

    def open_in_memory(self, name: str) -> VisitedDatabase:
        """The database that a store in memory is saved to."""
        # The name of such a store may hold characters that no file name may have.
        file_name = hashlib.sha256(name.encode()).hexdigest()[:32]
        return self._open(name, self._memory / file_name, raw_options())

    @property
    def stale(self) -> dict[str, Version | None]:
        """The stores that are not at the visit's base, each with the version it is at; None where it is empty."""
        return {name: database.found for name, database in self._databases.items() if database.is_stale}

    def found_positions(self, name: str) -> Mapping[tuple[str, int], int]:
        """Up to where changelogs were applied at the version that a stale store is at, where its database knows."""
        return self._databases[name].found_positions

    def settle(self, name: str) -> None:
        """The store has been restored."""
        database = self._databases.get(name)
        if database is not None and database.is_stale:
            database.settle()

    def commit(self) -> None:
        """End the visit: everything written is at its target from now on."""
        for database in self._databases.values():
            database.commit()
            reach("state.between-stores")

    def begin(self, visit: Visit, positions: Mapping[tuple[str, int], int] | None = None) -> None:
        """Go on with a visit that starts where the last one ended."""
        for database in self._databases.values():
            database.begin(visit, positions)

    def close(self) -> None:
        for database in self._databases.values():
            database.close()
        self._databases.clear()

    def _open(self, name: str, path: Path, options: Options) -> VisitedDatabase:
        if name in self._visit.anew:
            with explained(path), suppress(FileNotFoundError):
                shutil.rmtree(path)
        database = VisitedDatabase(
            path,
            options,
            self._visit,
            chunk_bytes=self._chunk_bytes,
            can_restore_from=self._can_restore_from,
            positions=self._positions,
        )
        self._databases[name] = database
        return database
