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


class ReadingTime:
    """The time in which a batch may read. What is read then has to be committed, and worked on at later levels.

    >>> time = ReadingTime()
    >>> time.learn(reading=0.2, working=0.6)
    >>> round(time.seconds, 3)
    0.667
    """

    def __init__(self) -> None:
        self.seconds = FIRST

    def learn(self, reading: float, working: float) -> None:
        """For how long the tasks of a batch have read, and worked in all."""
        if working >= _TELLING:
            self.seconds = max(_LEAST, SECONDS * reading / working)
        elif self.seconds < FIRST:
            # Too short a time makes batches that never tell: one slow batch must not be remembered for ever.
            self.seconds = min(FIRST, 2 * self.seconds)
