"""Punctuation: calls into a node at intervals of stream time or wall-clock time.

A schedule that is due fires once per check, however many of its intervals have passed, and then moves to the
next point of its grid.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

from headrace.processors.api import Punctuator
from headrace.task.priority_queue import PriorityQueue


@dataclass(slots=True)
class Punctuation:
    """One schedule: who is called, when next, how often. It is its own handle for ``cancel``."""

    node: str
    due_ms: int
    interval_ms: int
    punctuator: Punctuator
    is_cancelled: bool = False
    number: int = 0
    """Which one it is among those that its node has scheduled."""

    def cancel(self) -> None:
        """Never call the punctuator again; also from inside the punctuator."""
        self.is_cancelled = True

    def move_past(self, now_ms: int) -> None:
        """Become due at the next point of the grid that lies after ``now_ms``."""
        next_ms = self.due_ms + self.interval_ms
        if now_ms >= next_ms:
            next_ms = self.due_ms + ((now_ms - self.due_ms) // self.interval_ms + 1) * self.interval_ms
        self.due_ms = next_ms


class PunctuationQueue:
    """The schedules of one clock, earliest first."""

    __slots__ = ("_queue",)

    def __init__(self) -> None:
        self._queue: PriorityQueue[Punctuation] = PriorityQueue(lambda punctuation: punctuation.due_ms)

    @property
    def waiting(self) -> Sequence[Punctuation]:
        """The schedules; a view that stays up to date."""
        return self._queue.items

    def schedule(self, punctuation: Punctuation) -> Punctuation:
        """Add a schedule; it is also the handle to cancel it."""
        self._queue.offer(punctuation)
        return punctuation

    @property
    def next_due_ms(self) -> int | None:
        self._forget_cancelled()
        head = self._queue.peek()
        return None if head is None else head.due_ms

    def fire(self, now_ms: int, call: Callable[[Punctuation, int], None], nodes: Collection[str] | None = None) -> bool:
        """Call every schedule that is due, each once; True where one was called. ``nodes``: only those of these."""
        fired = False
        set_aside = []
        while (head := self._queue.peek()) is not None and head.due_ms <= now_ms:
            self._queue.poll()
            if head.is_cancelled:
                continue
            if nodes is not None and head.node not in nodes:
                set_aside.append(head)
                continue
            call(head, now_ms)
            fired = True
            if not head.is_cancelled:
                head.move_past(now_ms)
                self._queue.offer(head)
        for punctuation in set_aside:
            self._queue.offer(punctuation)
        return fired

    def clear(self) -> None:
        self._queue.clear()

    def replace(self, punctuations: Iterable[Punctuation]) -> None:
        """Replace all schedules by these, which are in the order of ``waiting``."""
        self._queue.clear()
        for punctuation in punctuations:
            self._queue.offer(punctuation)

    def _forget_cancelled(self) -> None:
        while (head := self._queue.peek()) is not None and head.is_cancelled:
            self._queue.poll()
