"""How many records a batch reads where no setting says it: as many as take about two seconds, as measured."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

FIRST = 2_000
LEAST, MOST = 500, 2_000_000
SECONDS = 1.5
"""How long the records of a batch take, beside its fixed cost: some tenths of a second, on a busy machine some seconds.
That cost is learnt and left out: a batch that became smaller and smaller because of it would only make it worse."""
_STEP = 10
"""What a small batch took is mostly its fixed cost: the prediction from it is too low rather than too high."""
_REMEMBERED = 8
_MOST_OF_IT = 0.75
"""More of the quickest batch than this is not believed to be fixed: times differ by chance."""
_NEARLY = 0.9


class BatchSize:
    """The limit of the next batch. It follows the rate of the last one, by at most a factor of 10 at a time.

    >>> now = iter([0.0, 5.0, 10.0, 11.0])
    >>> size = BatchSize(lambda: next(now))
    >>> for _ in range(2):  # the first one is slow because everything starts
    ...     size.begin(2000)
    ...     size.end()
    >>> size.limit
    3000
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.limit = FIRST
        self._clock = clock
        self._under_way: tuple[int, float] | None = None
        self._is_warm = False
        self._seen: deque[tuple[int, float]] = deque(maxlen=_REMEMBERED)
        self._fixed = 0.0

    def begin(self, records: int) -> None:
        """A batch of so many records begins."""
        self._under_way = records, self._clock()

    def end(self) -> None:
        """The batch is over, if there was one. The first one says little: workers start, stores are restored."""
        if self._under_way is None:
            return
        (records, since), self._under_way = self._under_way, None
        seconds = max(self._clock() - since, 0.001)
        # One that only punctuates says nothing of how long records take.
        if self._is_warm and records:
            self._adapt(records, seconds)
        self._is_warm = True

    def _adapt(self, records: int, seconds: float) -> None:
        self._learn(records, seconds)
        seconds = max(seconds - self._fixed, 0.001)
        wanted = int(records * SECONDS / seconds)
        was_full = records >= _NEARLY * self.limit
        # A small batch tells nothing of how much more would fit; one that takes too long tells that it was too much.
        if was_full or seconds > SECONDS:
            within_a_step = max(self.limit // _STEP, min(wanted, self.limit * _STEP))
            self.limit = max(LEAST, min(within_a_step, MOST))

    def _learn(self, records: int, seconds: float) -> None:
        """The fixed cost, from the smallest and the largest of the last batches where they differ enough."""
        self._seen.append((records, seconds))
        (few, quick), (many, slow) = min(self._seen), max(self._seen)
        if many >= 2 * few:
            each = max(0.0, (slow - quick) / (many - few))
            self._fixed = quick - few * each
        self._fixed = max(0.0, min(self._fixed, _MOST_OF_IT * min(seconds for _, seconds in self._seen)))
