"""The clocks: the time of day in milliseconds, as timestamps count it, and one that nobody can set."""

from __future__ import annotations

import time
from collections.abc import Callable

_UPTIME = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def now_ms() -> int:
    """Milliseconds since 1970; jumps when somebody sets the clock."""
    return time.time_ns() // 1_000_000


def clock_from(start_ms: int) -> Callable[[], int]:
    """A clock that starts at ``start_ms``, whatever time it is on this machine."""
    offset_ns = start_ms * 1_000_000 - time.monotonic_ns()
    return lambda: (time.monotonic_ns() + offset_ns) // 1_000_000


class Clock:
    """The two clocks of an embedded broker: for records, and for leases. Tests hand it others."""

    def now_ms(self) -> int:
        return now_ms()

    def uptime_ms(self) -> int:
        """Milliseconds since the machine started, the same for all its processes; only a restart sets it back."""
        return time.clock_gettime_ns(_UPTIME) // 1_000_000
