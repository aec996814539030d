"""The local state of an application on this machine: taking away what no task uses any more, or all of it.

Only directories with the name of a task are looked at, and none that a process has locked is touched.
"""

from __future__ import annotations

import logging
import math
import re
import shutil
import time
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path

from headrace.application.restore_notes import clear_notes
from headrace.errors import StoreError
from headrace.state.directory_hold import is_held, last_used_ms
from headrace.state.shared_memory import memory_directory, release_memory
from headrace.task.lock import TaskLock

log = logging.getLogger(__name__)

_TASK = re.compile(r"\d+_\d+")


def clean_removed_tasks(home: Path, own: Collection[str], delay_ms: int) -> list[str]:
    """Remove the directories of tasks that are not in ``own`` and were not used for ``delay_ms``; their names.

    Which tasks there are changes when a topology does. Those of the present one stay, however long they were idle: in
    Kafka Streams it is their locks that keep them.
    """
    removed = []
    for directory in _tasks(home):
        if directory.name in own or 1000 * time.time() - _last_used_ms(directory) <= delay_ms:
            continue
        if _remove(directory):
            log.info("removed the state of the task %s, unused for %d ms", directory.name, delay_ms)
            removed.append(directory.name)
    return removed


def clean_outdated_tasks(home: Path, max_age_ms: int) -> list[str]:
    """Remove what was not used for ``max_age_ms``, whoever owns it: compaction may have removed its tombstones.

    A task is in use while its application runs, whether or not it has anything to do.
    """
    if 1000 * time.time() - last_used_ms(home) <= max_age_ms:
        return []
    return clean_removed_tasks(home, (), max_age_ms)


def clean_up(home: Path) -> None:
    """Remove all local state of the application. What a process uses is a StoreError."""
    check_unused(home)
    for directory in _tasks(home):
        if not _remove(directory):
            raise _in_use(directory)
    clear_notes(home)
    release_memory(home)
    shutil.rmtree(home, ignore_errors=True)


def check_unused(home: Path) -> None:
    """A StoreError where an application runs with that directory, be it one of the same name on another broker."""
    if is_held(home):
        raise _in_use(home)


def _in_use(directory: Path) -> StoreError:
    message = f"the state in {directory} is in use"
    return StoreError(message, hint="End the process that runs the application first.")


def _tasks(home: Path) -> Iterator[Path]:
    with suppress(FileNotFoundError):
        yield from sorted(path for path in home.iterdir() if _TASK.fullmatch(path.name) and not path.is_symlink())


def _last_used_ms(directory: Path) -> float:
    """When something of the task was last written: while it is open, only files of its stores are."""
    try:
        return 1000 * max(path.lstat().st_mtime for path in (directory, *directory.rglob("*")))
    except OSError:
        return math.inf


def _remove(directory: Path) -> bool:
    try:
        lock = TaskLock(directory)
    except StoreError:
        return False
    try:
        memory = memory_directory(directory)
        shutil.rmtree(memory, ignore_errors=True)
        shutil.rmtree(directory, ignore_errors=True)
    finally:
        lock.release()
    return True
