"""One visit of one task, wherever the task happens to be.

A visit opens the task's stores at the version that counts, works through its input in chunks, writes outputs and
changelogs where nobody sees them yet, and puts the task down again. Only a commit by the driver makes it count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Any

from headrace.batch.offsets import OffsetRange
from headrace.batch.progress import TaskProgress
from headrace.batch.restoring import restore_stale_stores
from headrace.batch.spool import Spool
from headrace.batch.user_code import user_code
from headrace.batch.visit_contract import VisitRequest, VisitResult, deliveries
from headrace.batch.visit_input import VisitInput
from headrace.batch.visit_output import VisitOutput
from headrace.failpoints import reach
from headrace.task.stream_task import Commit as TaskCommit
from headrace.task.stream_task import StreamTask

if TYPE_CHECKING:
    from headrace.batch.application import Application
    from headrace.broker.port import Broker

ASKED, STARTED, STORES_WRITTEN, STAGED = "visit.asked", "visit.started", "visit.stores-written", "visit.staged"
"""Failpoints."""

_LOCK_SECONDS = 30.0
"""How long to wait for the worker of an earlier attempt: Spark has given it up, but it may still hold the task."""


def run_visit(
    application: Application,
    request: VisitRequest,
    broker: Broker,
    sent: Spool,
    *,
    clock: Callable[[], int],
    global_stores: dict[str, Any] | None = None,
) -> VisitResult:
    """Do the work of one visit; records for other tasks go to ``sent``. An error leaves nothing behind that counts."""
    batch = request.batch
    reach(ASKED)
    with ExitStack() as ending:
        stage = ending.enter_context(broker.stage(application.id, batch.epoch, batch.batch_id, request.attempt))
        output = VisitOutput(application, request, stage, broker, sent)
        source = VisitInput(request, broker)
        task = _task(application, request, output, source, clock, global_stores or {})
        ending.callback(task.abandon)
        restored = _open(task, request, broker, application.id)
        reach(STARTED)
        with user_code(task.context):
            source.feed(task, batch.now_ms)
            task.punctuate_wall_clock()
            commit = task.commit()
        output.finish()
        # Ask the task before it closes. Closing writes its stores, and only after that the stage is complete.
        offsets = list(_offsets(request.reading.ranges, task, commit))
        next_punctuation_ms = task.next_wall_clock_punctuation_ms
        task.suspend()
        task.close()
        reach(STORES_WRITTEN)
        segments = stage.finish()
        reach(STAGED)
        ending.pop_all()
    return VisitResult(
        task=request.number,
        level=request.visit.level,
        attempt=request.attempt,
        segments=segments,
        offsets=offsets,
        progress=TaskProgress(request.stores.target, commit.kept, next_punctuation_ms, source.repartition_ends),
        records=source.count,
        dropped=dict(task.context.metrics.dropped_records_by_reason),
        lost=request.reading.lost,
        restored=[(*place, count) for place, count in restored.items()],
        sent=deliveries(sent),
        heard=request.heard,
    )


def _task(
    application: Application,
    request: VisitRequest,
    output: VisitOutput,
    source: VisitInput,
    clock: Callable[[], int],
    global_stores: dict[str, Any],
) -> StreamTask:
    return StreamTask(
        application.topology.task_plan(request.task.subtopology),
        application.config,
        output,
        partitions=application.topics.partitions_of(request.task),
        task_id=str(request.task),
        partition=request.task.partition,
        clock=clock,
        state_dir=application.state_dir(request.task),
        global_stores=global_stores,
        lag_of=source.lag_of,
        punctuated_nodes=request.visit.nodes,
    )


def _open(
    task: StreamTask, request: VisitRequest, broker: Broker, application: str
) -> Mapping[tuple[str, str, int], int]:
    """Open the task where the last visit left it; returns what had to be replayed from changelogs for that."""
    before, earlier = request.before, request.earlier
    opening = task.open(
        request.stores,
        positions=request.order.positions if earlier is None else None,
        kept=None if before is None else before.kept,
        wait_seconds=_LOCK_SECONDS,
        # A process that was replaced while it slept would take what its successor wrote for something uncommitted.
        check=partial(broker.check_lease, application, request.batch.epoch),
        state_id=request.batch.state_id,
    )
    staged = () if earlier is None else earlier.segments
    restored = restore_stale_stores(task, opening, broker, request.committed, staged, request.stores.anew)
    task.start(request.committed if before is None else {})
    return restored


def _offsets(
    ranges: Iterable[OffsetRange], task: StreamTask, commit: TaskCommit
) -> Iterator[tuple[str, int, int, str]]:
    """How far each range was read: to its end, gaps included, unless records of it were left for the next batch."""
    for each in ranges:
        partition = (each.topic, each.partition)
        known = commit.offsets.get(partition)
        yield (*partition, each.next_offset(task.next_offset(partition)), "" if known is None else known.metadata)
