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
from headrace.task.failures import line_of, raised_at

_LOOKS = 4
"""How often the watch looks while the time runs out."""


@contextmanager
def user_code(context: TaskContext) -> Iterator[None]:
    """Run functions of users: one that stays at a record, or exits, is a ProcessingError.

    ``consumer.max.poll.interval.ms`` says how long one may stay, as it says in Kafka when a thread counts as stuck. The
    watch is a timer that interrupts the main thread, whatever it does; other threads cannot be interrupted. A process
    that a function has forked ends here: it would go on with the same tasks.
    """
    process = os.getpid()
    try:
        with _watch(context, context.config.max_poll_interval_ms / 1000):
            yield
    except SystemExit as error:
        if os.getpid() != process:
            os._exit(error.code if isinstance(error.code, int) else bool(error.code))
        message = f"a function ended its process (exit code {error.code})"
        hint = "Raise an error instead: a worker runs other tasks too."
        raise ProcessingError(message, hint=hint, at=_place(context, raised_at(error))) from error
    finally:
        if os.getpid() != process:
            os._exit(1)


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


def _place(context: TaskContext, line: str | None) -> str:
    record = context.record_context
    read = f"record {record.metadata}" if record is not None and record.topic is not None else "a punctuation"
    return ", ".join(place for place in (line, f"task {context.task_id}", read) if place is not None)
