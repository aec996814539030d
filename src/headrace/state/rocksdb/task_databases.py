"""All databases of one task for one visit, and the file with what else the task keeps.

Stores in RocksDB lie in the task's directory. Stores in memory lie in shared memory between visits, in the same
layout: they are as fast as memory, and gone when the machine is.
"""

from __future__ import annotations

import hashlib
import shutil
import zlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from rocksdict import Options

from headrace.failpoints import reach
from headrace.state.rocksdb.database import raw_options
from headrace.state.rocksdb.failures import explained
from headrace.state.rocksdb.visits import CHUNK_BYTES, VisitedDatabase
from headrace.state.version import Version, Visit

FAILPOINTS = (
    "state.before-kept",
    "state.after-kept",
    "state.before-chunk",
    "state.after-chunk",
    "state.before-version",
    "state.after-version",
    "state.between-stores",
    "state.after-undo",
    "state.after-forget",
)
"""Where tests end the process: in the order of a commit, then while a database is opened."""

_KEPT = "kept-"


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
    ) -> None:
        self._can_restore_from = can_restore_from
        self._directory = directory
        self._memory = memory
        self._visit = visit
        self._chunk_bytes = chunk_bytes
        self._databases: dict[str, VisitedDatabase] = {}

    def open(self, name: str, options: Options) -> VisitedDatabase:
        """The database of a persistent store."""
        return self._open(name, self._directory / "rocksdb" / name, options)

    def open_in_memory(self, name: str) -> VisitedDatabase:
        """The database that a store in memory is put down in."""
        # The name of such a store may hold characters that no file name may have.
        file_name = hashlib.sha256(name.encode()).hexdigest()[:32]
        return self._open(name, self._memory / file_name, raw_options())

    @property
    def stale(self) -> dict[str, Version | None]:
        """The stores that are not at the visit's base, each with the version it is at; None where it is empty."""
        return {name: database.found for name, database in self._databases.items() if database.is_stale}

    def settle(self, name: str) -> None:
        """The store has been restored."""
        database = self._databases.get(name)
        if database is not None and database.is_stale:
            database.settle()

    @property
    def kept(self) -> bytes | None:
        """What was kept at the visit's base; None where there is nothing, or not the whole of it."""
        if self._visit.base is None:
            return None
        try:
            data = self._kept_path(self._visit.base).read_bytes()
        except FileNotFoundError:
            return None
        kept = data[4:]
        return kept if data[:4] == zlib.crc32(kept).to_bytes(4, "big") else None

    def commit(self, kept: bytes) -> None:
        """End the visit: everything written is at its target from now on."""
        reach("state.before-kept")
        self._write_kept(kept)
        reach("state.after-kept")
        for database in self._databases.values():
            database.commit()
            reach("state.between-stores")

    def begin(self, visit: Visit) -> None:
        """Go on with a visit that starts where the last one ended."""
        self._visit = visit
        for database in self._databases.values():
            database.begin(visit)

    def close(self) -> None:
        for database in self._databases.values():
            database.close()
        self._databases.clear()

    def _open(self, name: str, path: Path, options: Options) -> VisitedDatabase:
        if name in self._visit.anew:
            with explained(path), suppress(FileNotFoundError):
                shutil.rmtree(path)
        database = VisitedDatabase(
            path, options, self._visit, chunk_bytes=self._chunk_bytes, can_restore_from=self._can_restore_from
        )
        self._databases[name] = database
        return database

    def _kept_path(self, version: Version) -> Path:
        return self._directory / f"{_KEPT}{version.batch}-{version.level}"

    def _write_kept(self, kept: bytes) -> None:
        needed = self._batches()
        for old in self._directory.glob(_KEPT + "*"):
            if needed is not None and _batch_of(old) not in needed:
                old.unlink()
        path = self._kept_path(self._visit.target)
        draft = path.with_name("draft")
        with explained(path, len(kept)):
            draft.write_bytes(zlib.crc32(kept).to_bytes(4, "big") + kept)
            draft.replace(path)

    def _batches(self) -> set[int] | None:
        """The batches that the visit may have to undo; None where that is not known, in the second visit of a batch."""
        base, target = self._visit.base, self._visit.target
        if base is not None and base.batch == target.batch:
            return None
        return {target.batch} if base is None else {base.batch, target.batch}


def _batch_of(path: Path) -> int:
    return int(path.name.removeprefix(_KEPT).split("-")[0])
