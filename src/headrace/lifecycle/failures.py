"""What happens when processing fails: the uncaught-exception handler is asked, and its answer carried out."""

from __future__ import annotations

import logging
from collections.abc import Callable
from enum import Enum
from types import TracebackType
from typing import TypeAlias

from headrace.errors import FencedError, HeadraceError, InternalError, is_debugging
from headrace.libraries import PACKAGE

log = logging.getLogger(__name__)

_FAILURE = "failure"


class StreamThreadExceptionResponse(Enum):
    """What an uncaught-exception handler wants, as in StreamsUncaughtExceptionHandler."""

    REPLACE_THREAD = "REPLACE_THREAD"
    """Run the batch again, after a pause that grows with every failure in a row."""
    SHUTDOWN_CLIENT = "SHUTDOWN_CLIENT"
    """End in the state ERROR."""
    SHUTDOWN_APPLICATION = "SHUTDOWN_APPLICATION"
    """The same: one process runs an application, so there are no others to tell."""

    def __str__(self) -> str:
        return self.value


UncaughtExceptionHandler: TypeAlias = Callable[[BaseException], StreamThreadExceptionResponse]


def shut_down_client(error: BaseException) -> StreamThreadExceptionResponse:
    return StreamThreadExceptionResponse.SHUTDOWN_CLIENT


def response_to(error: BaseException, handler: UncaughtExceptionHandler) -> StreamThreadExceptionResponse:
    """What to do about ``error``. A handler that fails or says nothing sensible ends the application."""
    if isinstance(error, FencedError):
        # Another process has taken over: whatever the handler wants, this one may not go on.
        return StreamThreadExceptionResponse.SHUTDOWN_CLIENT
    try:
        response = handler(error)
    except BaseException:
        log.exception("the uncaught-exception handler failed itself, with %s at hand", type(error).__name__)
        return StreamThreadExceptionResponse.SHUTDOWN_CLIENT
    if isinstance(response, StreamThreadExceptionResponse):
        return response
    log.error("the uncaught-exception handler returned %r, which is no StreamThreadExceptionResponse", response)
    return StreamThreadExceptionResponse.SHUTDOWN_CLIENT


def failure_entry(error: BaseException) -> dict[str, object]:
    """``extra`` of the log entry of what ended an application: who shows failures does not show their entries, too."""
    return {_FAILURE: error}


def is_failure_entry(entry: logging.LogRecord) -> bool:
    return hasattr(entry, _FAILURE)


def without_internals(error: BaseException) -> BaseException:
    """The error as its reader needs it: without our own frames and without the stack traces of Spark's JVM.

    Bugs of ours keep all of it, and so does everything while debugging is on.
    """
    if is_debugging() or not isinstance(error, HeadraceError) or isinstance(error, InternalError):
        return error
    if type(error.__cause__).__module__.partition(".")[0] in {"py4j", "pyspark"}:
        error.__cause__ = None
    cause = error.__cause__
    while cause is not None:
        cause.__traceback__ = _from_the_users(cause.__traceback__)
        cause = cause.__cause__
    error.__suppress_context__ = True
    return error.with_traceback(None)


def _from_the_users(step: TracebackType | None) -> TracebackType | None:
    """The rest of a traceback from the first line on that is not ours."""
    while step is not None and step.tb_frame.f_code.co_filename.startswith(PACKAGE):
        step = step.tb_next
    return step


class Backoff:
    """How long to wait before the next try: twice as long after each failure, up to a limit.

    >>> backoff = Backoff(first=0.5, limit=1.5)
    >>> [backoff.next() for _ in range(3)]
    [0.5, 1.0, 1.5]
    >>> backoff.reset()
    >>> backoff.next()
    0.5
    """

    def __init__(self, first: float = 0.2, limit: float = 30.0) -> None:
        self._first, self._limit = first, limit
        self._seconds = first

    def next(self) -> float:
        seconds, self._seconds = self._seconds, min(2 * self._seconds, self._limit)
        return seconds

    def reset(self) -> None:
        self._seconds = self._first
