"""The clocks of a task: the time of day, and how long a call takes."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from headrace.metrics import Sensor


def system_clock() -> int:
    """The wall clock in milliseconds."""
    return time.time_ns() // 1_000_000


def clock_from(now_ms: int) -> Callable[[], int]:
    """A clock that starts at ``now_ms``, whatever time it is on this machine."""
    offset_ns = now_ms * 1_000_000 - time.monotonic_ns()
    return lambda: (time.monotonic_ns() + offset_ns) // 1_000_000


def timed(sensor: Sensor, call: Callable[..., None], *arguments: Any) -> None:
    """Make the call and record the nanoseconds it took; one that fails is not recorded."""
    start_ns = time.perf_counter_ns()
    call(*arguments)
    sensor.record(time.perf_counter_ns() - start_ns)
