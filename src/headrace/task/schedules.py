"""The punctuation schedules of a task as plain data: when each is due next, and which were cancelled.

A schedule is known by its node and its number among those that the node made. Nodes make the schedules of ``init``
anew whenever their task is opened; here they get their times back. One that was made later comes back if it calls a
method of the processor, which has a name; a function without one cannot be found again.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from headrace.processors.api import Punctuator
from headrace.task.punctuation import Punctuation, PunctuationQueue

log = logging.getLogger(__name__)


class SavedSchedule(msgspec.Struct, array_like=True, frozen=True):
    """One schedule. ``method`` is the name of what it calls, where that is a method of the processor."""

    node: str
    number: int
    due_ms: int
    interval_ms: int
    is_cancelled: bool
    method: str | None


class ScheduleSnapshot(msgspec.Struct, array_like=True, frozen=True):
    """All schedules of a task, those of each clock in the order of their queue."""

    made: dict[str, int]
    """How many each node has made so far."""
    made_in_init: dict[str, int]
    queues: list[list[SavedSchedule]]


class Schedules:
    """Numbers the schedules of a task, saves them and restores them."""

    def __init__(self, processors: Mapping[str, Any], queues: tuple[PunctuationQueue, ...]) -> None:
        self._processors = processors
        self._queues = queues
        self._made: Counter[str] = Counter()
        self._made_in_init: dict[str, int] = {}

    def number(self, punctuation: Punctuation) -> Punctuation:
        punctuation.number = self._made[punctuation.node]
        self._made[punctuation.node] += 1
        return punctuation

    def end_of_init(self) -> None:
        """All nodes are initialised. Schedules made from now on have to be restored when the task is opened again."""
        self._made_in_init = dict(self._made)

    def snapshot(self) -> ScheduleSnapshot:
        queues = [[self._saved(schedule) for schedule in queue.waiting] for queue in self._queues]
        return ScheduleSnapshot(dict(self._made), self._made_in_init, queues)

    def apply(self, snapshot: ScheduleSnapshot) -> None:
        """Restore the times of the schedules that the nodes just made, and the schedules that were made later."""
        known = {(schedule.node, schedule.number) for schedules in snapshot.queues for schedule in schedules}
        for queue, schedules in zip(self._queues, snapshot.queues, strict=True):
            anew = {(schedule.node, schedule.number): schedule for schedule in queue.waiting}
            restored = [self._restored(schedule, anew) for schedule in schedules]
            for place, schedule in anew.items():
                # It was cancelled before. A schedule that a changed program makes for the first time is kept.
                schedule.is_cancelled = place not in known and schedule.number < snapshot.made_in_init.get(place[0], 0)
            queue.replace([*restored, *(schedule for schedule in anew.values() if not schedule.is_cancelled)])
        self._made.update({node: max(0, count - self._made[node]) for node, count in snapshot.made.items()})

    def _saved(self, schedule: Punctuation) -> SavedSchedule:
        name = self._method_name(schedule)
        if name is None and not schedule.is_cancelled and schedule.number >= self._made_in_init.get(schedule.node, 0):
            log.warning(
                "a punctuation of node %s ends: it was scheduled after init() and calls no method of the processor",
                schedule.node,
            )
        return SavedSchedule(
            schedule.node, schedule.number, schedule.due_ms, schedule.interval_ms, schedule.is_cancelled, name
        )

    def _restored(self, saved: SavedSchedule, anew: dict[tuple[str, int], Punctuation]) -> Punctuation:
        schedule = anew.pop((saved.node, saved.number), None)
        if schedule is not None and schedule.interval_ms == saved.interval_ms:
            schedule.due_ms, schedule.is_cancelled = saved.due_ms, saved.is_cancelled
            return schedule
        punctuator = self._method(saved) if schedule is None else schedule.punctuator
        is_cancelled = saved.is_cancelled or punctuator is None
        interval_ms = saved.interval_ms if schedule is None else schedule.interval_ms
        return Punctuation(saved.node, saved.due_ms, interval_ms, punctuator or _nothing, is_cancelled, saved.number)

    def _method_name(self, schedule: Punctuation) -> str | None:
        owner = getattr(schedule.punctuator, "__self__", None)
        name = getattr(schedule.punctuator, "__name__", None)
        known = any(owner is candidate for candidate in self._owners(schedule.node))
        return name if known and isinstance(name, str) and callable(getattr(owner, name, None)) else None

    def _method(self, saved: SavedSchedule) -> Punctuator | None:
        if saved.method is None:
            return None
        found = (getattr(owner, saved.method, None) for owner in self._owners(saved.node))
        return next((method for method in found if callable(method)), None)

    def _owners(self, node: str) -> Iterable[Any]:
        """The user's processor, before the operator that may be wrapped around it."""
        processor = self._processors.get(node)
        return [owner for owner in (getattr(processor, "inner", None), processor) if owner is not None]


def _nothing(_: int) -> None: ...
