"""The ``.lock`` file of a directory: two processes never work on one task, or in one place, at the same time."""

from __future__ import annotations

import logging
import math
import os
import time
from itertools import count
from pathlib import Path

from headrace.errors import StoreError
from headrace.file_locks import lock
from headrace.private_directories import make_private

log = logging.getLogger(__name__)

FILE_NAME = ".lock"
_LOOK_SECONDS = 0.05
_SILENT_SECONDS = 2.0
"""How long to wait before saying so."""


class TaskLock:
    """Held from its making until ``release``, or until the process ends, however it ends."""

    def __init__(self, directory: Path, wait_seconds: float = 0) -> None:
        """Wait up to this time for another process to release it; after that it is a StoreError."""
        path = directory / FILE_NAME
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        since, told_after = time.monotonic(), _SILENT_SECONDS
        while not lock(self._file):
            waited = time.monotonic() - since
            if waited >= wait_seconds:
                error = self._refusal(directory)
                os.close(self._file)
                raise error
            if waited >= told_after:
                log.warning("waiting up to %g s: %s", wait_seconds, self._refusal(directory))
                told_after = math.inf
            time.sleep(_LOOK_SECONDS)
        os.ftruncate(self._file, 0)
        os.pwrite(self._file, f"{os.getpid()}\n".encode(), 0)

    def _refusal(self, directory: Path) -> StoreError:
        holder = os.pread(self._file, 32, 0).decode(errors="replace").strip()
        message = f"the task of {directory} is in use by the process {holder or 'unknown'}"
        # One that is stopped hears of nothing else.
        way = f"End that process (kill -9 {holder})" if holder else "End that process"
        return StoreError(message, hint=f"{way}, or give this application another application.id or state.dir.")

    def release(self) -> None:
        """Let others have the task. Calling it twice does no harm."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


class OwnDirectory:
    """A directory below ``parent`` that nobody else uses until ``release``; one that was used before where possible.

    A process that is killed lets go of it too: there are never more of them than processes that ran at the same time.
    """

    def __init__(self, parent: Path) -> None:
        for number in count():
            self.path = parent / str(number)
            make_private(self.path)
            try:
                self._lock = TaskLock(self.path)
            except StoreError:
                continue
            return

    def release(self) -> None:
        self._lock.release()
