"""How many records a batch reads where no setting says it: as many as take about two seconds, as measured."""

from __future__ import annotations

import time
from collections import defaultdict, deque
from collections.abc import Callable

FIRST = 2_000
LEAST, MOST = 500, 2_000_000
SECONDS = 1.5
"""How long the records of a batch take, beside its fixed cost: some tenths of a second, on a busy machine some seconds.
That cost is learnt and left out, and records take at least as long: a batch that became smaller and smaller because of
it would only make it worse."""
_STEP = 10
"""What a small batch took is mostly its fixed cost: the prediction from it is too low rather than too high."""
_REMEMBERED = 3
"""Of each size: the quickest of them counts, as other work only makes a batch longer."""
_MOST_OF_IT = 0.75
"""More of a batch than this is not believed to be fixed: times differ by chance."""
_FAR = 3
"""A batch that takes so many times as long as others of its size is no matter of chance."""
_FORGOTTEN = 8
"""After so many batches of other sizes."""
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
        self._seen: dict[int, deque[tuple[float, int]]] = defaultdict(lambda: deque(maxlen=_REMEMBERED))
        """Seconds and records of batches, by powers of two."""
        self._was_known = False
        self._since: dict[int, int] = {}
        """How many batches ago there was one of that size."""

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
        alike = self._remember(records, seconds)
        best, many = min(alike)
        known = self._fixed()
        fixed = min(best if known is None else known, _MOST_OF_IT * best)
        aim = max(SECONDS, 0.0 if known is None else fixed)
        # A small batch tells nothing of how much more would fit; one that takes too long tells that it was too much.
        if records >= _NEARLY * self.limit or seconds - fixed > aim:
            wanted = int(many * aim / (best - fixed))
            if known is None and self._was_known and self.limit > LEAST:
                # A smaller one shows what is fixed now.
                wanted = self.limit // 2
            within_a_step = max(self.limit // _STEP, min(wanted, self.limit * _STEP))
            self.limit = max(LEAST, min(within_a_step, MOST))
        self._was_known |= known is not None

    def _remember(self, records: int, seconds: float) -> deque[tuple[float, int]]:
        """The last batches of about that size, this one too."""
        size = records.bit_length()
        alike = self._seen[size]
        if alike and seconds > _FAR * min(alike)[0]:
            # Records have become slow: what was is no measure.
            alike.clear()
        alike.append((seconds, records))
        self._since = {each: count + 1 for each, count in self._since.items() if count < _FORGOTTEN} | {size: 0}
        for each in self._seen.keys() - self._since.keys():
            del self._seen[each]
        return alike

    def _fixed(self) -> float | None:
        """What a batch takes without records, from the smallest and the largest that were seen; None: unknown."""
        (quick, few), (slow, many) = (min(self._seen[size]) for size in (min(self._seen), max(self._seen)))
        if many < 2 * few:
            return None
        return max(0.0, quick - few * max(0.0, (slow - quick) / (many - few)))
