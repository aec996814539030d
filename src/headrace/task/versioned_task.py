"""A task whose state has versions: it is opened at one and each commit makes the next, here or in another process.

That is what lets a task move, be tried again, or be abandoned in the middle. The task inside lives as any other.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from headrace.errors import IllegalStateError, StoreError, in_short
from headrace.records import OffsetAndMetadata, TopicPartition
from headrace.state.rocksdb.failures import explained
from headrace.state.rocksdb.task_databases import TaskDatabases
from headrace.state.rocksdb.visits import CHUNK_BYTES
from headrace.state.shared_memory import memory_directory
from headrace.state.version import Version, Visit
from headrace.task.checkpoint import FILE_NAME as CHECKPOINT
from headrace.task.checkpoint import checkpoint_version, read_checkpoint, write_checkpoint
from headrace.task.lock import TaskLock
from headrace.task.owner import claim
from headrace.task.snapshot import TaskSnapshot, dump, parse
from headrace.task.state_registry import ChangelogEntry
from headrace.task.stream_task import StreamTask

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Opening:
    """How a task's state was found."""

    stale: Mapping[str, Version | None]
    """The stores to restore before ``start``, with the committed version each is at; None where it is empty."""
    positions: Mapping[TopicPartition, int]
    """Up to where changelogs were applied at those versions: the offsets to go on from. Empty stores need it all."""


class Commit(NamedTuple):
    """What a version ends with: the offsets to commit, and what the task remembers, for the next ``open``."""

    offsets: dict[TopicPartition, OffsetAndMetadata]
    snapshot: bytes


class VersionedTask:
    """Holds the lock of the task's directory and the databases in it, from ``open`` to ``close`` or ``abandon``."""

    def __init__(self, task: StreamTask) -> None:
        self.task = task
        self._context = task.context
        self._lock: TaskLock | None = None
        self._base: Version | None = None
        self._snapshot: TaskSnapshot | None = None
        self._positions: Mapping[TopicPartition, int] | None = None

    def open(
        self,
        visit: Visit,
        *,
        positions: Mapping[TopicPartition, int] | None = None,
        snapshot: bytes | None = None,
        chunk_bytes: int = CHUNK_BYTES,
        wait_seconds: float = 0,
        check: Callable[[], None] | None = None,
        state_id: str = "",
    ) -> Opening:
        """Open the stores as they were at ``visit.base``. Those that are missing have to be restored before ``start``.

        ``positions`` are the ends of the changelogs at that version, if it is a committed one; ``snapshot`` is what
        ``commit`` gave back then; without it the task starts as after a restart in Kafka Streams. A task that another
        process works on, and for longer than ``wait_seconds``, is a StoreError. ``check`` is called when no other
        process can work on it any more and before anything is changed; what it raises ends the visit. State that
        carries another ``state_id`` is another application's, and removed.
        """
        with explained(self._context.state_path):
            self._lock = TaskLock(self._context.state_dir, wait_seconds)
        try:
            if check is not None:
                check()
            known = self._open_databases(visit, chunk_bytes, state_id, positions)
            self.task.initialize()
        except BaseException:
            self.abandon()
            raise
        self._snapshot = None if snapshot is None else parse(snapshot)
        self._positions = positions
        stale = self._databases.stale
        found = {**known, **dict(self._found_positions(stale))}
        return Opening(stale, found)

    def restore(self, store: str, entries: Iterable[ChangelogEntry]) -> int:
        """Apply changelog records to a store; returns how many. One that was stale is up to date after that."""
        count = self.task.restore(store, entries)
        self.task.registry.store(store).flush()
        self._databases.settle(store)
        return count

    def start(
        self,
        committed: Mapping[TopicPartition, OffsetAndMetadata] | None = None,
        *,
        punctuated_nodes: Collection[str] | None = None,
    ) -> None:
        """Start the task where it was; an IllegalStateError while a store is not up to date."""
        self._check_settled()
        if self._positions is not None:
            write_checkpoint(self._context.state_dir / CHECKPOINT, self._positions, at=self._base)
        self.task.start(committed, self._snapshot, punctuated_nodes=punctuated_nodes)

    def go_on(
        self,
        visit: Visit,
        *,
        positions: Mapping[TopicPartition, int] | None = None,
        punctuated_nodes: Collection[str] | None = None,
    ) -> None:
        """Begin the next visit, from the version that the last one ended with; ``positions`` as for ``open``."""
        self.task.go_on(punctuated_nodes)
        # The databases note the positions themselves: a file for each task and batch would cost more than they do.
        self._databases.begin(visit, positions)

    def commit(self) -> Commit:
        """Everything done since the visit began becomes its version ``target``. Caches are empty then."""
        databases, task = self._databases, self.task
        task.prepare_commit()
        task.registry.clear_caches()
        task.post_commit()
        snapshot = dump(task.snapshot())
        databases.commit()
        return Commit(task.committable_offsets(), snapshot)

    def close(self) -> None:
        """End the task in good order; stores write what they still hold."""
        try:
            self.task.close()
        finally:
            self._let_go()

    def abandon(self) -> None:
        """Undo what was done since the last commit: nothing of it is kept, and nothing more is sent."""
        with suppress(Exception):
            self.task.registry.clear_caches()
        self.task.close_dirty()
        with suppress(Exception):
            self._let_go()

    @property
    def _databases(self) -> TaskDatabases:
        databases = self._context.databases
        if databases is None:
            raise IllegalStateError("the task is not open", hint="Call open() first.")
        return databases

    def _check_settled(self) -> None:
        stale = ", ".join(self._databases.stale)
        if stale:
            message = f"stores of the task {self.task.task_id} are not up to date: {stale}"
            raise IllegalStateError(message, hint="Call restore() for each of them, without entries if there are none.")

    def _open_databases(
        self, visit: Visit, chunk_bytes: int, state_id: str, positions: Mapping[TopicPartition, int] | None
    ) -> Mapping[TopicPartition, int]:
        """Get ready to open the stores; returns the positions of changelogs that are noted beside them."""
        directory = self._context.state_path
        if state_id:
            claim(directory, state_id)
        positions_at, known = _positions_in(directory)
        self._base = visit.base
        self._context.databases = TaskDatabases(
            directory,
            memory_directory(directory),
            visit,
            chunk_bytes=chunk_bytes,
            can_restore_from=lambda version: version == positions_at,
            positions=positions,
        )
        return known

    def _found_positions(self, stale: Iterable[str]) -> Iterator[tuple[TopicPartition, int]]:
        """What the databases of stale stores know, each of its own changelog: they may be at different versions."""
        for store in stale:
            changelog = self.task.plan.store_to_changelog.get(store, ""), self._context.partition
            known = self._databases.found_positions(store)
            if changelog in known:
                yield changelog, known[changelog]

    def _let_go(self) -> None:
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
        log.warning("%s", in_short(error))
        return None, {}
