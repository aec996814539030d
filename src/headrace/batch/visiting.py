"""Visits to tasks, wherever the tasks happen to be.

A visit begins at the version that counts, works through its input in chunks, and writes outputs and changelogs where
nobody sees them yet. Only a commit by the driver makes it count. After it the task stays open for the next one: opening
and closing its stores takes longer than the work of a small batch.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from headrace.application.progress import TaskProgress
from headrace.application.restoring import restore_stale_stores
from headrace.application.task_id import TaskId
from headrace.batch.spool import Spool
from headrace.batch.task_input import TaskInput
from headrace.batch.user_code import user_code
from headrace.batch.visit_contract import VisitRequest, VisitResult, deliveries
from headrace.batch.visit_output import VisitOutput
from headrace.failpoints import reach
from headrace.state.version import Version
from headrace.task import commit_metadata
from headrace.task.failures import headline
from headrace.task.stream_task import StreamTask
from headrace.task.versioned_task import Commit as TaskCommit
from headrace.task.versioned_task import VersionedTask

if TYPE_CHECKING:
    from headrace.application.layout import Application
    from headrace.broker.port import Broker, Handover, TopicPartition

log = logging.getLogger(__name__)

ASKED, STARTED, STORES_WRITTEN, STAGED = "visit.asked", "visit.started", "visit.stores-written", "visit.staged"
"""Failpoints."""

_LOCK_SECONDS = 30.0
"""How long to wait for another process that holds the task, because it ran an earlier attempt or an earlier batch."""


class OpenTasks:
    """The tasks that this process has open. A task that was visited elsewhere meanwhile is opened anew."""

    def __init__(
        self, application: Application, broker: Broker, doing: Callable[[str], None] = lambda what: None
    ) -> None:
        """``doing`` hears of each visit before it begins."""
        self._application = application
        self._broker = broker
        self._doing = doing
        self._open: dict[TaskId, _OpenTask] = {}

    def visit(
        self, request: VisitRequest, sent: Spool, *, clock: Callable[[], int], global_stores: dict[str, Any]
    ) -> VisitResult:
        """Do the work of one visit; records for other tasks go to ``sent``.

        After an error nothing of it counts, and the task is closed.
        """
        self._doing(request.place)
        reach(ASKED)
        task = self._open.pop(request.task, None)
        if task is not None and task.version != request.stores.base:
            task.abandon()
            task = None
        if task is None:
            task = _OpenTask(self._application, request.task, self._broker, global_stores)
        try:
            result = task.visit(request, sent, clock)
        except BaseException:
            task.abandon()
            raise
        self._open[request.task] = task
        return result

    def close(self) -> None:
        """Close them all. What was not committed is undone when they are opened again."""
        while self._open:
            name, task = self._open.popitem()
            try:
                task.close()
            except Exception as error:
                # Nothing is lost by it: everything that was committed is in the changelogs.
                log.warning("could not close the task %s: %s", name, headline(error))
                task.abandon()


class _OpenTask:
    """One task, and what it needs of its host: input, output and the time, visit by visit."""

    _clock: Callable[[], int]

    def __init__(self, application: Application, task: TaskId, broker: Broker, global_stores: dict[str, Any]) -> None:
        self.version: Version | None = None
        """What its stores reflect; None before the first visit."""
        self._application = application
        self._broker = broker
        self._output = VisitOutput(application, broker)
        self._dropped: Counter[str] = Counter()
        self._task = StreamTask(
            application.topology.task_plan(task.subtopology),
            application.config,
            self._output,
            partitions=application.topics.partitions_of(task),
            task_id=str(task),
            partition=task.partition,
            clock=lambda: self._clock(),
            state_dir=application.state_dir(task),
            global_stores=global_stores,
            lag_of=lambda partition: self._input.lag_of(partition),
        )
        self._input = TaskInput(self._task, broker, application.repartition_topics)
        self._versioned = VersionedTask(self._task)

    def visit(self, request: VisitRequest, sent: Spool, clock: Callable[[], int]) -> VisitResult:
        """Do the work; where it fails, ``abandon`` has to follow."""
        batch, task, broker = request.batch, self._task, self._broker
        self._clock = clock
        with broker.stage(self._application.id, batch.epoch, batch.batch_id, request.attempt) as stage:
            self._output.begin(request, stage, sent)
            with user_code(task.context, "the start of the task"):
                restored = self._begin(request)
            self._input.begin(request)
            reach(STARTED)
            begin = time.monotonic()
            with user_code(task.context):
                self._input.feed(batch.now_ms, request.reading_seconds)
                task.punctuate_wall_clock()
                commit = self._versioned.commit()
            self._output.finish()
            reach(STORES_WRITTEN)
            staged = stage.finish()
            working = time.monotonic() - begin
            reach(STAGED)
        written = sum(count for topic, count in stage.counts.items() if topic not in self._application.internal_topics)
        self.version = request.stores.target
        return self._result(request, commit, (staged, written), sent, restored, working)

    def close(self) -> None:
        """Close the nodes and the stores."""
        self._task.suspend()
        self._versioned.close()

    def abandon(self) -> None:
        """Close the task, and undo what was not committed."""
        self._versioned.abandon()

    def _begin(self, request: VisitRequest) -> Mapping[tuple[str, str, int], int]:
        positions = request.order.positions if request.earlier is None else None
        if self.version is None:
            return self._open(request, positions)
        self._versioned.go_on(request.stores, positions=positions, punctuated_nodes=request.visit.nodes)
        return {}

    def _open(
        self, request: VisitRequest, positions: Mapping[TopicPartition, int] | None
    ) -> Mapping[tuple[str, str, int], int]:
        """Open the task where its last visit left it; returns what had to be replayed from changelogs for that."""
        before, earlier, task = request.before, request.earlier, self._versioned
        opening = task.open(
            request.stores,
            positions=positions,
            snapshot=None if before is None or before.is_taken_over else before.snapshot,
            wait_seconds=_LOCK_SECONDS,
            # A process that was replaced while it slept would take what its successor wrote for something uncommitted.
            check=partial(self._broker.check_lease, self._application.id, request.batch.epoch),
            state_id=request.batch.state_id,
        )
        staged = None if earlier is None else earlier.staged
        restored = restore_stale_stores(task, opening, self._broker, request.committed, staged, request.stores.anew)
        is_first = before is None or before.is_taken_over
        task.start(request.committed if is_first else {}, punctuated_nodes=request.visit.nodes)
        return restored

    def _result(
        self,
        request: VisitRequest,
        commit: TaskCommit,
        staged: tuple[Handover, int],
        sent: Spool,
        restored: Mapping[tuple[str, str, int], int],
        working_seconds: float,
    ) -> VisitResult:
        task, source = self._task, self._input
        offsets = list(_offsets(request, source, commit))
        progress = TaskProgress(
            request.stores.target,
            commit.snapshot,
            task.next_wall_clock_punctuation_ms,
            source.repartition_ends,
            offsets=_noted(request.before, offsets),
        )
        dropped = Counter(task.context.metrics.dropped_records_by_reason)
        new_drops, self._dropped = dropped - self._dropped, dropped
        return VisitResult(
            task=request.number,
            level=request.visit.level,
            attempt=request.attempt,
            staged=staged[0],
            written=staged[1],
            offsets=offsets,
            progress=progress,
            records=source.count,
            dropped=dict(new_drops),
            lost=request.reading.lost,
            restored=[(*place, count) for place, count in restored.items()],
            sent=deliveries(sent),
            heard=request.heard,
            reading_seconds=source.seconds if request.reading.ranges else 0.0,
            working_seconds=working_seconds,
        )


def _offsets(request: VisitRequest, source: TaskInput, commit: TaskCommit) -> Iterator[tuple[str, int, int, str]]:
    """How far each range was read: to its end, gaps included, unless records of it were left for the next batch.

    A repartition topic that Kafka Streams has read from stays where it is, but its time goes on: it is needed there.
    """
    read, committed, batch_id = set(), request.committed, request.batch.batch_id
    for each in request.reading.ranges:
        partition = (each.topic, each.partition)
        read.add(partition)
        # A range of gaps only has no times of its own.
        known = commit.offsets.get(partition) or committed.get(partition)
        numbered = commit_metadata.with_number("" if known is None else known.metadata, commit_metadata.BATCH, batch_id)
        yield (*partition, source.next_offset(each), numbered)
    for topic in request.records:
        partition = (topic, request.task.partition)
        if partition in committed and partition in commit.offsets and partition not in read:
            yield (*partition, committed[partition].offset, commit.offsets[partition].metadata)


def _noted(before: TaskProgress | None, offsets: Iterable[tuple[str, int, int, str]]) -> dict[str, int] | None:
    """What is committed of each topic after the visit; None stays None: then it is not known of all of them."""
    known = {} if before is None else before.offsets
    return None if known is None else {**known, **{topic: offset for topic, _, offset, _ in offsets}}
