"""The straight line of a batch: planned, begun, run as a job, decided. The same for every engine but for the job."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeAlias

from headrace.batch.offsets import BatchPlan
from headrace.batch.order import BatchOrder
from headrace.batch.parcels import Parcel
from headrace.batch.reports import BatchReport, BatchUnderWay
from headrace.errors import (
    HeadraceError,
    NotDecidedError,
    OffsetOutOfRangeError,
    TaskCorruptedError,
    TaskMigratedError,
    in_short,
)
from headrace.failpoints import reach

if TYPE_CHECKING:
    from headrace.batch.coordinator import Coordinator
    from headrace.batch.reading_time import ReadingTime

log = logging.getLogger(__name__)
_pause = time.sleep

BEFORE_JOB, AFTER_JOB, AFTER_COMMIT = "batch.before-job", "batch.after-job", "batch.after-commit"
"""Failpoints."""

Job: TypeAlias = Callable[[BatchOrder, list[Parcel]], Iterable[Parcel]]
"""Runs the tasks of a batch, level by level, given what they read; what comes back is for the decision."""

_TRIES = 3
_PAUSE_SECONDS = 0.05
"""After a batch whose tasks all wait for a partition that is idle (``max.task.idle.ms``): only time helps them."""


class BatchRunner:
    """Runs one batch after another. ``plan`` and ``run`` take turns, in whichever threads they are called."""

    def __init__(
        self,
        coordinator: Coordinator,
        job: Job,
        on_batch: Callable[[BatchReport], None],
        time: ReadingTime | None = None,
    ) -> None:
        """``time`` says for how long a batch reads where no setting says how much; without one there is no limit."""
        self._coordinator = coordinator
        self._job = job
        self._on_batch = on_batch
        self._time = time
        self._planned = BatchPlan()
        self._waiting = 0
        self._has_punctuated = False
        self.under_way: BatchUnderWay | None = None
        self.count = 0
        """How many batches were run."""

    def plan(self) -> bool:
        """Plan the next batch; whether anything is due."""
        planned = self._coordinator.plan()
        if self._waiting and self._has_punctuated and not planned.ranges:
            planned = BatchPlan()
        self._planned = planned
        return not planned.is_empty

    def run(self) -> BatchReport | None:
        """Run what is planned, once; None where nothing is."""
        planned, self._planned = self._planned, BatchPlan()
        if planned.is_empty:
            return None
        report = self._decided(planned)
        self._has_punctuated = not planned.ranges
        reach(AFTER_COMMIT)
        if self._time is not None:
            self._time.learn(report.reading_seconds, report.working_seconds)
        self.count += 1
        self._on_batch(report)
        if not report.has_advanced:
            _pause(_PAUSE_SECONDS)
        return report

    def publish(self) -> None:
        """Wait until what is decided can be seen. Where that fails, the next plan tries again."""
        try:
            self._coordinator.publish()
        except HeadraceError as error:
            log.warning("what was decided is published later: %s", in_short(error))

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Somebody waits until nothing is due. A batch that only punctuates is not followed by another one meanwhile.

        A punctuation that is due again before its batch is done would keep them waiting for ever.
        """
        self._waiting += 1
        self._has_punctuated = False
        try:
            yield
        finally:
            self._waiting -= 1

    def _decided(self, planned: BatchPlan) -> BatchReport:
        """Run it again where a worker was lost in the middle, or where a task found its local state corrupt.

        That state has been removed then, and comes back from the changelog. Also where the broker did not take it, and,
        planned anew, where retention has removed what it was to read: whether to go on then is for the plan to say.
        """
        for left in reversed(range(_TRIES)):
            batch = self._coordinator.begin(None if self._time is None else self._time.seconds)
            try:
                return self._coordinator.decide(batch, planned, self._run_job(batch, planned))
            except (TaskMigratedError, TaskCorruptedError, NotDecidedError, OffsetOutOfRangeError) as error:
                if not left:
                    raise
                log.warning("running batch %d again: %s", batch.batch_id, in_short(error))
                if isinstance(error, OffsetOutOfRangeError):
                    planned = self._coordinator.plan()
            finally:
                self.under_way = None
        raise AssertionError("not reached: the last try returns or raises")

    def _run_job(self, batch: BatchOrder, planned: BatchPlan) -> Iterable[Parcel]:
        self.under_way = BatchUnderWay(batch.batch_id, planned.records, batch.now_ms / 1000)
        reach(BEFORE_JOB)
        done = self._job(batch, self._coordinator.parcels(planned))
        reach(AFTER_JOB)
        return done
