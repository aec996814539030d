"""The time of day in milliseconds, as timestamps count it."""

from __future__ import annotations

import time
from collections.abc import Callable


def now_ms() -> int:
    """Milliseconds since 1970; jumps when somebody sets the clock."""
    return time.time_ns() // 1_000_000


def clock_from(start_ms: int) -> Callable[[], int]:
    """A clock that starts at ``start_ms``, whatever time it is on this machine."""
    offset_ns = start_ms * 1_000_000 - time.monotonic_ns()
    return lambda: (time.monotonic_ns() + offset_ns) // 1_000_000
