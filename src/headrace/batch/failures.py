"""An error on its way from a worker to the driver: as plain data, never as a pickled object."""

from __future__ import annotations

import traceback

import msgspec

from headrace import errors
from headrace.errors import HeadraceError, StreamsError, is_debugging
from headrace.task.failures import details, headline, own_frames, raised_at


class _Failure(msgspec.Struct, array_like=True, frozen=True):
    kind: str
    message: str
    detail: str | None
    hint: str | None
    at: str | None
    own_trace: str | None
    """The user's part of the traceback; None where no function of the user took part."""
    trace: str


class WorkerTraceback(Exception):
    """The traceback of the worker, as the cause of the error that the driver raises."""


def pack_failure(error: Exception) -> bytes:
    """The error as bytes."""
    known = isinstance(error, HeadraceError)
    failure = _Failure(
        type(error).__name__ if known else "StreamsError",
        headline(error),
        details(error),
        getattr(error, "hint", None) if known else None,
        getattr(error, "at", None) if known else raised_at(error),
        _own_trace(error),
        "".join(traceback.format_exception(error)),
    )
    return msgspec.msgpack.encode(failure)


def unpack_failure(data: bytes) -> HeadraceError:
    """The error again: of the same class, with the traceback of the user's function as its cause.

    What the worker did around it is shown where debugging is on, and where no function of the user took part in an
    error that is not one of ours.

    >>> unpack_failure(pack_failure(ValueError("no such word")))
    StreamsError('ValueError: no such word')
    """
    failure = msgspec.msgpack.decode(data, type=_Failure)
    kind = getattr(errors, failure.kind, StreamsError)
    error = kind(failure.message, detail=failure.detail, hint=failure.hint, at=failure.at)
    assert isinstance(error, HeadraceError)
    trace = failure.trace if is_debugging() or (kind is StreamsError and not failure.own_trace) else failure.own_trace
    if trace is not None:
        error.__cause__ = WorkerTraceback(f"\n{trace}")
    return error


def _own_trace(error: BaseException) -> str | None:
    while error.__cause__ is not None:
        error = error.__cause__
    frames = own_frames(error)
    if not frames:
        return None
    said = (*traceback.format_list(frames), *traceback.format_exception_only(error))
    return "".join(("Traceback (most recent call last):\n", *said))
