"""Durations as users write them, in milliseconds as the engine counts them."""

from __future__ import annotations

from datetime import timedelta
from typing import TypeAlias

from headrace.errors import ArgumentError

Duration: TypeAlias = timedelta | int
"""A ``timedelta``, or whole milliseconds."""

_MILLISECOND = timedelta(milliseconds=1)
_SECOND_MS = 1000


def to_ms(duration: Duration, name: str) -> int:
    """``duration`` in whole milliseconds; ``name`` says in the error what it was for.

    >>> to_ms(timedelta(minutes=5), "size")
    300000
    """
    if isinstance(duration, timedelta):
        return duration // _MILLISECOND
    if isinstance(duration, int) and not isinstance(duration, bool):
        return duration
    message = f"{name} must be a timedelta or whole milliseconds, not {duration!r}"
    raise ArgumentError(message, hint=f"For example {name}=timedelta(minutes=5).")


def not_negative(duration: Duration, name: str) -> int:
    """``duration`` in whole milliseconds, of which there cannot be less than none."""
    ms = to_ms(duration, name)
    if ms < 0:
        message = f"{name} cannot be negative ({ms} ms)"
        raise ArgumentError(message)
    return ms


def timeout_seconds(timeout: Duration | None) -> float | None:
    """How long to wait at most, in seconds; None stays None.

    A whole number means milliseconds, as everywhere. One of less than a second is refused: Python's own waits count in
    seconds, so ``wait(120)`` surely means two minutes.

    >>> timeout_seconds(timedelta(minutes=2)), timeout_seconds(2_500), timeout_seconds(0)
    (120.0, 2.5, 0.0)
    """
    if timeout is None:
        return None
    ms = not_negative(timeout, "timeout")
    if not isinstance(timeout, timedelta) and 0 < ms < _SECOND_MS:
        message = f"timeout={ms} would be {ms} milliseconds, and looks like seconds"
        hint = f"Say what it is: timeout=timedelta(seconds={ms}), or timedelta(milliseconds={ms})."
        raise ArgumentError(message, hint=hint)
    return ms / _SECOND_MS
