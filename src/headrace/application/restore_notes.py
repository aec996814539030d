"""How far a long restore is, told while it runs: small notes beside the state, written by workers, read by the driver.

A note is a file of its own, replaced at once, and removed when the restore is over, however it ended. Notes are for
people who wait: nothing depends on them, so one that cannot be written or read is left out.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import msgspec

from headrace.private_directories import make_private

DIRECTORY = ".restoring"
INTERVAL_SECONDS = 0.25
"""Shortest time between two notes of one restore; a restore that takes less leaves no note."""

_SUFFIX = ".json"


class RestoreNote(msgspec.Struct, frozen=True):
    """One store of one partition on its way: which offsets of the changelog, and how far."""

    store: str
    topic: str
    partition: int
    start_offset: int
    end_offset: int
    offset: int
    restored: int


def notes_directory(application_dir: Path) -> Path:
    return application_dir / DIRECTORY


def read_notes(application_dir: Path) -> list[RestoreNote]:
    """The restores that are under way, on this machine."""
    found = []
    for path in sorted(notes_directory(application_dir).glob(f"*{_SUFFIX}")):
        with suppress(OSError, msgspec.MsgspecError):
            found.append(msgspec.json.decode(path.read_bytes(), type=RestoreNote))
    return found


def clear_notes(application_dir: Path) -> None:
    """Remove what processes that were killed left behind."""
    shutil.rmtree(notes_directory(application_dir), ignore_errors=True)


class RestoreProgress:
    """Counts the records of one restore and leaves a note from time to time. A context manager."""

    def __init__(
        self,
        application_dir: Path,
        task: str,
        first: RestoreNote,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._first = first
        self._clock = clock
        self._noted_at = clock()
        self._restored = first.restored
        # Stores may be called what no file can be.
        name = hashlib.sha256(f"{task}/{first.store}".encode()).hexdigest()[:32]
        self._path = notes_directory(application_dir) / f"{name}{_SUFFIX}"

    def advance(self, count: int, offset: int) -> None:
        """``count`` more records are restored; ``offset`` is the next one."""
        self._restored += count
        now = self._clock()
        if now - self._noted_at >= INTERVAL_SECONDS:
            self._noted_at = now
            with suppress(OSError):
                self._write(msgspec.structs.replace(self._first, offset=offset, restored=self._restored))

    def __enter__(self) -> RestoreProgress:
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):
            self._path.unlink(missing_ok=True)

    def _write(self, note: RestoreNote) -> None:
        make_private(self._path.parent)
        draft = self._path.with_suffix(f".{os.getpid()}")
        draft.write_bytes(msgspec.json.encode(note))
        draft.replace(self._path)
