"""The two clocks of the embedded broker: the time of day for records, and one that nobody can set for leases."""

from __future__ import annotations

import time

from headrace.clock import now_ms

_UPTIME = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


class Clock:
    """The clocks of this machine. Tests hand the broker others."""

    def now_ms(self) -> int:
        """Milliseconds since 1970; jumps when somebody sets the clock."""
        return now_ms()

    def uptime_ms(self) -> int:
        """Milliseconds since the machine started, the same for all its processes; only a restart sets it back."""
        return time.clock_gettime_ns(_UPTIME) // 1_000_000
