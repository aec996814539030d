"""One visit of one task: what it is given, the work, and what it hands back. Runs wherever the task happens to be.

A visit opens the task's stores at the version that counts, works through its input in chunks, writes outputs and
changelogs where nobody sees them yet, and puts the task down again. Only a commit by the driver makes it count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from headrace.batch.offsets import OffsetRange
from headrace.batch.restoring import restore_stale_stores
from headrace.broker.port import LogRecord, OffsetAndMetadata, StagedSegment, TopicPartition
from headrace.partitioning import default_partition
from headrace.records import Headers
from headrace.state.rocksdb.visits import Visit as StoreVisit
from headrace.task.partition_group import RawRecord
from headrace.task.stream_task import Commit as TaskCommit
from headrace.task.stream_task import CommittedOffset, StreamTask

if TYPE_CHECKING:
    from headrace.batch.application import Application
    from headrace.batch.task_id import TaskId
    from headrace.broker.port import Broker, Stage

Sent = tuple[int, "bytes | None", "bytes | None", Headers]
"""A record on its way to another task: ``(timestamp, key, value, headers)``."""


@dataclass(frozen=True)
class VisitRequest:
    """What a task is asked to do."""

    task: TaskId
    batch_id: int
    epoch: int
    attempt: str
    stores: StoreVisit
    now_ms: int
    ranges: tuple[OffsetRange, ...] = ()
    """What to read from topics."""
    payloads: tuple[tuple[TopicPartition, list[LogRecord]], ...] = ()
    """What other tasks sent in this batch, per partition of a repartition topic."""
    kept: bytes | None = None
    """What the task remembered at the version it starts from."""
    committed: dict[TopicPartition, CommittedOffset] = field(default_factory=dict)
    positions: dict[TopicPartition, int] | None = None
    """The ends of the changelogs at the version it starts from, where that is a committed one."""
    fires_wall_clock: bool = True


@dataclass(frozen=True)
class VisitResult:
    """What a task hands back."""

    task: TaskId
    segments: list[StagedSegment]
    sent: dict[TopicPartition, list[Sent]]
    offsets: dict[TopicPartition, OffsetAndMetadata]
    kept: bytes
    next_punctuation_ms: int | None
    dropped: dict[str, int]


def run_visit(
    application: Application,
    request: VisitRequest,
    broker: Broker,
    *,
    clock: Callable[[], int],
    global_stores: dict[str, Any] | None = None,
) -> VisitResult:
    """Do the work of one visit. An error leaves nothing behind that counts."""
    with ExitStack() as ending:
        stage = ending.enter_context(
            broker.stage(application.id, request.epoch, request.batch_id, f"{request.task}-{request.attempt}")
        )
        output = _Output(application, stage, broker, request.now_ms)
        task = StreamTask(
            application.topology.task_plan(request.task.subtopology),
            application.config,
            output,
            partitions=application.topics.partitions_of(request.task),
            task_id=str(request.task),
            partition=request.task.partition,
            clock=clock,
            state_dir=application.state_dir(request.task),
            global_stores=global_stores or {},
            lag_of=(source := _Input(request, broker)).lag_of,
        )
        ending.callback(task.abandon)
        opening = task.open(request.stores, positions=request.positions, kept=request.kept)
        restore_stale_stores(task, opening, broker, request.committed)
        task.start(request.committed)
        source.feed(task, request.now_ms)
        if request.fires_wall_clock:
            task.punctuate_wall_clock()
        commit = task.commit()
        offsets = dict(_offsets(request.ranges, task, commit))
        next_ms = task.next_wall_clock_punctuation_ms
        dropped = dict(task.context.metrics.dropped_records_by_reason)
        task.close()
        segments = stage.finish()
        ending.pop_all()
    return VisitResult(request.task, segments, output.sent, offsets, commit.kept, next_ms, dropped)


def _offsets(
    ranges: Iterable[OffsetRange], task: StreamTask, commit: TaskCommit
) -> Iterator[tuple[TopicPartition, OffsetAndMetadata]]:
    """How far each range was read: to its end, gaps included, unless records of it were left for the next batch."""
    for each in ranges:
        partition = (each.topic, each.partition)
        known = commit.offsets.get(partition)
        left_over = known.offset if known is not None and task.buffered_of(partition) else None
        yield partition, OffsetAndMetadata(each.next_offset(left_over), "" if known is None else known.metadata)


class _Input:
    """Feeds a task in chunks: a partition of which there is more to read is waited for, as one that lags."""

    def __init__(self, request: VisitRequest, broker: Broker) -> None:
        self._chunks: dict[TopicPartition, Iterator[list[LogRecord]]] = {
            (each.topic, each.partition): broker.read(each.topic, each.partition, each.start, each.end)
            for each in request.ranges
            if each.size
        }
        self._chunks.update((partition, iter([records])) for partition, records in request.payloads)
        self._lags = {(each.topic, each.partition): each.lag for each in request.ranges}

    def lag_of(self, partition: TopicPartition) -> int:
        """How much may still come."""
        return 1 if partition in self._chunks else self._lags.get(partition, 0)

    def feed(self, task: StreamTask, now_ms: int) -> None:
        """Everything, in the order of time, until a partition runs dry of which there is more than this batch has."""
        while self._refill(task) or (task.has_records and task.is_processable(now_ms)):
            if not self._chunks and not any(self._lags.values()):
                task.process_all(now_ms)
            elif task.has_records and task.is_processable(now_ms):
                task.process(now_ms)
                task.punctuate_stream_time()

    def _refill(self, task: StreamTask) -> bool:
        """Read on where the task has nothing left; whether anything was read."""
        found = False
        for partition in [each for each in self._chunks if not task.buffered_of(each)]:
            records = next(self._chunks[partition], None)
            if records is None:
                del self._chunks[partition]
            else:
                task.add_records(partition, map(RawRecord._make, records))
            found = True
        return found


class _Output:
    """Where a task writes: repartition records are kept for the next level, the rest is staged."""

    def __init__(self, application: Application, stage: Stage, broker: Broker, now_ms: int) -> None:
        self.sent: dict[TopicPartition, list[Sent]] = {}
        self._stage = stage
        self._broker = broker
        self._now_ms = now_ms
        self._repartitions = application.repartition_topics
        self._partitions = dict(application.topics.partitions)
        self._turn = 0

    def send(
        self,
        topic: str,
        partition: int | None,
        timestamp: int | None,
        key: bytes | None,
        value: bytes | None,
        headers: Headers,
    ) -> None:
        """Take a record from the task."""
        if partition is None:
            partition = self._partition(topic, key)
        if timestamp is None:
            timestamp = self._now_ms
        if topic in self._repartitions:
            self.sent.setdefault((topic, partition), []).append((timestamp, key, value, headers))
        else:
            self._stage.append(topic, partition, timestamp, key, value, headers)

    def partitions_for(self, topic: str) -> int:
        """How many partitions a topic has; one that does not exist yet is made."""
        count = self._partitions.get(topic)
        if count is None:
            known = self._broker.topics()
            if topic not in known:
                self._broker.create_topic(topic)
                known = self._broker.topics()
            count = self._partitions[topic] = known[topic]
        return count

    def flush(self) -> None:
        """What is staged is made durable when the visit ends."""

    def _partition(self, topic: str, key: bytes | None) -> int:
        count = self.partitions_for(topic)
        if key is not None:
            return default_partition(key, count)
        # Records without a key go round, as a producer spreads them.
        self._turn += 1
        return self._turn % count
