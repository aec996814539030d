"""Where stores in memory lie between batches: in shared memory, a directory for each application.

They are as fast as memory there, and any process of the application finds them. They end with the application: whoever
runs it removes them when it starts and when it ends, and holds a lock meanwhile. So what nobody has locked was left
behind by a process that was killed. Where that application is not started again, another one removes it after a while.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import time
import weakref
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from headrace.file_locks import lock
from headrace.state.rocksdb.failures import explained

SHARED_MEMORY = Path("/dev/shm")
_OWNER = "application"
_TRIES = 100
_LOOK_SECONDS = 0.02
_LEFT_SECONDS = 3_600.0
"""How old the note of an owner is before another application removes what it left."""
_OF_A_TASK = "memory"
"""Where a task has its stores in memory if there is no shared memory: in this directory of its own."""


def memory_directory(task_dir: Path) -> Path:
    """Where the in-memory stores of the task with that directory lie between visits."""
    parent = _of_user()
    return task_dir / _OF_A_TASK if parent is None else parent / _label(task_dir.parent) / task_dir.name


def release_memory(application_dir: Path) -> None:
    """Remove the in-memory stores of the application with that directory."""
    parent = _of_user()
    if parent is not None:
        shutil.rmtree(parent / _label(application_dir), ignore_errors=True)
    with explained(application_dir):
        found = list(application_dir.glob(f"*_*/{_OF_A_TASK}"))
    for directory in found:
        shutil.rmtree(directory, ignore_errors=True)


class MemoryHold:
    """The in-memory stores of an application that runs: empty at first. They count as in use until ``release``."""

    def __init__(self, application_dir: Path, *, is_needed: bool) -> None:
        self._application_dir = application_dir
        release_memory(application_dir)
        _remove_abandoned()
        parent = _of_user() if is_needed else None
        file = None if parent is None else _hold(parent / _label(application_dir), application_dir)
        self._closing = None if file is None else weakref.finalize(self, os.close, file)

    def release(self, *, is_ours: bool) -> None:
        """Let go of them; they are removed, unless they are another process's by now."""
        if is_ours:
            release_memory(self._application_dir)
        if self._closing is not None:
            self._closing()


def _hold(directory: Path, application_dir: Path) -> int | None:
    """Note whose the directory is, and lock the note. None where somebody removes the directory all the time."""
    for _ in range(_TRIES):
        directory.mkdir(mode=0o700, exist_ok=True)
        with suppress(FileNotFoundError):
            file = os.open(directory / _OWNER, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            os.pwrite(file, os.fsencode(application_dir.absolute()), 0)
            # Shared: a process that was replaced but still lives must not keep its successor from holding it.
            if lock(file, shared=True) and _is_there(file, directory / _OWNER):
                return file
            os.close(file)
        time.sleep(_LOOK_SECONDS)
    return None


def _is_there(file: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file), path.stat())
    except FileNotFoundError:
        return False


@dataclass(frozen=True, slots=True)
class Leftover:
    """What lies in shared memory and belongs to no process that runs."""

    directory: Path
    application_dir: Path | None
    """Whose it was; None where that is not known."""
    size: int


def leftovers() -> list[Leftover]:
    """What applications of this user left behind."""
    return list(_unlocked())


def remove_leftovers() -> int:
    """Remove what applications of this user left behind; how many bytes that was."""
    size = 0
    for leftover in _unlocked():
        shutil.rmtree(leftover.directory, ignore_errors=True)
        size += leftover.size
    return size


def _remove_abandoned() -> None:
    """Remove what applications left long ago. Nobody knows whose the rest is."""
    for leftover in _unlocked(noted_before=time.time() - _LEFT_SECONDS):
        if leftover.application_dir is not None:
            shutil.rmtree(leftover.directory, ignore_errors=True)


def _unlocked(noted_before: float | None = None) -> Iterator[Leftover]:
    """The directories that no process holds, each locked until the next one is asked for.

    One whose owner was noted later is left alone: that may be about to be removed, which a look into it would disturb.
    """
    parent = _of_user()
    for directory in sorted(parent.iterdir()) if parent is not None else ():
        with suppress(OSError):
            if noted_before is not None and (directory / _OWNER).stat().st_mtime >= noted_before:
                continue
            file = os.open(directory / _OWNER, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                if lock(file):
                    told = os.fsdecode(os.pread(file, os.fstat(file).st_size, 0))
                    yield Leftover(directory, Path(told) if told else None, _size(directory))
            finally:
                os.close(file)


def _size(directory: Path) -> int:
    return sum(path.lstat().st_size for path in directory.rglob("*") if path.is_file())


def _label(application_dir: Path) -> str:
    return hashlib.sha256(os.fsencode(application_dir.resolve())).hexdigest()[:32]


def _of_user() -> Path | None:
    """The directory of this user; None where there is no shared memory, or somebody else has made that directory."""
    if not os.access(SHARED_MEMORY, os.W_OK):
        return None
    directory = SHARED_MEMORY / f"headrace-{os.getuid()}"
    directory.mkdir(mode=0o700, exist_ok=True)
    found = directory.lstat()
    # Everyone may write to shared memory.
    is_private = stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o077
    return directory if is_private else None
