"""What a program prints, as part of its side log."""

from __future__ import annotations

import contextlib
import io
from typing import Any

from tests.conformance.functions import SideLog


class _Lines(io.TextIOBase):
    """Notes each line when it is complete, so that it keeps its place among what else is logged."""

    def __init__(self, log: SideLog) -> None:
        self._log, self._begun = log, ""

    def write(self, printed: str) -> int:
        """Take what was printed."""
        *lines, self._begun = (self._begun + printed).split("\n")
        self._log.extend(["stdout", line] for line in lines)
        return len(printed)


@contextlib.contextmanager
def printed(log: SideLog) -> Any:
    """Standard output as lines of the side log."""
    with contextlib.redirect_stdout(_Lines(log)):
        yield
