"""Waits that have a limit. Where one passes, the error says who waits for what, and the log has all stacks."""

from __future__ import annotations

import logging
import sys
import threading
import time
import traceback
from collections.abc import Callable

from headrace.errors import StreamsError

log = logging.getLogger(__name__)

BATCH_SECONDS = 900.0
"""How long a stop waits for the batch at hand, where its caller names no limit."""
LONGEST_SECONDS = 2 * BATCH_SECONDS
"""How long an application may take to start, to stop or to change how it runs: a batch, and Spark's own limits."""
_LOOK_SECONDS = 0.5


def overdue(what: str, seconds: float) -> StreamsError:
    """The error where ``what`` took too long; the stacks of all threads are logged."""
    waiter = threading.current_thread().name
    log.error("%s waits for %s longer than %g s; all threads:\n%s", waiter, what, seconds, all_stacks())
    message = f"{waiter} waited {seconds:g} s for {what}"
    return StreamsError(message, hint="The log has the stacks of all threads.")


def join(thread: threading.Thread, seconds: float) -> None:
    """Wait for a thread to end, unless it is the one that asks."""
    if thread is not threading.current_thread():
        thread.join(seconds)
        if thread.is_alive():
            what = f"the thread {thread.name} to end"
            raise overdue(what, seconds)


def within(seconds: float, what: str, call: Callable[[], object], is_busy: Callable[[], bool] = lambda: False) -> None:
    """Make a call that may never come back; what it raises is raised. The limit does not run while ``is_busy``."""
    raised: list[BaseException] = []

    def run() -> None:
        try:
            call()
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=run, name=f"headrace-{what.replace(' ', '-')}", daemon=True)
    thread.start()
    deadline = time.monotonic() + seconds
    while thread.is_alive():
        if time.monotonic() > deadline:
            raise overdue(what, seconds)
        thread.join(min(seconds, _LOOK_SECONDS))
        if is_busy():
            deadline = time.monotonic() + seconds
    if raised:
        raise raised[0]


class LimitedLock:
    """A lock that one thread may take several times. Who waits too long for it is told which thread has it."""

    def __init__(self, what: str, seconds: float) -> None:
        self._what, self._seconds = what, seconds
        self._lock = threading.RLock()
        self._holder = ""

    def __enter__(self) -> None:
        if not self._lock.acquire(timeout=self._seconds):
            what = f"{self._holder}, which is {self._what}"
            raise overdue(what, self._seconds)
        self._holder = threading.current_thread().name

    def __exit__(self, *_: object) -> None:
        self._lock.release()


def stack_of(thread: threading.Thread) -> str:
    frame = sys._current_frames().get(thread.ident or 0)
    return "" if frame is None else "".join(traceback.format_stack(frame))


def all_stacks() -> str:
    """What every thread of this process is doing."""
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    return "\n".join(
        f"{names.get(ident, ident)}:\n{''.join(traceback.format_stack(frame))}"
        for ident, frame in sys._current_frames().items()
    )
