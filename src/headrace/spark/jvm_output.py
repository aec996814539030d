"""What Spark's JVM, and the workers below it, write to their standard error.

The last lines are kept for the case that the JVM ends. What comes while it starts is not shown: Spark greets with
remarks. Afterwards each line goes to ``sys.stderr``; what functions of the user print in a worker comes this way too.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
from collections import deque
from contextlib import suppress

log = logging.getLogger(__name__)

_KEPT = 30


def _show(line: str) -> None:
    if sys.stderr is not None and not sys.stderr.closed:
        # Where nobody reads it any more, the JVM and the workers must still be able to write.
        with suppress(OSError):
            sys.stderr.write(f"{line}\n")
            sys.stderr.flush()


class JvmOutput:
    """The reading end of a pipe; whoever starts the JVM gives it ``write_end`` and calls ``begin``."""

    def __init__(self) -> None:
        self._read_end, self.write_end = os.pipe()
        self._last: deque[str] = deque(maxlen=_KEPT)
        self._thread = threading.Thread(target=self._read, name="headrace-jvm-output", daemon=True)
        self._is_shown = False

    def begin(self) -> None:
        """The JVM has the other end now."""
        os.close(self.write_end)
        self._thread.start()

    def show(self) -> None:
        """It has started; what it said meanwhile is of no interest any more."""
        if not self._is_shown:
            self._is_shown = True
            self._last.clear()

    def hide(self) -> None:
        """It is about to end: threads that are torn away have much to say then, and nothing of it matters."""
        self._is_shown = False

    def last_lines(self, seconds: float) -> str:
        """What it said last; for a JVM that has ended, up to its end, which may take some ``seconds`` to arrive."""
        self._thread.join(seconds)
        return "\n".join(self._last)

    def _read(self) -> None:
        with open(self._read_end, encoding="utf-8", errors="replace") as lines:
            for line in lines:
                text = line.rstrip("\n")
                self._last.append(text)
                log.debug("spark: %s", text)
                if self._is_shown:
                    _show(text)
