"""Whose state lies in a task's directory.

Versions count from 0 for every application. So two of one name, on two brokers or one after the other, could take the
state of each other for their own where they share a ``state.dir``.
"""

from __future__ import annotations

import logging
import os
import shutil
from pathlib import Path

from headrace.state.rocksdb.failures import explained
from headrace.state.shared_memory import memory_directory
from headrace.task.lock import FILE_NAME as LOCK

log = logging.getLogger(__name__)

FILE_NAME = ".state-id"


def claim(directory: Path, state_id: str) -> None:
    """Have the directory, which is locked, for this state: what others left in it is removed."""
    path = directory / FILE_NAME
    try:
        if path.read_text(encoding="ascii") == state_id:
            return
    except (FileNotFoundError, UnicodeDecodeError):
        pass
    found = [each for each in directory.iterdir() if each.name != LOCK]
    if found:
        log.warning("removing the state in %s: it is of another application with the same name", directory)
    for each in found:
        shutil.rmtree(each) if each.is_dir() else each.unlink()
    shutil.rmtree(memory_directory(directory), ignore_errors=True)
    draft = path.with_name(f"{FILE_NAME}.tmp")
    with explained(path, len(state_id)):
        with draft.open("w", encoding="ascii") as file:
            file.write(state_id)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
