"""For how long the tasks of a batch read, where no setting says how much they do."""

from __future__ import annotations

FIRST = 0.5
"""Nothing is known yet: the first results come soon."""
SECONDS = 2.0
"""For how long the tasks of a batch work, all levels together. What a batch costs beside that is some tenths of a
second, on a busy machine some seconds."""
_LEAST = 0.01
_TELLING = 0.05
"""Less work says nothing of how it is divided."""
_GROWTH = 2
_FAR = 1.5


class ReadingTime:
    """The time in which a batch may read. What is read then has to be committed, and worked on at later levels.

    >>> time = ReadingTime()
    >>> time.learn(reading=0.2, working=0.6)
    >>> round(time.seconds, 3)
    0.667
    """

    def __init__(self) -> None:
        self.seconds = FIRST
        self._last: tuple[float, float] | None = None
        self._fixed = 0.0
        """Work that does not depend on how much was read: batches that read less and less would not save it."""

    def learn(self, reading: float, working: float) -> None:
        """For how long the tasks of a batch have read, and worked in all."""
        if not reading:
            return
        if working >= _TELLING:
            self._fixed = min(self._fixed_beside(reading, working), working - reading)
            wanted = SECONDS * reading / (working - self._fixed)
            self.seconds = max(_LEAST, min(wanted, _GROWTH * self.seconds))
        elif self.seconds < FIRST:
            # Too short a time makes batches that never tell: one slow batch must not be remembered for ever.
            self.seconds = min(FIRST, _GROWTH * self.seconds)

    def _fixed_beside(self, reading: float, working: float) -> float:
        """From two batches of which one has read longer: what both had to do."""
        before, self._last = self._last, (reading, working)
        if before is None or 1 / _FAR < reading / before[0] < _FAR:
            return self._fixed
        slope = max(1.0, (working - before[1]) / (reading - before[0]))
        return max(0.0, working - slope * reading)
