"""The numbers behind a metric: totals since the start, and averages over the last samples.

As in Kafka a sampled statistic keeps a few windows of time (two of 30 s unless configured) and forgets older ones.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from math import inf, nan
from typing import Protocol


class Stat(Protocol):
    """One number that is updated by records of values."""

    def record(self, value: float, now_ms: int) -> None: ...

    def measure(self, now_ms: int) -> float: ...


@dataclass(slots=True)
class Total:
    """The sum of all values since the start."""

    sum: float = 0.0

    def record(self, value: float, now_ms: int) -> None:
        self.sum += value

    def measure(self, now_ms: int) -> float:
        return self.sum


@dataclass(slots=True)
class Count:
    """How many values there were since the start."""

    count: int = 0

    def record(self, value: float, now_ms: int) -> None:
        self.count += 1

    def measure(self, now_ms: int) -> float:
        return self.count


@dataclass(slots=True)
class _Sample:
    start_ms: int
    count: int = 0
    sum: float = 0.0
    min: float = inf
    max: float = -inf


@dataclass(slots=True)
class Samples:
    """The values of the last few windows of time; shared by the statistics of one sensor."""

    window_ms: int = 30_000
    limit: int = 2
    _samples: deque[_Sample] = field(default_factory=deque)

    def record(self, value: float, now_ms: int) -> None:
        sample = self._samples[-1] if self._samples else None
        if sample is None or now_ms - sample.start_ms >= self.window_ms:
            sample = _Sample(now_ms)
            self._samples.append(sample)
            if len(self._samples) > self.limit:
                self._samples.popleft()
        sample.count += 1
        sample.sum += value
        if value < sample.min:
            sample.min = value
        if value > sample.max:
            sample.max = value

    def measure(self, now_ms: int) -> float:
        return self.average(now_ms)

    def average(self, now_ms: int) -> float:
        """Sum by count; not a number where there was nothing."""
        kept = self._kept(now_ms)
        count = sum(sample.count for sample in kept)
        return sum(sample.sum for sample in kept) / count if count else nan

    def maximum(self, now_ms: int) -> float:
        return max((sample.max for sample in self._kept(now_ms)), default=nan)

    def minimum(self, now_ms: int) -> float:
        return min((sample.min for sample in self._kept(now_ms)), default=nan)

    def rate(self, now_ms: int) -> float:
        kept = self._kept(now_ms)
        return sum(sample.count for sample in kept) / self._seconds(kept, now_ms)

    def _kept(self, now_ms: int) -> list[_Sample]:
        oldest_ms = now_ms - self.window_ms * self.limit
        return [sample for sample in self._samples if sample.start_ms > oldest_ms]

    def _seconds(self, kept: list[_Sample], now_ms: int) -> float:
        # A rate over the first instants would be absurdly high: at least all but one window count as elapsed.
        elapsed_ms = now_ms - kept[0].start_ms if kept else 0
        return max(elapsed_ms, self.window_ms * max(self.limit - 1, 1)) / 1000
