"""What a visit does about functions that do not come back: they hang, or they want the process to end."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from headrace.errors import ProcessingError
from headrace.records import RawRecord
from headrace.task.context import TaskContext
from headrace.task.failures import QUITTING, headline, line_of, noted_node, raised_at

_LOOKS = 4
"""How often the watch looks while the time runs out."""


@contextmanager
def user_code(context: TaskContext, outside: str = "a punctuation") -> Iterator[None]:
    """Run functions of users: one that stays at a record, or wants all to end, is a ProcessingError.

    ``outside`` says where they are called when there is no record.

    ``consumer.max.poll.interval.ms`` says how long one may stay, as it says in Kafka when a thread counts as stuck. The
    watch is a timer that interrupts the main thread, whatever it does; other threads cannot be interrupted. A process
    that a function has forked ends here: it would go on with the same tasks.
    """
    process = os.getpid()
    try:
        with _watch(context, context.config.max_poll_interval_ms / 1000):
            yield
    except QUITTING as error:
        if os.getpid() != process:
            os._exit(_exit_code(error))
        if isinstance(error, KeyboardInterrupt) and _may_be_ctrl_c():
            raise
        raise _quit(error, _place(context, raised_at(error), noted_node(error), outside)) from error
    finally:
        if os.getpid() != process:
            os._exit(1)


def _exit_code(error: BaseException) -> int:
    code = error.code if isinstance(error, SystemExit) else 1
    return code if isinstance(code, int) else bool(code)


def _may_be_ctrl_c() -> bool:
    """Only the main thread hears of Ctrl-C, and only where it is not ignored: else a function has raised it itself."""
    is_main = threading.current_thread() is threading.main_thread()
    return is_main and signal.getsignal(signal.SIGINT) is not signal.SIG_IGN


def _quit(error: BaseException, at: str) -> ProcessingError:
    if isinstance(error, SystemExit):
        message = f"a function ended its process (exit code {error.code})"
        return ProcessingError(message, hint="Raise an error instead: a worker runs other tasks too.", at=at)
    hint = f"Raise an Exception instead: {type(error).__name__} means that Python itself ends something."
    return ProcessingError(f"a function raised {headline(error)}", hint=hint, at=at)


@contextmanager
def _watch(context: TaskContext, seconds: float) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    seen: RawRecord | None = None
    looks = 0

    def look(_: int, frame: FrameType | None) -> None:
        nonlocal seen, looks
        origin = context.origin if context.is_active else None
        looks = looks + 1 if origin is not None and origin is seen else 0
        seen = origin
        if looks >= _LOOKS:
            looks = 0
            message = f"a function did not return for {seconds:g} s"
            hint = "Mend it, or raise consumer.max.poll.interval.ms if it needs that long for one record."
            raise ProcessingError(message, hint=hint, at=_place(context, line_of(frame)))

    handler = signal.signal(signal.SIGALRM, look)
    timer = signal.setitimer(signal.ITIMER_REAL, seconds / _LOOKS, seconds / _LOOKS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, *timer)
        signal.signal(signal.SIGALRM, handler)


def _place(context: TaskContext, line: str | None, node: str | None = None, outside: str = "a punctuation") -> str:
    record = context.record_context
    read = f"record {record.metadata}" if record is not None and record.topic is not None else outside
    places = (line, node and f"node {node}", f"task {context.task_id}", read)
    return ", ".join(place for place in places if place is not None)
