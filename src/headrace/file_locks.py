"""Locks on files: they end with the process that has them, however it ends."""

from __future__ import annotations

import fcntl
from typing import IO


def lock(file: int | IO[str], *, shared: bool = False) -> bool:
    """Lock an open file; False where another process keeps that from being. Nobody waits."""
    try:
        fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
