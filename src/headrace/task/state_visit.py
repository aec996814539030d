"""A visit to the state of a task that is put down between batches: from taking it up at a version to letting it go."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path

from headrace.errors import IllegalStateError, StoreError
from headrace.state.rocksdb.failures import explained
from headrace.state.rocksdb.task_databases import TaskDatabases
from headrace.state.shared_memory import memory_directory
from headrace.state.version import Version, Visit
from headrace.task.checkpoint import FILE_NAME as CHECKPOINT
from headrace.task.checkpoint import TopicPartition, checkpoint_version, read_checkpoint, write_checkpoint
from headrace.task.context import TaskContext
from headrace.task.lock import TaskLock
from headrace.task.owner import claim
from headrace.task.putting_down import Kept, Opening, parse

log = logging.getLogger(__name__)


class StateVisit:
    """Holds the lock of the task's directory and the databases in it; a task that is never put down has neither."""

    def __init__(self, context: TaskContext) -> None:
        self.kept: Kept | None = None
        """What the task remembered when it was put down."""
        self._context = context
        self._lock: TaskLock | None = None
        self._base: Version | None = None
        self._positions: Mapping[TopicPartition, int] | None = None
        self._positions_known: Mapping[TopicPartition, int] = {}

    @property
    def databases(self) -> TaskDatabases:
        """Where the stores of a task that was opened for a visit keep their entries."""
        databases = self._context.databases
        if databases is None:
            raise IllegalStateError("the task was not opened for a visit", hint="Call open() instead of initialize().")
        return databases

    def lock(self, wait_seconds: float) -> None:
        """Lock the task's directory; a StoreError if another process holds it for longer than that."""
        with explained(self._context.state_path):
            self._lock = TaskLock(self._context.state_dir, wait_seconds)

    def open(self, visit: Visit, memory_dir: Path | None, chunk_bytes: int, state_id: str = "") -> None:
        """Get ready to open the stores as they were at ``visit.base``."""
        directory = self._context.state_path
        if state_id:
            claim(directory, state_id)
        positions_at, self._positions_known = _positions_in(directory)
        self._base = visit.base
        self._context.databases = TaskDatabases(
            directory,
            memory_dir or memory_directory(directory),
            visit,
            chunk_bytes=chunk_bytes,
            can_restore_from=lambda version: version == positions_at,
        )

    def take_up(self, kept: bytes | None, positions: Mapping[TopicPartition, int] | None) -> Opening:
        """Report how the opened stores were found. Without ``kept``, what was kept is read from the databases."""
        kept = self.databases.kept if kept is None else kept
        self.kept = None if kept is None else parse(kept)
        self._positions = positions
        return Opening(self.databases.stale, self._positions_known, self.kept is not None or self._base is None)

    def check_settled(self) -> None:
        """Raise where a store is not up to date yet; otherwise note the positions of the changelogs."""
        if self._context.databases is None:
            return
        stale = ", ".join(self._context.databases.stale)
        if stale:
            message = f"stores of the task {self._context.task_id} are not up to date: {stale}"
            raise IllegalStateError(message, hint="Call restore() for each of them, without entries if there are none.")
        if self._positions is not None:
            write_checkpoint(self._context.state_dir / CHECKPOINT, self._positions, at=self._base)

    def let_go(self) -> None:
        """Close the databases and release the lock, where there are any."""
        if self._context.databases is not None:
            self._context.databases.close()
            self._context.databases = None
        if self._lock is not None:
            self._lock.release()
            self._lock = None


def _positions_in(directory: Path) -> tuple[Version | None, dict[TopicPartition, int]]:
    path = directory / CHECKPOINT
    try:
        return checkpoint_version(path), read_checkpoint(path)
    except StoreError as error:
        # Torn or damaged: then nothing is known, and stores are restored from the start.
        log.warning("%s", error)
        return None, {}
