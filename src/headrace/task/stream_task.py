"""A stream task: runs the nodes of one sub-topology (or of all) over the records of its partitions.

The life of a task: ``initialize`` opens the stores, ``restore`` fills them from changelogs, ``start`` initialises the
nodes; then ``add_records``, ``process``, ``punctuate_stream_time``, ``punctuate_wall_clock`` and, whenever the host
wants to keep what was done, ``prepare_commit`` and ``post_commit``; at last ``suspend`` and ``close``.

A host that works in batches puts the task down after each and takes it up again, as another object and maybe in another
process: ``open`` instead of ``initialize``, ``commit`` at the end (or ``abandon``, which leaves everything as it was).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from headrace.errors import (
    IllegalStateError,
    ProcessingError,
    StoreError,
    StreamsError,
    TaskCorruptedError,
    TaskMigratedError,
)
from headrace.metrics import Sensor, StreamsMetrics
from headrace.processors.api import Cancellable, PunctuationType, Punctuator
from headrace.records import NO_HEADERS, NO_TIMESTAMP, RecordContext
from headrace.state.cache import ThreadCache
from headrace.state.rocksdb.task_databases import TaskDatabases, memory_directory
from headrace.state.rocksdb.visits import CHUNK_BYTES, Visit
from headrace.task import commit_metadata
from headrace.task.checkpoint import FILE_NAME as CHECKPOINT
from headrace.task.checkpoint import read_checkpoint, write_checkpoint
from headrace.task.collector import ProducerPort, RecordCollector
from headrace.task.context import TaskContext
from headrace.task.failures import processing_error
from headrace.task.handlers import deserialization_handler, processing_handler, production_handler
from headrace.task.lock import TaskLock
from headrace.task.nodes import ProcessorNode, SourceNode, connect, handle_processing_error, make_nodes
from headrace.task.partition_group import PartitionGroup, RawRecord, RecordQueue, TopicPartition
from headrace.task.punctuation import Punctuation, PunctuationQueue
from headrace.task.putting_down import (
    Kept,
    Opening,
    dump,
    keep_nodes,
    keep_stores,
    parse,
    take_up_nodes,
    take_up_stores,
)
from headrace.task.schedules import Schedules
from headrace.task.state_registry import ChangelogEntry, StateRegistry
from headrace.timestamps import EXTRACTORS, TimestampExtractor

if TYPE_CHECKING:
    from headrace.config import StreamsConfig
    from headrace.topology.task_plan import TaskPlan


class CommittedOffset(NamedTuple):
    """What a host commits for one partition: the next offset to read, and text to give back at the next start."""

    offset: int
    metadata: str


class Commit(NamedTuple):
    """What a visit ends with: the offsets to commit, and what the task remembers, to be given to its next ``open``."""

    offsets: dict[TopicPartition, CommittedOffset]
    kept: bytes


def system_clock() -> int:
    """The wall clock in milliseconds."""
    return time.time_ns() // 1_000_000


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
        clock: Callable[[], int] = system_clock,
        cache: ThreadCache | None = None,
        metrics: StreamsMetrics | None = None,
        state_dir: Path | Callable[[], Path] | None = None,
        global_stores: Mapping[str, Any] | None = None,
        lag_of: Callable[[TopicPartition], int | None] = lambda partition: 0,
    ) -> None:
        self.task_id = task_id
        self.plan = plan
        self.commit_needed = False
        self.commit_requested = False
        self._config = config
        self._clock = clock
        metrics = (metrics or StreamsMetrics.of(config, config.application_id, clock)).for_task(task_id)
        self.registry = StateRegistry()
        self.context = TaskContext(
            task_id,
            config,
            metrics=metrics,
            cache=cache if cache is not None else ThreadCache(max(0, config["statestore.cache.max.bytes"])),
            registry=self.registry,
            state_dir=state_dir or config.state_dir / config.application_id / task_id,
            prefix=plan.prefix,
            changelogs=plan.store_to_changelog,
            global_stores=global_stores or {},
            partition=partition,
        )
        self.context.host = self
        self.context.collector = RecordCollector(producer, production_handler(config), self.context)
        self._processing_handler = processing_handler(config)
        self._deserialization_handler = deserialization_handler(config)
        self._nodes = make_nodes(plan, self.context, self._processing_handler)
        self._group = PartitionGroup(
            {},
            max_idle_ms=config["max.task.idle.ms"],
            lag_of=lag_of,
            lateness=metrics.lateness_sensor(),
        )
        for topic_partition in partitions:
            self.add_partition(topic_partition)
        self._stream_punctuations = PunctuationQueue()
        self._wall_punctuations = PunctuationQueue()
        self._processors = {
            name: node.processor for name, node in self._nodes.items() if isinstance(node, ProcessorNode)
        }
        self._schedules = Schedules(self._processors, (self._stream_punctuations, self._wall_punctuations))
        self._consumed: dict[TopicPartition, int] = {}
        self._lock: TaskLock | None = None
        self._kept: Kept | None = None
        self._positions: Mapping[TopicPartition, int] | None = None
        self._process_sensor: Sensor | None = metrics.task_sensor("process")
        self._punctuate_sensor: Sensor | None = metrics.task_sensor("punctuate")

    # Start

    def initialize(self) -> None:
        """Make and open the stores, in order."""
        for builder in self.plan.stores.values():
            builder.build().init(self.context)

    def open(
        self,
        visit: Visit,
        *,
        positions: Mapping[TopicPartition, int] | None = None,
        kept: bytes | None = None,
        memory_dir: Path | None = None,
        chunk_bytes: int = CHUNK_BYTES,
    ) -> Opening:
        """Take the task up as it was at ``visit.base``. Stores that are not there have to be restored before ``start``.

        ``positions`` are the ends of the changelogs at that version, if it is a committed one; ``kept`` is what
        ``commit`` gave back then, for a host that has it from elsewhere. A task that another process works on is a
        StoreError.
        """
        directory = self.context.state_dir
        self._lock = TaskLock(directory)
        try:
            databases = TaskDatabases(
                directory, memory_dir or memory_directory(directory), visit, chunk_bytes=chunk_bytes
            )
            self.context.databases = databases
            self.initialize()
        except BaseException:
            self.abandon()
            raise
        kept = databases.kept if kept is None else kept
        self._kept = None if kept is None else parse(kept)
        self._positions = positions
        return Opening(databases.stale, _positions_in(directory), self._kept is not None or visit.base is None)

    def restore(self, store: str, entries: Iterable[ChangelogEntry]) -> int:
        """Apply changelog records to a store; returns how many. One that was stale is up to date after that."""
        count = self.registry.restore(store, entries)
        if self.context.databases is not None:
            self.registry.store(store).flush()
            self.context.databases.settle(store)
        return count

    def start(self, committed: Mapping[TopicPartition, CommittedOffset] | None = None) -> None:
        """Initialise the nodes; times and numbers go on from what was committed."""
        if self.context.databases is not None:
            self._check_settled(self.context.databases)
        if self._kept is not None:
            self._take_up(self._kept)
        for partition, (_, metadata) in (committed or {}).items():
            self._go_on_from(partition, metadata)
        now_ms = self._clock()
        context = RecordContext(now_ms, -1, -1, None)
        try:
            for node in self._nodes.values():
                with self.context.active(context, now_ms):
                    node.init()
        finally:
            self.context.record_context = None
            self.context.system_time_ms = NO_TIMESTAMP
        self._schedules.end_of_init()
        if self._kept is not None:
            take_up_nodes(self._processors, self._kept.nodes)
            self._schedules.take_up(self._kept.schedules)
        connect(self.plan, self._nodes)

    def add_partition(self, partition: TopicPartition, source: str | None = None) -> None:
        """Read one more partition; ``source`` names the node where the topic alone does not say it."""
        name = source or self.plan.source_of(partition[0])
        node = self._nodes.get(name or "")
        if not isinstance(node, SourceNode):
            message = f"no source of the task {self.task_id} reads the topic {partition[0]!r}"
            raise StreamsError(message)
        queue = RecordQueue(partition, node, self._extractor(node), self._deserialization_handler, self.context)
        self._group.add_queue(queue)
        gauge = self.context.metrics.topic_gauge
        gauge(node.name, partition[0], "records-consumed-total", lambda: queue.consumed.records)
        gauge(node.name, partition[0], "bytes-consumed-total", lambda: queue.consumed.size)

    # Work

    def add_records(self, partition: TopicPartition, records: Iterable[RawRecord]) -> None:
        """Feed records of one partition, in offset order."""
        self._group.add(partition, records)

    @property
    def has_records(self) -> bool:
        """Whether records wait to be processed."""
        return self._group.has_records

    @property
    def buffered_records(self) -> int:
        """How many records wait."""
        return len(self._group)

    def buffered_of(self, partition: TopicPartition) -> int:
        """How many records of one partition wait."""
        return len(self._group.queue(partition))

    @property
    def stream_time(self) -> int:
        """The highest timestamp processed so far; -1 before the first record."""
        return self._group.stream_time

    def is_processable(self, now_ms: int) -> bool:
        """Whether the next record may be processed now; see ``max.task.idle.ms``."""
        return self._group.is_ready(now_ms)

    def process(self, now_ms: int) -> bool:
        """Process the next record, whole and depth first; False where there is none."""
        chosen = self._group.next()
        if chosen is None:
            return False
        queue, (timestamp, key, value, raw, is_skipped) = chosen
        if not is_skipped:
            context, headers = self.context, raw[6]
            context.timestamp, context.headers, context.origin = timestamp, headers, raw
            context.system_time_ms = now_ms
            context.is_active = True
            try:
                self._run(queue.source, key, value, timestamp, headers)
            finally:
                context.is_active = False
        self._consumed[queue.topic_partition] = raw[2]
        self.commit_needed = True
        return True

    def process_all(self, now_ms: int) -> None:
        """Process every record that waits; stream-time punctuations fire between them, when they are due."""
        while self.has_records:
            queue = self._group.only_queue
            if queue is None or self._process_sensor is not None or self._stream_punctuations.waiting:
                self.process(now_ms)
                self.punctuate_stream_time()
            else:
                self._process_queue(queue, now_ms)

    def _process_queue(self, queue: RecordQueue, now_ms: int) -> None:
        """Process the records of the only partition that has any: what ``process`` does, without choosing."""
        context, group, scheduled = self.context, self._group, self._stream_punctuations.waiting
        take, heads, raw = queue.source.take, queue.drain(), None
        context.system_time_ms = now_ms
        context.is_active = True
        group.set_aside()
        try:
            for timestamp, key, value, raw, is_skipped in heads:
                if timestamp > group.stream_time:
                    group.stream_time = timestamp
                if not is_skipped:
                    headers = raw[6]
                    context.timestamp, context.headers, context.origin = timestamp, headers, raw
                    take(key, value, timestamp, headers)
                if scheduled:
                    break
        except StreamsError:
            raise
        except Exception as error:
            raise processing_error("processing failed", queue.source.name, context.record_context, error) from error
        finally:
            heads.close()
            context.is_active = False
            group.put_back(queue)
            if raw is not None:
                self._consumed[queue.topic_partition] = raw[2]
                self.commit_needed = True

    def punctuate_stream_time(self) -> bool:
        """Call what is due by stream time; True where something was."""
        now_ms = self._group.stream_time
        return now_ms != NO_TIMESTAMP and self._punctuate(self._stream_punctuations, now_ms)

    def punctuate_wall_clock(self) -> bool:
        """Call what is due by the wall clock; True where something was."""
        return self._punctuate(self._wall_punctuations, self._clock())

    @property
    def next_wall_clock_punctuation_ms(self) -> int | None:
        """When the host should call ``punctuate_wall_clock`` next; None where nothing is scheduled."""
        return self._wall_punctuations.next_due_ms

    def schedule(
        self, node: str, interval_ms: int, punctuation: PunctuationType, callback: Punctuator, start: int | None
    ) -> Cancellable:
        """Call ``callback`` every ``interval_ms``; part of what nodes see of the task."""
        is_stream_time = punctuation is PunctuationType.STREAM_TIME
        now_ms = self.stream_time if is_stream_time else self._clock()
        due_ms = start
        if due_ms is None:
            due_ms = 0 if is_stream_time else now_ms + interval_ms
        scheduled = Punctuation(node, due_ms, interval_ms, callback)
        if start is not None and start < now_ms:
            scheduled.move_past(now_ms)
        queue = self._stream_punctuations if is_stream_time else self._wall_punctuations
        return queue.schedule(self._schedules.number(scheduled))

    def request_commit(self) -> None:
        """Ask the host to commit soon."""
        self.commit_requested = True

    # Commit

    def prepare_commit(self) -> dict[TopicPartition, CommittedOffset]:
        """Let caches and buffers go on, wait for the producer, and say which offsets are done."""
        if not self.commit_needed:
            return {}
        with self.context.active(self.context.record_context, self.context.system_time_ms):
            self.registry.flush_caches()
        self.context.collector.flush()
        return self._committable_offsets()

    def post_commit(self) -> None:
        """Flush the stores; what was done is now the past."""
        with self.context.active(self.context.record_context, self.context.system_time_ms):
            self.registry.flush()
        self.commit_needed = False
        self.commit_requested = False
        self.context.metadata_changed = False

    def commit(self) -> Commit:
        """End the visit: everything done since ``open`` becomes the version ``visit.target``. Caches are empty then."""
        databases = self.context.databases
        if databases is None:
            raise IllegalStateError("the task was not opened for a visit", hint="Call open() instead of initialize().")
        self.prepare_commit()
        self.registry.clear_caches()
        self.post_commit()
        kept = dump(self._keep())
        databases.commit(kept)
        return Commit(self._committable_offsets(), kept)

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
        self._stream_punctuations.clear()
        self._wall_punctuations.clear()
        if first is not None:
            raise first

    def close(self) -> None:
        """Close the stores."""
        try:
            self.registry.close()
        finally:
            self._let_go()

    def abandon(self) -> None:
        """End the visit as if it had never been: nothing of it is kept, nothing more is sent."""
        with suppress(Exception):
            self.registry.clear_caches()
        self.close_dirty()

    def close_dirty(self) -> None:
        """After a failure: close what can be closed, commit nothing."""
        with suppress(Exception):
            self.suspend()
        with suppress(Exception):
            self.registry.close()
        with suppress(Exception):
            self._let_go()

    # Inside

    def _check_settled(self, databases: TaskDatabases) -> None:
        stale = ", ".join(databases.stale)
        if stale:
            message = f"stores of the task {self.task_id} are not up to date: {stale}"
            raise IllegalStateError(message, hint="Call restore() for each of them, without entries if there are none.")
        if self._positions is not None:
            write_checkpoint(self.context.state_dir / CHECKPOINT, self._positions)

    def _keep(self) -> Kept:
        times = self._group.partition_times
        return Kept(
            self._group.stream_time,
            [(*partition, timestamp) for partition, timestamp in times.items()],
            [(*partition, offset) for partition, offset in self._consumed.items()],
            self.context.processor_metadata,
            keep_nodes(self._processors),
            keep_stores(self.registry),
            self._schedules.keep(),
        )

    def _take_up(self, kept: Kept) -> None:
        """What has to be there before the nodes are initialised."""
        mine = frozenset(self._group.partitions)
        for topic, partition, timestamp in kept.partition_times:
            if (topic, partition) in mine:
                self._group.set_partition_time((topic, partition), timestamp)
        self._group.stream_time = max(self._group.stream_time, kept.stream_time)
        self._consumed.update({(t, p): offset for t, p, offset in kept.consumed if (t, p) in mine})
        self.context.processor_metadata.update(kept.numbers)
        take_up_stores(self.registry, kept.stores)

    def _let_go(self) -> None:
        if self.context.databases is not None:
            self.context.databases.close()
            self.context.databases = None
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def _run(self, source: SourceNode, *record: Any) -> None:
        try:
            if self._process_sensor is None:
                source.take(*record)
            else:
                _timed(self._process_sensor, source.take, *record)
        except StreamsError:
            raise
        except Exception as error:
            raise processing_error("processing failed", source.name, self.context.record_context, error) from error

    def _punctuate(self, queue: PunctuationQueue, now_ms: int) -> bool:
        fired = queue.fire(now_ms, self._fire)
        if fired:
            self.commit_needed = True
        return fired

    def _fire(self, punctuation: Punctuation, now_ms: int) -> None:
        context = RecordContext(now_ms, -1, -1, None, NO_HEADERS)
        with self.context.active(context, self._clock()):
            try:
                if self._punctuate_sensor is None:
                    punctuation.punctuator(now_ms)
                else:
                    _timed(self._punctuate_sensor, punctuation.punctuator, now_ms)
            except (ProcessingError, TaskCorruptedError, TaskMigratedError):
                raise
            except Exception as error:
                self.context.record_context = context
                handle_processing_error(
                    self.context, self._processing_handler, punctuation.node, None, error, "a punctuation failed"
                )

    def _committable_offsets(self) -> dict[TopicPartition, CommittedOffset]:
        partitions = self._group.partitions if self.context.metadata_changed else tuple(self._consumed)
        offsets = {}
        for partition in partitions:
            queue = self._group.queue(partition)
            if queue.head is not None:
                offset = queue.head[3][2]
            elif partition in self._consumed:
                offset = self._consumed[partition] + 1
            else:
                continue
            metadata = commit_metadata.encode(queue.partition_time, self.context.processor_metadata)
            offsets[partition] = CommittedOffset(offset, metadata)
        return offsets

    def _go_on_from(self, partition: TopicPartition, metadata: str) -> None:
        partition_time, numbers = commit_metadata.decode(metadata)
        self._group.set_partition_time(partition, partition_time)
        kept = self.context.processor_metadata
        for name, number in numbers.items():
            kept[name] = max(number, kept.get(name, number))

    def _extractor(self, node: SourceNode) -> TimestampExtractor:
        extractor = node.extractor
        if extractor is None:
            return self._config.default_timestamp_extractor
        return EXTRACTORS[extractor] if isinstance(extractor, str) else extractor


def _positions_in(directory: Path) -> dict[TopicPartition, int]:
    try:
        return read_checkpoint(directory / CHECKPOINT)
    except StoreError:
        # Torn by a crash: then nothing is known, and stores are restored from the start.
        return {}


def _timed(sensor: Sensor, call: Callable[..., None], *arguments: Any) -> None:
    start_ns = time.perf_counter_ns()
    call(*arguments)
    sensor.record(time.perf_counter_ns() - start_ns)
