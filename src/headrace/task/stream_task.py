"""A stream task: runs the nodes of one sub-topology (or of all) over the records of its partitions.

The life of a task: ``initialize`` opens the stores, ``restore`` fills them from changelogs, ``start`` initialises the
nodes; then ``add_records``, ``process``, ``punctuate_stream_time``, ``punctuate_wall_clock`` and, whenever the host
wants to keep what was done, ``prepare_commit`` and ``post_commit``; at last ``suspend`` and ``close``.

What lets a task move between processes is around it: ``headrace.task.versioned_task``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headrace.clock import now_ms
from headrace.errors import StreamsError
from headrace.metrics import StreamsMetrics
from headrace.processors.api import Cancellable, PunctuationType, Punctuator
from headrace.processors.columns import Columns
from headrace.records import NO_TIMESTAMP, OffsetAndMetadata, RawRecord, RecordContext, TopicPartition
from headrace.state.cache import ThreadCache
from headrace.task.collector import ProducerPort, RecordCollector
from headrace.task.context import TaskContext
from headrace.task.handlers import deserialization_handler, processing_handler, production_handler
from headrace.task.nodes import TaskProcessor, TaskSource, connect, make_nodes
from headrace.task.partition_group import PartitionGroup, make_queue
from headrace.task.processing import Processing
from headrace.task.progress import InputProgress
from headrace.task.punctuating import Punctuations
from headrace.task.snapshot import TaskSnapshot, apply_before_init, apply_to_nodes, take_snapshot
from headrace.task.state_registry import ChangelogEntry

if TYPE_CHECKING:
    from headrace.config import StreamsConfig
    from headrace.topology.task_plan import TaskPlan


class StreamTask:
    """One task. It owns its stores and knows nothing of brokers, threads or Spark."""

    def __init__(
        self,
        plan: TaskPlan,
        config: StreamsConfig,
        producer: ProducerPort,
        *,
        partitions: Iterable[TopicPartition],
        task_id: str = "0_0",
        partition: int = 0,
        clock: Callable[[], int] = now_ms,
        cache: ThreadCache | None = None,
        metrics: StreamsMetrics | None = None,
        state_dir: Path | Callable[[], Path] | None = None,
        global_stores: Mapping[str, Any] | None = None,
        lag_of: Callable[[TopicPartition], int | None] = lambda partition: 0,
    ) -> None:
        self.task_id = task_id
        self.plan = plan
        self._clock = clock
        state_dir = state_dir or config.state_dir / config.application_id / task_id
        self.context = TaskContext(
            task_id,
            plan,
            config,
            clock=clock,
            state_dir=state_dir,
            cache=cache,
            metrics=metrics,
            global_stores=global_stores,
            partition=partition,
        )
        self.context.host = self
        self.context.collector = RecordCollector(producer, production_handler(config), self.context)
        self.registry = self.context.registry
        handler = processing_handler(config)
        self._deserialization_handler = deserialization_handler(config)
        self._nodes = make_nodes(plan, self.context, handler)
        self._processors = {
            name: node.processor for name, node in self._nodes.items() if isinstance(node, TaskProcessor)
        }
        lateness = self.context.metrics.lateness_sensor()
        self._group = PartitionGroup({}, max_idle_ms=config["max.task.idle.ms"], lag_of=lag_of, lateness=lateness)
        for topic_partition in partitions:
            self.add_partition(topic_partition)
        self._progress = InputProgress(self._group, self.context)
        self._punctuations = Punctuations(
            self.context,
            self._group,
            self._progress,
            processors=self._processors,
            handler=handler,
            clock=clock,
        )
        self._processing = Processing(self.context, self._group, self._progress, self._punctuations)

    # Start

    def initialize(self) -> None:
        """Make and open the stores, in order."""
        for builder in self.plan.stores.values():
            builder.build().init(self.context)

    def restore(self, store: str, entries: Iterable[ChangelogEntry]) -> int:
        return self.registry.restore(store, entries)

    def start(
        self,
        committed: Mapping[TopicPartition, OffsetAndMetadata] | None = None,
        snapshot: TaskSnapshot | None = None,
        *,
        punctuated_nodes: Collection[str] | None = None,
    ) -> None:
        """Initialise the nodes, with the times and numbers that were committed, or with all that a snapshot has.

        ``punctuated_nodes``: those whose punctuations may fire by the wall clock; None: all.
        """
        self._punctuations.nodes = punctuated_nodes
        if snapshot is not None:
            apply_before_init(snapshot, self.context, self._group, self._progress.consumed)
        self._progress.go_on_from(committed or {})
        self._init_nodes()
        if snapshot is not None:
            apply_to_nodes(snapshot, self._processors)
            self._punctuations.schedules.apply(snapshot.schedules)
        connect(self.plan, self._nodes)

    def _init_nodes(self) -> None:
        now_ms = self._clock()
        context = RecordContext(now_ms, -1, -1, None)
        try:
            for node in self._nodes.values():
                with self.context.active(context, now_ms):
                    node.init()
        finally:
            self.context.record_context = None
            self.context.system_time_ms = NO_TIMESTAMP
        self._punctuations.schedules.end_of_init()

    def go_on(self, punctuated_nodes: Collection[str] | None = None) -> None:
        """Begin another visit; records that wait stay. The nodes are as for ``start``."""
        self._punctuations.nodes = punctuated_nodes

    def forget_records(self) -> None:
        """Forget the records that wait, which will be fed again; times go on."""
        self._group.forget_records()

    def add_partition(self, partition: TopicPartition, source: str | None = None) -> None:
        """Read one more partition; ``source`` names the node where the topic alone does not say it."""
        name = source or self.plan.source_of(partition[0])
        node = self._nodes.get(name or "")
        if not isinstance(node, TaskSource):
            message = f"no source of the task {self.task_id} reads the topic {partition[0]!r}"
            raise StreamsError(message)
        self._group.add_queue(make_queue(partition, node, self.plan, self.context, self._deserialization_handler))

    # Work

    def add_records(self, partition: TopicPartition, records: Iterable[RawRecord]) -> None:
        """Feed records of one partition, in offset order."""
        self._group.add(partition, records)

    def add_columns(self, partition: TopicPartition, columns: Columns) -> None:
        """The same for records in columns, which can be processed faster."""
        self._group.add_columns(partition, columns)

    @property
    def has_records(self) -> bool:
        return self._group.has_records

    @property
    def buffered(self) -> int:
        return self._group.buffered

    @property
    def has_one_partition(self) -> bool:
        """Whether the task reads a single partition, so that nothing has to be waited for."""
        return len(self._group.partitions) == 1

    @property
    def waits_in_one_queue(self) -> bool:
        """Whether all records that wait are of one partition."""
        return self._group.only_queue is not None

    def takes_columns(self, partition: TopicPartition) -> bool:
        """Whether the records of a partition are processed faster if they come in columns."""
        return self._group.queue(partition).source.take_columns is not None

    def buffered_of(self, partition: TopicPartition) -> int:
        return len(self._group.queue(partition))

    def next_offset(self, partition: TopicPartition) -> int | None:
        """The offset of the first record of a partition that waits; None where none does.

        Unreadable records before it were given to the handler already; they are not read again.
        """
        return self._group.queue(partition).next_offset

    @property
    def stream_time(self) -> int:
        return self._group.stream_time

    def is_processable(self, now_ms: int) -> bool:
        """Whether the next record may be processed now; see ``max.task.idle.ms``."""
        return self._group.is_ready(now_ms)

    def process(self, now_ms: int) -> bool:
        return self._processing.process(now_ms)

    def process_all(self, now_ms: int) -> None:
        self._processing.process_all(now_ms)

    def punctuate_stream_time(self) -> bool:
        """Call what is due by stream time; True where something was."""
        return self._punctuations.fire_by_stream_time()

    def punctuate_wall_clock(self) -> bool:
        return self._punctuations.fire_by_wall_clock()

    @property
    def next_wall_clock_punctuation_ms(self) -> int | None:
        """When the host should call ``punctuate_wall_clock`` next; None where nothing is scheduled."""
        return self._punctuations.by_wall_clock.next_due_ms

    def schedule(
        self, node: str, interval_ms: int, punctuation: PunctuationType, callback: Punctuator, start: int | None
    ) -> Cancellable:
        """Call ``callback`` every ``interval_ms``; part of what nodes see of the task."""
        return self._punctuations.schedule(node, interval_ms, punctuation, callback, start)

    # Commit

    @property
    def commit_needed(self) -> bool:
        return self._progress.commit_needed

    def prepare_commit(self) -> dict[TopicPartition, OffsetAndMetadata]:
        """Flush caches and buffers, wait for the producer, and return the offsets that are done."""
        if not self.commit_needed:
            return {}
        with self.context.active(self.context.record_context, self.context.system_time_ms):
            self.registry.flush_caches()
        self.context.collector.flush()
        return self._progress.committable_offsets()

    def post_commit(self) -> None:
        """Flush the stores; nothing is left to commit."""
        with self.context.active(self.context.record_context, self.context.system_time_ms):
            self.registry.flush()
        self._progress.committed()

    def committable_offsets(self) -> dict[TopicPartition, OffsetAndMetadata]:
        """The offsets that are done, whether or not something is left to commit."""
        return self._progress.committable_offsets()

    def snapshot(self) -> TaskSnapshot:
        """What the task remembers beside its stores: after a commit, for another process to go on with."""
        schedules = self._punctuations.schedules.snapshot()
        return take_snapshot(self.context, self._group, self._progress.consumed, self._processors, schedules)

    # End

    def suspend(self) -> None:
        """Close the nodes and forget the records that wait."""
        first: Exception | None = None
        for node in self._nodes.values():
            try:
                with self.context.active(self.context.record_context, self.context.system_time_ms):
                    node.close()
            except Exception as error:
                first = first or error
        self._group.clear()
        self._punctuations.clear()
        if first is not None:
            raise first

    def close(self) -> None:
        self.registry.close()

    def close_dirty(self) -> None:
        """After a failure: close what can be closed, commit nothing."""
        with suppress(Exception):
            self.suspend()
        with suppress(Exception):
            self.registry.close()
