"""The batch engine in one process: the levels of a batch one after another, task by task, then the commit.

What makes a batch is the same wherever tasks run: the plan, the visits, the notes and the one commit. Here tasks run in
the calling thread, and what they send to each other stays in memory.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from types import TracebackType
from typing import TYPE_CHECKING, Any

from headrace.batch.application import Application, lay_out
from headrace.batch.compatibility import compare
from headrace.batch.fingerprint import Fingerprint, fingerprint
from headrace.batch.levels import Visit
from headrace.batch.offsets import BatchPlan, OffsetRange, Timers, plan_batch
from headrace.batch.positions import PartitionState
from headrace.batch.progress import Progress, TaskProgress
from headrace.batch.task_id import TaskId
from headrace.batch.visiting import VisitRequest, VisitResult, run_visit
from headrace.broker.port import Commit, LogRecord, OffsetAndMetadata, StagedSegment, TopicPartition
from headrace.state.rocksdb.visits import Version
from headrace.state.rocksdb.visits import Visit as StoreVisit
from headrace.task.global_task import GlobalTask
from headrace.task.partition_group import RawRecord
from headrace.task.stream_task import CommittedOffset, system_clock

if TYPE_CHECKING:
    from headrace.broker.port import Broker
    from headrace.topology import Topology


class LocalEngine:
    """Runs an application batch by batch. A context manager; ``close`` gives the application back.

    Only one process runs an application at a time: a second one is refused (LeaseHeldError).
    """

    def __init__(
        self,
        topology: Topology,
        settings: Mapping[str, Any],
        broker: Broker,
        *,
        clock: Callable[[], int] = system_clock,
    ) -> None:
        self._broker = broker
        self._clock = clock
        self.application: Application = lay_out(topology, settings, broker)
        with ExitStack() as undoing:
            self._lease = undoing.enter_context(broker.acquire_lease(self.application.id))
            self._progress = Progress(broker.last_committed(self.application.id))
            self._check_upgrade()
            self._global_task = self._start_global_task()
            undoing.pop_all()
        self._resets = self.application.reset_policies()
        self.dropped_records: dict[str, int] = {}

    # Batches

    def run_batch(self) -> bool:
        """Process what there is to process and commit it; False where nothing was due."""
        self._lease.renew()
        self._update_global_stores()
        plan = self._plan()
        if not plan.is_due and not self._progress.carried:
            return False
        batch = _Batch(self, plan)
        for number, level in enumerate(self.application.levels.levels):
            for visit in level:
                batch.run(visit, number)
        batch.commit()
        return True

    def run_until_idle(self) -> int:
        """Batch after batch, until nothing is due; how many."""
        count = 0
        while self.run_batch():
            count += 1
        return count

    def close(self) -> None:
        """Give the application back."""
        if self._global_task is not None:
            self._global_task.close()
        self._lease.release()

    def __enter__(self) -> LocalEngine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    # Inside

    def _plan(self) -> BatchPlan:
        broker, now_ms = self._broker, self._clock()
        partitions = [
            (topic, partition)
            for topic in self._resets
            for partition in range(self.application.topics.partitions[topic])
        ]
        starts, ends = broker.start_offsets(partitions), broker.end_offsets(partitions)
        committed = broker.committed(self.application.id)
        states = [
            PartitionState(
                topic,
                partition,
                starts[topic, partition],
                ends[topic, partition],
                committed[topic, partition].offset if (topic, partition) in committed else None,
                self._resets[topic],
            )
            for topic, partition in partitions
        ]
        due = [task.next_punctuation_ms for task in self._progress.tasks.values()]
        return plan_batch(
            states,
            now_ms=now_ms,
            limit=self.application.config["max.records.per.batch"],
            timers=Timers(punctuation_ms=min((ms for ms in due if ms is not None), default=None)),
            offset_for_time=lambda topic, partition, ms: broker.offsets_for_time({(topic, partition): ms})[
                topic, partition
            ],
        )

    def _check_upgrade(self) -> None:
        """A topology that cannot go on with the state there is, is refused; stores that moved are rebuilt."""
        now = fingerprint(self.application.topology, self.application.topics)
        if self._progress.fingerprint is not None:
            upgrade = compare(Fingerprint.from_json(self._progress.fingerprint), now)
            upgrade.check(self.application.id)
            if upgrade.moves or upgrade.rebuilt:
                self._start_over_locally()
        self._progress.fingerprint = now.to_json()

    def _start_over_locally(self) -> None:
        # The changelogs are the truth: local copies under other names are of no use.
        for task in self.application.topics.task_ids():
            shutil.rmtree(self.application.state_dir(task), ignore_errors=True)

    def _start_global_task(self) -> GlobalTask | None:
        plan = self.application.topology.global_plan()
        if plan is None:
            return None
        directory = self.application.config.state_dir / self.application.id / "global"
        shutil.rmtree(directory, ignore_errors=True)
        task = GlobalTask(plan, self.application.config, clock=self._clock, state_dir=directory)
        task.initialize()
        return task

    def _update_global_stores(self) -> None:
        task = self._global_task
        if task is None:
            return
        counts = self._broker.topics()
        for topic in self.application.topics.global_topics:
            for partition in range(counts[topic]):
                start = task.offsets.get((topic, partition))
                if start is None:
                    start = self._broker.start_offsets([(topic, partition)])[topic, partition]
                for records in self._broker.read(topic, partition, start):
                    for record in records:
                        task.update(RawRecord._make(record))
        task.flush()

    @property
    def _global_stores(self) -> dict[str, Any]:
        return {} if self._global_task is None else self._global_task.stores


class _Batch:
    """One batch on its way: the results of its visits so far."""

    def __init__(self, engine: LocalEngine, plan: BatchPlan) -> None:
        self._engine = engine
        self._application = engine.application
        self._progress = engine._progress
        self._broker = engine._broker
        self.batch_id = self._progress.batch_id + 1
        self._now_ms = engine._clock()
        self._ranges = {(each.topic, each.partition): each for each in plan.ranges}
        self._committed = {
            partition: CommittedOffset(*offset)
            for partition, offset in self._broker.committed(self._application.id).items()
        }
        self._payloads: dict[TopicPartition, list[LogRecord]] = dict(self._progress.carried)
        self._progress.carried = {}
        self._segments: list[StagedSegment] = []
        self._offsets: dict[TopicPartition, OffsetAndMetadata] = {
            (each.topic, each.partition): OffsetAndMetadata(each.start) for each in plan.ranges if each.is_reset
        }
        self._visited: dict[TaskId, TaskProgress] = {}

    def run(self, visit: Visit, level: int) -> None:
        """Visit the tasks of a sub-topology that have something to do at this level."""
        for partition in range(self._application.topics.tasks[visit.subtopology]):
            task = TaskId(visit.subtopology, partition)
            ranges = tuple(self._take_ranges(visit, partition))
            payloads = tuple(self._take_payloads(visit, partition))
            if ranges or payloads or self._is_punctuation_due(task):
                self._take(run_visit_here(self._engine, self._request(task, level, ranges, payloads)), level)

    def commit(self) -> None:
        """Make everything visible at once."""
        progress = self._progress
        progress.batch_id = self.batch_id
        progress.tasks.update(self._visited)
        progress.carried = self._payloads
        self._broker.commit(
            Commit(
                self._application.id,
                self._engine._lease.epoch,
                self.batch_id,
                self._segments,
                self._offsets,
                progress.notes(self._visited),
            )
        )

    def _request(
        self,
        task: TaskId,
        level: int,
        ranges: tuple[OffsetRange, ...],
        payloads: tuple[tuple[TopicPartition, list[LogRecord]], ...],
    ) -> VisitRequest:
        before = self._visited.get(task) or self._progress.tasks.get(task)
        return VisitRequest(
            task=task,
            batch_id=self.batch_id,
            epoch=self._engine._lease.epoch,
            attempt=f"{self.batch_id}-{level}",
            stores=StoreVisit(None if before is None else before.version, Version(self.batch_id, level)),
            now_ms=self._now_ms,
            ranges=ranges,
            payloads=payloads,
            kept=None if before is None else before.kept,
            committed=self._committed_of(task) if before is None else {},
            positions=None if task in self._visited else self._changelog_ends(task),
        )

    def _committed_of(self, task: TaskId) -> dict[TopicPartition, CommittedOffset]:
        own = self._application.topics.partitions_of(task)
        return {partition: self._committed[partition] for partition in own if partition in self._committed}

    def _changelog_ends(self, task: TaskId) -> dict[TopicPartition, int]:
        plan = self._application.topology.task_plan(task.subtopology)
        return self._broker.end_offsets((topic, task.partition) for topic in set(plan.store_to_changelog.values()))

    def _take_ranges(self, visit: Visit, partition: int) -> Iterable[OffsetRange]:
        for topic in visit.topics:
            if (topic, partition) in self._ranges:
                yield self._ranges.pop((topic, partition))

    def _take_payloads(self, visit: Visit, partition: int) -> Iterable[tuple[TopicPartition, list[LogRecord]]]:
        for topic in visit.topics:
            if (topic, partition) in self._payloads:
                yield (topic, partition), self._payloads.pop((topic, partition))

    def _is_punctuation_due(self, task: TaskId) -> bool:
        progress = self._progress.tasks.get(task)
        due_ms = None if progress is None or task in self._visited else progress.next_punctuation_ms
        return due_ms is not None and due_ms <= self._now_ms

    def _take(self, result: VisitResult, level: int) -> None:
        self._segments += result.segments
        self._offsets.update(result.offsets)
        self._visited[result.task] = TaskProgress(self.batch_id, level, result.kept, result.next_punctuation_ms)
        ends = self._progress.repartition_ends
        for (topic, partition), sent in result.sent.items():
            records = self._payloads.setdefault((topic, partition), [])
            for timestamp, key, value, headers in sent:
                offset = ends.get((topic, partition), 0)
                ends[topic, partition] = offset + 1
                records.append((topic, partition, offset, timestamp, key, value, headers))
        for reason, count in result.dropped.items():
            self._engine.dropped_records[reason] = self._engine.dropped_records.get(reason, 0) + count


def run_visit_here(engine: LocalEngine, request: VisitRequest) -> VisitResult:
    """Run a visit in this process."""
    return run_visit(
        engine.application, request, engine._broker, clock=engine._clock, global_stores=engine._global_stores
    )
