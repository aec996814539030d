"""An error on its way from a worker to the driver: as plain data, never as a pickled object."""

from __future__ import annotations

import traceback

import msgspec

from headrace import errors
from headrace.errors import HeadraceError, StreamsError


class _Failure(msgspec.Struct, array_like=True, frozen=True):
    kind: str
    message: str
    detail: str | None
    hint: str | None
    at: str | None
    trace: str


class WorkerTraceback(Exception):
    """The traceback of the worker, as the cause of the error that the driver raises."""


def pack_failure(error: Exception) -> bytes:
    """The error as bytes."""
    trace = "".join(traceback.format_exception(error))
    if isinstance(error, HeadraceError):
        failure = _Failure(type(error).__name__, error.message, error.detail, error.hint, error.at, trace)
    else:
        failure = _Failure("StreamsError", f"{type(error).__name__}: {error}", None, None, None, trace)
    return msgspec.msgpack.encode(failure)


def unpack_failure(data: bytes) -> HeadraceError:
    """The error again: of the same class, with the worker's traceback as its cause.

    >>> unpack_failure(pack_failure(ValueError("no such word")))
    StreamsError('ValueError: no such word')
    """
    failure = msgspec.msgpack.decode(data, type=_Failure)
    kind = getattr(errors, failure.kind, StreamsError)
    error = kind(failure.message, detail=failure.detail, hint=failure.hint, at=failure.at)
    assert isinstance(error, HeadraceError)
    error.__cause__ = WorkerTraceback(f"\n{failure.trace}")
    return error
