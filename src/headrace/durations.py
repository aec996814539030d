"""Durations as users write them, in milliseconds as the engine counts them."""

from __future__ import annotations

from datetime import timedelta
from typing import TypeAlias

from headrace.errors import ArgumentError

Duration: TypeAlias = timedelta | int
"""A ``timedelta``, or whole milliseconds."""

_MILLISECOND = timedelta(milliseconds=1)


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
