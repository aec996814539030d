"""Whose state lies in a task's directory.

Versions count from 0 for every application. So two of one name, on two brokers or one after the other, could take the
state of each other for their own where they share a ``state.dir``.
"""

from __future__ import annotations

import logging
import shutil
import uuid
from pathlib import Path

from headrace.state.shared_memory import memory_directory
from headrace.task.checkpoint import draft_of, replace_text
from headrace.task.lock import FILE_NAME as LOCK

log = logging.getLogger(__name__)

FILE_NAME = ".state-id"


def new_state_id(address: str) -> str:
    """A name for the state of an application that starts from nothing, on the broker with that address."""
    return f"{uuid.uuid4().hex} {address.encode('ascii', 'backslashreplace').decode()}"


def claim(directory: Path, state_id: str) -> None:
    """Have the directory, which is locked, for this state: what others left in it is removed."""
    path = directory / FILE_NAME
    known = _read(path)
    if known == state_id:
        return
    found = [each for each in directory.iterdir() if each.name not in {LOCK, FILE_NAME, draft_of(path).name}]
    # Of the same broker: left by a run that ended before its first commit, or from before a reset.
    if found and _address(known) != _address(state_id):
        log.warning("removing the state in %s: %s", directory, _whose(known))
    for each in found:
        shutil.rmtree(each) if each.is_dir() else each.unlink()
    shutil.rmtree(memory_directory(directory), ignore_errors=True)
    replace_text(path, state_id)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii")
    except (FileNotFoundError, UnicodeDecodeError):
        return ""


def _whose(known: str) -> str:
    if not known:
        return f"{FILE_NAME} was deleted, and nobody can tell whose it is; what is logged comes back from changelogs"
    address = _address(known)
    return (
        f"it is of another application with the same name{address and f', on {address}'}; "
        "give each an application.id (or a state.dir) of its own"
    )


def _address(state_id: str) -> str:
    return state_id.partition(" ")[2]
