"""A directory that one process has to itself while others work beside it."""

from __future__ import annotations

from itertools import count
from pathlib import Path

from headrace.errors import StoreError
from headrace.private_directories import make_private
from headrace.task.lock import TaskLock


class OwnPlace:
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
        """Let others have it."""
        self._lock.release()
