"""Work that is done again and again beside the batches, in a thread of its own."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from headrace.errors import in_short
from headrace.waiting import join

log = logging.getLogger(__name__)

_END_SECONDS = 60.0


@dataclass
class Chore:
    """One thing to do every so many seconds; the first time after ``delay``."""

    name: str
    work: Callable[[], object]
    seconds: float
    delay: float = 0.0
    due: float = field(default=0.0, init=False)


class Chores:
    """A thread that does its chores when they are due. What one of them raises is logged; the others go on.

    ``stop`` waits for the chore at hand, unless it is that chore who calls it.
    """

    def __init__(self, name: str, *chores: Chore) -> None:
        self._chores = chores
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        now = time.monotonic()
        for chore in self._chores:
            chore.due = now + chore.delay
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        if self._thread.is_alive():
            join(self._thread, _END_SECONDS)

    def _run(self) -> None:
        while not self._stopping.is_set():
            for chore in self._chores:
                if chore.due <= time.monotonic() and not self._stopping.is_set():
                    self._do(chore)
            rest = min(chore.due for chore in self._chores) - time.monotonic()
            self._stopping.wait(max(0.0, rest))

    def _do(self, chore: Chore) -> None:
        try:
            chore.work()
        except BaseException as error:
            # A program that has ended can import nothing any more. Upkeep that needs to is done by the next start.
            level = logging.WARNING if threading.main_thread().is_alive() else logging.DEBUG
            # A handler of the log that fails must not cost the lease.
            with suppress(Exception):
                log.log(level, "%s failed and is tried again in %g s: %s", chore.name, chore.seconds, in_short(error))
        chore.due = time.monotonic() + chore.seconds
