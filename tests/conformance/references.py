"""What an engine is compared with: the test driver, or for several tasks one task of it per partition.

Both take one record at a time and commit after each, so that the order of everything is the order of the input.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from headrace import Topology, TopologyTestDriver
from headrace.application.task_id import TaskId
from headrace.application.topics import TopicPlan
from headrace.config import StreamsConfig
from headrace.partitioning import default_partition
from headrace.records import Headers, raw_record
from headrace.task.global_task import GlobalTask
from headrace.task.stream_task import StreamTask
from headrace.topology import TopologyPlan
from tests.conformance.case_inputs import Piped

NO_THROTTLE = {
    "__emit.interval.ms.kstreams.outer.join.spurious.results.fix__": 0,
    "__emit.interval.ms.kstreams.windowed.aggregation__": 0,
}
"""Without these, results that wait for a window to close would be held back for a second; the driver sets them, too."""


class Written(NamedTuple):
    """A record that a task wrote. Without a partition it may go to any."""

    task: str
    topic: str
    partition: int | None
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: Headers


class Reference(Protocol):
    """Takes the input of a case one by one."""

    def pipe(self, record: Piped) -> None:
        """Process a record and all that follows from it."""

    def advance(self, ms: int) -> None:
        """Move the wall clock; what is due fires."""

    def take(self) -> list[Written]:
        """What was written since the last time."""

    def close(self) -> None:
        """Let go of the stores."""


class DriverReference:
    """The test driver: one task, one partition of everything."""

    def __init__(self, topology: Topology, settings: dict[str, Any], wall_clock_ms: int) -> None:
        self._driver = TopologyTestDriver(topology, settings, wall_clock_ms)
        self._taken = 0

    def pipe(self, record: Piped) -> None:
        """Through the driver."""
        self._driver.pipe_record(*record)

    def advance(self, ms: int) -> None:
        """Of the driver."""
        self._driver.advance_wall_clock_time(ms)

    def take(self) -> list[Written]:
        """All of the driver's records are in partition 0."""
        produced = self._driver.produced[self._taken :]
        self._taken += len(produced)
        now_ms = self._driver.wall_clock_ms
        return [
            Written("0_0", topic, 0, now_ms if timestamp is None else timestamp, key, value, headers)
            for topic, _, timestamp, key, value, headers in produced
        ]

    def close(self) -> None:
        """Of the driver."""
        self._driver.close()


class TaskReference:
    """A task per sub-topology and partition, as Kafka has them; each record goes all its way before the next one."""

    def __init__(
        self,
        topology: Topology,
        settings: dict[str, Any],
        wall_clock_ms: int,
        topics: TopicPlan,
        partitions_for: Callable[[str], int],
        directory: Path,
    ) -> None:
        self._config = StreamsConfig({**NO_THROTTLE, **settings})
        planned = topology.configured(self._config)
        self._topics, self._partitions_for, self._directory = topics, partitions_for, directory
        self._now_ms = wall_clock_ms
        self._written: list[Written] = []
        self._routed = 0
        self._taken = 0
        self._ends: dict[tuple[str, int], int] = {}
        self._waiting: deque[TaskId] = deque()
        self._global = self._start_global_task(planned)
        self._tasks = {task: self._start_task(planned, task) for task in topics.task_ids()}
        self._route()

    def pipe(self, record: Piped) -> None:
        """To the task of its partition; then whatever follows."""
        count = self._partitions_for(record.topic)
        self._enqueue(record.topic, record.partition(count), *record[1:])
        self._work()

    def advance(self, ms: int) -> None:
        """For every task."""
        self._now_ms += ms
        for task in self._tasks.values():
            task.punctuate_wall_clock()
            _commit(task)
        self._work()

    def take(self) -> list[Written]:
        """Without the records of repartition topics: they were read again."""
        written = self._written[self._taken :]
        self._taken += len(written)
        return written

    def close(self) -> None:
        """Without a commit: nobody looks any more."""
        for task in self._tasks.values():
            task.close_dirty()
        if self._global is not None:
            self._global.close()

    def _start_task(self, topology: TopologyPlan, task_id: TaskId) -> StreamTask:
        task = StreamTask(
            topology.task_plan(task_id.subtopology),
            self._config,
            _Output(str(task_id), self._written, self._partitions_for, self._clock),
            partitions=self._topics.partitions_of(task_id),
            task_id=str(task_id),
            partition=task_id.partition,
            clock=self._clock,
            state_dir=self._directory / str(task_id),
            global_stores={} if self._global is None else self._global.stores,
        )
        task.initialize()
        task.start()
        return task

    def _start_global_task(self, topology: TopologyPlan) -> GlobalTask | None:
        plan = topology.global_plan()
        if plan is None:
            return None
        task = GlobalTask(plan, self._config, clock=self._clock, state_dir=self._directory / "global")
        task.initialize()
        return task

    def _enqueue(
        self, topic: str, partition: int, key: bytes | None, value: bytes | None, timestamp: int, headers: Headers
    ) -> None:
        offset = self._ends.get((topic, partition), 0)
        self._ends[topic, partition] = offset + 1
        record = raw_record(topic, partition, offset, timestamp, key, value, headers)
        if topic in self._topics.global_topics:
            assert self._global is not None
            self._global.update(record)
            self._global.flush()
        if topic in self._topics.subtopology_of:
            task = TaskId(self._topics.subtopology_of[topic], partition)
            self._tasks[task].add_records((topic, partition), (record,))
            self._waiting.append(task)

    def _work(self) -> None:
        self._route()
        while self._waiting:
            task = self._tasks[self._waiting.popleft()]
            if task.has_records and task.is_processable(self._now_ms):
                task.process(self._now_ms)
                task.punctuate_stream_time()
                _commit(task)
                self._route()

    def _route(self) -> None:
        """What was written to a topic that is read comes back in."""
        new = self._written[self._routed :]
        self._routed += len(new)
        for _, topic, partition, timestamp, key, value, headers in new:
            if topic in self._topics.subtopology_of or topic in self._topics.global_topics:
                self._enqueue(topic, partition or 0, key, value, timestamp, headers)

    def _clock(self) -> int:
        return self._now_ms


class _Output:
    """Where a task writes."""

    def __init__(
        self, task: str, written: list[Written], partitions_for: Callable[[str], int], clock: Callable[[], int]
    ) -> None:
        self._task, self._written, self._clock = task, written, clock
        self.partitions_for = partitions_for

    def send(
        self,
        topic: str,
        partition: int | None,
        timestamp: int | None,
        key: bytes | None,
        value: bytes | None,
        headers: Headers,
    ) -> None:
        """Note a record, with the partition of its key."""
        count = self.partitions_for(topic)
        if partition is None and (key is not None or count == 1):
            partition = 0 if key is None else default_partition(key, count)
        at_ms = self._clock() if timestamp is None else timestamp
        self._written.append(Written(self._task, topic, partition, at_ms, key, value, headers))

    def flush(self) -> None:
        """Nothing is under way."""


def _commit(task: StreamTask) -> None:
    task.prepare_commit()
    task.post_commit()
