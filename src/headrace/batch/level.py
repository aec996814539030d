"""One level of a batch, for the tasks of one worker: opens the parcels, visits, and sends what comes of it."""

from __future__ import annotations

import gc
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import msgspec

from headrace.batch.order import BatchOrder
from headrace.batch.parcels import Kind, Parcel
from headrace.batch.reading import Reading
from headrace.batch.spool import Spool
from headrace.batch.visit_contract import VisitRequest, VisitResult
from headrace.batch.visiting import OpenTasks
from headrace.errors import HeadraceError
from headrace.task.failures import add_line

if TYPE_CHECKING:
    from headrace.application.layout import Application

read_result = msgspec.msgpack.Decoder(VisitResult).decode
_read_reading = msgspec.msgpack.Decoder(Reading).decode
_YOUNG_OBJECTS = 50_000
_LEAST_SHARE = 0.25
"""So much of its part a task gets in any case: one whose records take long does not leave the others none."""


class Level:
    """One level of one batch. ``run`` may be called for any part of its tasks, anywhere, and again after a failure."""

    def __init__(
        self,
        application: Application,
        batch: BatchOrder,
        number: int,
        tasks: OpenTasks,
        *,
        clock: Callable[[], int],
        global_stores: dict[str, Any],
    ) -> None:
        self._application = application
        self._task_ids = application.topics.task_ids()
        self._batch = batch
        self._number = number
        self._tasks = tasks
        self._clock = clock
        self._global_stores = global_stores
        self._left_seconds = batch.reading_seconds
        self._least_seconds = 0.0

    def run(self, parcels: Iterable[Parcel]) -> Iterator[Parcel]:
        """Visit the tasks that parcels came for; yields what goes to the next level.

        What is not for this level is handed on at once, so that only what is needed here is held.
        """
        with _fewer_collections(), ExitStack() as ending:
            inbox = _Inbox(self._number, ending)
            for parcel in parcels:
                inbox.take(parcel)
                if not parcel.is_opened_at(self._number):
                    yield parcel
            self._least_seconds = _LEAST_SHARE * (self._left_seconds or 0.0) / max(1, len(inbox.readings))
            for number in sorted(inbox.numbers):
                yield from self._visit(number, inbox)

    def _share(self, inbox: _Inbox) -> float | None:
        """For how long the next task may read: those that read divide what is left, or get what each has at least."""
        if self._left_seconds is None:
            return None
        return max(self._least_seconds, self._left_seconds / max(1, len(inbox.readings)))

    def _visit(self, number: int, inbox: _Inbox) -> Iterator[Parcel]:
        task = self._task_ids[number]
        visit = next(each for each in self._application.levels.levels[self._number] if each.subtopology == task[0])
        share = self._share(inbox)
        request = VisitRequest(
            number=number,
            task=task,
            visit=visit,
            batch=self._batch,
            attempt=f"{task}-{self._number}-{uuid.uuid4().hex[:12]}",
            reading=inbox.readings.pop(number, Reading()),
            records=inbox.records.get(number, {}),
            earlier=inbox.earlier.get(number),
            reading_seconds=share,
        )
        with Spool() as sent:
            try:
                result = self._tasks.visit(request, sent, clock=self._clock, global_stores=self._global_stores)
            except HeadraceError as error:
                nodes = self._application.topology.graph.nodes
                add_line(error, {name: node.built_at for name, node in nodes.items()})
                raise
            yield from sent
        if self._left_seconds is not None:
            self._left_seconds = max(0.0, self._left_seconds - result.reading_seconds)
        yield Parcel(
            number,
            Kind.RESULT,
            self._number,
            sent_at=self._number,
            sender=number,
            attempt=request.attempt,
            data=msgspec.msgpack.encode(result),
        )


class _Inbox:
    """What came for the tasks of a level."""

    def __init__(self, level: int, ending: ExitStack) -> None:
        self._level = level
        self._ending = ending
        self.readings: dict[int, Reading] = {}
        self.records: dict[int, dict[str, Spool]] = {}
        self.earlier: dict[int, VisitResult] = {}
        self.numbers: set[int] = set()

    def take(self, parcel: Parcel) -> None:
        """Put it where it belongs."""
        number = parcel.target
        if parcel.is_opened_at(self._level):
            self.numbers.add(number)
            if parcel.kind == Kind.READING:
                self.readings[number] = _read_reading(parcel.data)
            else:
                self._spool(number, parcel.topic).add(parcel)
        elif parcel.kind == Kind.RESULT and (number not in self.earlier or self.earlier[number].level < parcel.level):
            self.earlier[number] = read_result(parcel.data)

    def _spool(self, number: int, topic: str) -> Spool:
        spools = self.records.setdefault(number, {})
        if topic not in spools:
            spools[topic] = self._ending.enter_context(Spool())
        return spools[topic]


@contextmanager
def _fewer_collections() -> Iterator[None]:
    """Let Python's garbage collector run after 50,000 new objects instead of 700.

    A task makes many small objects that live as long as the chunk or the cache they are in. Looking at them again and
    again took a fifth of the time of word count, and found nothing.
    """
    before = gc.get_threshold()
    gc.set_threshold(_YOUNG_OBJECTS, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
