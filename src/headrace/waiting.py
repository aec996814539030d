"""Waits that have a limit. Where one passes, the error says who waits for what, and the log has all stacks."""

from __future__ import annotations

import logging
import sys
import threading
import traceback
from collections.abc import Callable

from headrace.errors import StreamsError

log = logging.getLogger(__name__)


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


def within(seconds: float, what: str, call: Callable[[], object]) -> None:
    """Make a call that may never come back; what it raises is raised."""
    raised: list[BaseException] = []

    def run() -> None:
        try:
            call()
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=run, name=f"headrace-{what.replace(' ', '-')}", daemon=True)
    thread.start()
    thread.join(seconds)
    if thread.is_alive():
        raise overdue(what, seconds)
    if raised:
        raise raised[0]


def all_stacks() -> str:
    """What every thread of this process is doing."""
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    return "\n".join(
        f"{names.get(ident, ident)}:\n{''.join(traceback.format_stack(frame))}"
        for ident, frame in sys._current_frames().items()
    )
