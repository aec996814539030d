"""Points in time as users write them, in milliseconds since 1970 as the engine counts them."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import TypeAlias

from headrace.errors import ArgumentError, user_line

Instant: TypeAlias = datetime | int
"""A ``datetime``, or whole milliseconds since 1970. A datetime without a zone is local time, as Python has it."""

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_MILLISECOND = timedelta(milliseconds=1)


def to_timestamp(instant: Instant, name: str = "timestamp") -> int:
    """``instant`` in milliseconds since 1970; ``name`` says in the error what it was for.

    Fractions are refused, since it cannot be known whether they are meant as seconds.

    >>> from datetime import datetime, timezone
    >>> to_timestamp(datetime(2024, 1, 1, tzinfo=timezone.utc))
    1704067200000
    """
    if isinstance(instant, int) and not isinstance(instant, bool):
        return instant
    if isinstance(instant, datetime):
        return (instant.astimezone(timezone.utc) - _EPOCH) // _MILLISECOND
    message = f"{name} must be a datetime or whole milliseconds since 1970, not {instant!r}"
    raise ArgumentError(message, hint=_hint(instant), at=user_line())


def _hint(instant: object) -> str:
    if isinstance(instant, float):
        return "time.time() counts seconds: int(time.time() * 1000) gives milliseconds."
    return "For example datetime.now(timezone.utc), or int(time.time() * 1000)."
