"""How many records a batch reads where no setting says it: as many as take about two seconds, as measured."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

FIRST = 2_000
LEAST, MOST = 500, 2_000_000
SECONDS = 1.5
"""How long the records of a batch take, beside its fixed cost: some tenths of a second, on a busy machine some seconds.
That cost is learnt and left out, and records take at least as long: a batch that became smaller and smaller because of
it would only make it worse."""
_STEP = 10
"""What a small batch took is mostly its fixed cost: the prediction from it is too low rather than too high."""
_REMEMBERED = 8
_FAR = 3
_MOST_OF_IT = 0.75
"""More of the quickest batch than this is not believed to be fixed: times differ by chance."""
_NEARLY = 0.9


class BatchSize:
    """The limit of the next batch. It follows the rate of the last ones.

    What a batch costs whatever it holds is known when two have been seen of which one had twice the records. Until then
    it is taken for most of it: too many records once are a long batch, too few for ever are a backlog that never ends.

    >>> now = iter([0.0, 5.0, 10.0, 11.0])
    >>> size = BatchSize(lambda: next(now))
    >>> for _ in range(2):  # the first one is slow because everything starts
    ...     size.begin(2000)
    ...     size.end()
    >>> size.limit
    12000
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.limit = FIRST
        self._clock = clock
        self._under_way: tuple[int, float] | None = None
        self._is_warm = False
        self._seen: deque[tuple[int, float]] = deque(maxlen=_REMEMBERED)
        self._fixed: float | None = None

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
        self._seen.append((records, seconds))
        self._learn()
        beside = seconds - self._fixed_cost()
        aim = max(SECONDS, self._fixed_cost())
        # A small batch tells nothing of how much more would fit; one that takes too long tells that it was too much.
        if records >= _NEARLY * self.limit or beside > aim:
            wanted = int(aim / self._seconds_each(beside / records))
            within_a_step = max(self.limit // _STEP, min(wanted, self.limit * _STEP))
            self.limit = max(LEAST, min(within_a_step, MOST))

    def _learn(self) -> None:
        """The fixed cost, from the quickest of the small and of the large ones: other work only makes them longer."""
        sizes = [records for records, _ in self._seen]
        middle = (min(sizes) * max(sizes)) ** 0.5
        if max(sizes) >= 2 * min(sizes):
            quick, few = min((seconds, records) for records, seconds in self._seen if records <= middle)
            slow, many = min((seconds, records) for records, seconds in self._seen if records > middle)
            each = max(0.0, (slow - quick) / (many - few))
            self._fixed = max(0.0, quick - few * each)

    def _fixed_cost(self) -> float:
        most = _MOST_OF_IT * min(seconds for _, seconds in self._seen)
        return most if self._fixed is None else min(most, self._fixed)

    def _seconds_each(self, last: float) -> float:
        """What one more record costs: at best, as other work only makes it longer, unless it is far from that now."""
        best = min((seconds - self._fixed_cost()) / records for records, seconds in self._seen)
        if last <= _FAR * best:
            return best
        while len(self._seen) > 1:
            self._seen.popleft()
        return last
