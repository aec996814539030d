"""How many records a batch reads where no setting says it: as many as take about two seconds, as measured."""

from __future__ import annotations

import time
from collections.abc import Callable

FIRST = 2_000
LEAST, MOST = 500, 2_000_000
SECONDS = 2.0
"""A batch has a fixed cost of some tenths of a second. With less than this it would be felt on a large backlog."""
_STEP = 4
_NEARLY = 0.9


class BatchSize:
    """The limit of the next batch. It follows the rate of the last one, by at most a factor of 4 at a time.

    >>> now = iter([0.0, 5.0, 10.0, 11.0])
    >>> size = BatchSize(lambda: next(now))
    >>> for _ in range(2):  # the first one is slow because everything starts
    ...     size.begin(2000)
    ...     size.end()
    >>> size.limit
    4000
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.limit = FIRST
        self._clock = clock
        self._under_way: tuple[int, float] | None = None
        self._is_warm = False

    def begin(self, records: int) -> None:
        """A batch of so many records begins."""
        self._under_way = records, self._clock()

    def end(self) -> None:
        """The batch is over, if there was one. The first one says little: workers start, stores are restored."""
        if self._under_way is None:
            return
        (records, since), self._under_way = self._under_way, None
        seconds = max(self._clock() - since, 0.001)
        if self._is_warm:
            self._adapt(records, seconds)
        self._is_warm = True

    def _adapt(self, records: int, seconds: float) -> None:
        wanted = int(records * SECONDS / seconds)
        was_full = records >= _NEARLY * self.limit
        # A small batch tells nothing of how much more would fit; one that takes too long tells that it was too much.
        if was_full or seconds > SECONDS:
            within_a_step = max(self.limit // _STEP, min(wanted, self.limit * _STEP))
            self.limit = max(LEAST, min(within_a_step, MOST))
