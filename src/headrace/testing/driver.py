"""The test driver: a whole topology in one task, in one process, without Spark and without a broker.

The driver does what Kafka's TopologyTestDriver does: one task ``0_0`` with one partition per topic; after every
record stream-time punctuation and a commit; what goes to a topic that the topology reads comes back in.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Any

from headrace.clock import now_ms
from headrace.config import StreamsConfig
from headrace.durations import Duration, to_ms
from headrace.errors import (
    ArgumentError,
    HeadraceError,
    IllegalStateError,
    OperatorTypeError,
    UnknownTopicError,
    user_line,
)
from headrace.functions import called_as
from headrace.instants import Instant, to_timestamp
from headrace.metrics import MetricName, StreamsMetrics
from headrace.names import check_topic_text
from headrace.near_names import did_you_mean
from headrace.processors.columns import RecordColumns
from headrace.records import NO_HEADERS, Headers, RecordContext, raw_record
from headrace.serde.defaults import resolve_key_serde, resolve_value_serde
from headrace.serde.given import given_serde
from headrace.serde.windowed import windowed_or_none
from headrace.state.cache import ThreadCache
from headrace.task.failures import add_line
from headrace.task.global_task import GlobalTask
from headrace.task.handlers import LogAndContinueExceptionHandler, ProducedRecord
from headrace.task.stream_task import StreamTask
from headrace.testing.directory import StateDirectory
from headrace.testing.inputs import Inputs
from headrace.testing.output_names import check_output
from headrace.testing.outputs import Outputs
from headrace.testing.store_access import StoreAccess
from headrace.testing.topics import TestInputTopic, TestOutputTopic
from headrace.topology.nodes import SinkNode
from headrace.topology.topology import check_topology
from headrace.type_variables import KIn, VIn

if TYPE_CHECKING:
    from headrace.serde.contract import GivenSerde, Serde
    from headrace.topology import Topology

log = logging.getLogger(__name__)

TASK_ID = "0_0"
_PARTITION = 0
_RAW = bytes | bytearray | memoryview | None

# Without these, results that wait for a window to close would be held back for a second of wall-clock time.
_NO_THROTTLE = {
    "__emit.interval.ms.kstreams.outer.join.spurious.results.fix__": 0,
    "__emit.interval.ms.kstreams.windowed.aggregation__": 0,
}


class TopologyTestDriver(StoreAccess):
    """Runs a topology record by record. A context manager; ``close`` ends it.

    Whatever follows from a record has happened when ``pipe_input`` returns, its commit included. ``produced`` holds
    every record written so far, in the order of production: outputs, repartition topics, changelogs.

    >>> builder = StreamsBuilder()
    >>> builder.stream("in").map_values(str.upper).to("out")
    >>> with TopologyTestDriver(builder.build(), {"application.id": "test"}) as driver:
    ...     driver.create_input_topic("in").pipe_input("a", "x", timestamp=0)
    ...     driver.create_output_topic("out").read_key_value()
    ('a', 'X')
    """

    @called_as('TopologyTestDriver(builder.build(), {"application.id": "my-app"})')
    def __init__(
        self,
        topology: Topology,
        config: Mapping[str, Any] | StreamsConfig | None = None,
        wall_clock_ms: Instant | None = None,
        *,
        in_batches: bool = False,
    ) -> None:
        """``in_batches`` sends records through the loops of an engine, in batches of one: results are the same."""
        check_topology(topology, "TopologyTestDriver")
        given = dict(StreamsConfig(config).originals)
        given.setdefault("application.id", f"topology-test-driver-{random.getrandbits(32)}")
        self.config = StreamsConfig({**_NO_THROTTLE, **given})
        self._wall_clock_ms = now_ms() if wall_clock_ms is None else to_timestamp(wall_clock_ms, "wall_clock_ms")
        self._in_batches = in_batches
        self._outputs = Outputs()
        self.produced = self._outputs.produced
        self._offsets: dict[str, int] = {}
        self._directory = StateDirectory(self.config)
        self._is_closed = False
        self._has_failed = False
        self._metrics = StreamsMetrics.of(self.config, "test-client", self._clock)
        self._cache = ThreadCache(max(0, self.config["statestore.cache.max.bytes"]))
        plan = topology.configured(self.config)
        self._plan = plan.task_plan()
        self._global_plan = plan.global_plan()
        self._built_at = {name: node.built_at for name, node in topology.graph.nodes.items()}
        self._inputs = Inputs(self._plan, self._global_plan)
        try:
            self._global_task = self._start_global_task()
            self._task = self._start_task()
        except BaseException:
            self._directory.remove()
            raise

    # Topics

    def create_input_topic(
        self,
        topic: str,
        key_serde: GivenSerde[KIn] | None = None,
        value_serde: GivenSerde[VIn] | None = None,
        *,
        start: Instant | None = None,
        auto_advance: Duration = 0,
    ) -> TestInputTopic[KIn, VIn]:
        """A topic to pipe records into; its clock starts at ``start``, or at the driver's wall clock.

        Without serdes the configured defaults. A topic that the topology does not read is refused when a record is
        piped.

        >>> with TopologyTestDriver(Topology().add_source("source", "in").add_sink("sink", "out", "source")) as driver:
        ...     driver.create_input_topic("in", start=100, auto_advance=10).pipe_value_list(["x", "y"])
        ...     [record.timestamp for record in driver.create_output_topic("out")]
        [100, 110]
        """
        check_topic_text(topic, "create_input_topic")
        return TestInputTopic(
            self,
            topic,
            resolve_key_serde(given_serde("key_serde", key_serde), self.config),
            resolve_value_serde(given_serde("value_serde", value_serde), self.config),
            self._wall_clock_ms if start is None else to_timestamp(start, "start"),
            auto_advance,
        )

    def create_output_topic(
        self, topic: str, key_serde: GivenSerde[KIn] | None = None, value_serde: GivenSerde[VIn] | None = None
    ) -> TestOutputTopic[KIn, VIn]:
        """A topic to read results from; an internal one has its full name. It may be one that is never written to.

        Without serdes the configured defaults; keys that the program writes as windowed ones are read as such.

        >>> with TopologyTestDriver(Topology().add_source("source", "in").add_sink("sink", "out", "source")) as driver:
        ...     driver.create_output_topic("out").is_empty
        True
        """
        check_topic_text(topic, "create_output_topic")
        check_output(topic, self._plan, self.config)
        key_serde = given_serde("key_serde", key_serde) or self._windowed_keys_of(topic)
        value_serde = given_serde("value_serde", value_serde)
        return TestOutputTopic(
            self, topic, resolve_key_serde(key_serde, self.config), resolve_value_serde(value_serde, self.config)
        )

    def _windowed_keys_of(self, topic: str) -> Serde[Any] | None:
        sinks = [node.kind for node in self._plan.nodes if isinstance(node.kind, SinkNode) and node.kind.topic]
        found = (windowed_or_none(sink.key_serde) for sink in sinks if self._plan.topic_name(str(sink.topic)) == topic)
        return next((serde for serde in found if serde is not None), None)

    def pipe_record(
        self, topic: str, key: bytes | None, value: bytes | None, timestamp: int, headers: Headers = NO_HEADERS
    ) -> None:
        """Process one record, given as bytes, and everything that follows from it.

        A topic that the topology does not read is an UnknownTopicError.

        >>> with TopologyTestDriver(Topology().add_source("source", "in").add_sink("sink", "out", "source")) as driver:
        ...     driver.pipe_record("in", b"a", b"x", timestamp=7)
        ...     driver.read_record("out").value
        b'x'
        """
        if self._is_closed:
            raise IllegalStateError("the driver is closed", at=user_line())
        queue = self._inputs.queue_of(topic)
        is_global = self._inputs.is_global(topic)
        if queue is None and not is_global:
            message = f"the topology does not read the topic {topic!r}"
            known = self._inputs.topics
            detail = f"it reads {', '.join(sorted(known)) or 'none'}"
            raise UnknownTopicError(message, detail=detail, hint=did_you_mean(topic, known), at=user_line())
        if not isinstance(key, _RAW) or not isinstance(value, _RAW):
            message = f"pipe_record() takes bytes, found {key!r} and {value!r}"
            hint = f"create_input_topic({topic!r}).pipe_input(key, value) takes what the serdes write."
            raise OperatorTypeError(message, hint=hint, at=user_line())
        with self._failing():
            if queue is not None:
                self._enqueue(queue, topic, key, value, timestamp, headers)
                self._work()
            if is_global:
                self._update_global(topic, key, value, timestamp, headers)

    def read_record(self, topic: str) -> ProducedRecord:
        """Take the next record, as bytes, that was written to ``topic``; EmptyTopicError where there is none."""
        return self._outputs.read(topic)

    def queue_size(self, topic: str) -> int:
        """How many records of ``topic`` wait to be read."""
        return len(self._outputs.by_topic.get(topic, ()))

    @property
    def produced_topic_names(self) -> set[str]:
        """The topics that were written to, internal ones too."""
        return set(self._outputs.by_topic)

    # Time

    def advance_wall_clock_time(self, advance: Duration) -> None:
        """Move the wall clock; each punctuation that became due fires once.

        >>> with TopologyTestDriver(Topology().add_source("source", "in"), wall_clock_ms=0) as driver:
        ...     driver.advance_wall_clock_time(timedelta(seconds=5))
        ...     driver.wall_clock_ms
        5000
        """
        advance_ms = to_ms(advance, "advance")
        if advance_ms < 0:
            message = f"the wall clock cannot go back ({advance_ms} ms)"
            raise ArgumentError(message)
        self._wall_clock_ms += advance_ms
        with self._failing():
            if self._task is not None:
                self._task.punctuate_wall_clock()
                self._commit(self._task)
            self._work()

    @property
    def wall_clock_ms(self) -> int:
        """The driver's wall clock."""
        return self._wall_clock_ms

    # Numbers

    def metrics(self) -> Mapping[MetricName, float]:
        """All metrics and their values.

        >>> with TopologyTestDriver(Topology().add_source("source", "in").add_sink("sink", "out", "source")) as driver:
        ...     driver.create_input_topic("in").pipe_input("a", "x")
        ...     [value for metric, value in driver.metrics().items() if metric.name == "records-produced-total"]
        [1]
        """
        return self._metrics()

    @property
    def dropped_records(self) -> int:
        """How many records were dropped, by the task and the global task."""
        return sum(self.dropped_records_by_reason.values())

    @property
    def dropped_records_by_reason(self) -> dict[str, int]:
        """How many records were dropped, by why.

        >>> builder = StreamsBuilder()
        >>> builder.table("in").to_stream().to("out")
        >>> with TopologyTestDriver(builder.build()) as driver:
        ...     driver.create_input_topic("in").pipe_input(None, "x")
        ...     driver.dropped_records_by_reason
        {'null key': 1}
        """
        total: dict[str, int] = {}
        for task in (self._task, self._global_task):
            if task is not None:
                for reason, count in task.context.metrics.dropped_records_by_reason.items():
                    total[reason] = total.get(reason, 0) + count
        return total

    # End

    def close(self) -> None:
        """Close nodes and stores and delete the state. Calling it twice does no harm.

        After a failure nothing more is committed: what made it fail would only fail again.
        """
        if self._is_closed:
            return
        self._is_closed = True
        try:
            if self._task is not None:
                self._close_task(self._task)
            if self._global_task is not None:
                self._global_task.close()
            self._capture()
        finally:
            self._directory.remove()

    def __repr__(self) -> str:
        state = "closed" if self._is_closed else f"reads {', '.join(sorted(self._inputs.topics)) or 'no topic'}"
        return f"<TopologyTestDriver {self.config.application_id}: {state}>"

    def __enter__(self) -> TopologyTestDriver:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.close()
            return
        # The body's error matters; one that comes from closing after it would hide it.
        try:
            self.close()
        except Exception:
            log.debug("closing the driver failed too", exc_info=True)

    # Inside

    def _start_global_task(self) -> GlobalTask | None:
        if self._global_plan is None:
            return None
        task = GlobalTask(
            self._global_plan,
            self.config,
            clock=self._clock,
            cache=self._cache,
            metrics=self._metrics,
            state_dir=lambda: self._directory.path() / "global",
            # As Kafka's driver does it, whatever handler is configured.
            on_unreadable=LogAndContinueExceptionHandler().handle,
        )
        task.initialize()
        return task

    def _start_task(self) -> StreamTask | None:
        patterns = self._inputs.patterns
        if not self._plan.source_topics and not patterns:
            return None
        task = StreamTask(
            self._plan,
            self.config,
            self._outputs,
            partitions=[(topic, _PARTITION) for topic in self._plan.source_topics],
            task_id=TASK_ID,
            clock=self._clock,
            cache=self._cache,
            metrics=self._metrics,
            state_dir=lambda: self._directory.path() / TASK_ID,
            global_stores={} if self._global_task is None else self._global_task.stores,
        )
        for pattern, source in patterns.items():
            task.add_partition((pattern, _PARTITION), source)
        try:
            task.initialize()
            task.start()
        except BaseException:
            task.registry.close()
            raise
        return task

    def _close_task(self, task: StreamTask) -> None:
        if self._has_failed:
            task.close_dirty()
            return
        task.suspend()
        self._commit(task)
        task.close()

    @contextmanager
    def _failing(self) -> Iterator[None]:
        try:
            yield
        except BaseException as error:
            self._has_failed = True
            if isinstance(error, HeadraceError):
                add_line(error, self._built_at)
            raise

    def _enqueue(
        self,
        queue: str,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        timestamp: int,
        headers: Headers,
    ) -> None:
        assert self._task is not None
        partition, offset = (queue, _PARTITION), self._next_offset(queue)
        if self._in_batches and self._task.takes_columns(partition):
            with_headers = [headers] if headers else None
            columns = RecordColumns(topic, _PARTITION, [offset], [timestamp], [key], [value], with_headers)
            self._task.add_columns(partition, columns)
        else:
            record = raw_record(topic, _PARTITION, offset, timestamp, key, value, headers)
            self._task.add_records(partition, (record,))

    def _update_global(
        self, topic: str, key: bytes | None, value: bytes | None, timestamp: int, headers: Headers
    ) -> None:
        assert self._global_task is not None
        offset = self._next_offset(topic)
        self._global_task.update(raw_record(topic, _PARTITION, offset, timestamp, key, value, headers))
        self._global_task.flush()

    def _next_offset(self, queue: str) -> int:
        offset = self._offsets.get(queue, 0)
        self._offsets[queue] = offset + 1
        return offset

    def _work(self) -> None:
        self._capture()
        task = self._task
        if task is None:
            return
        while task.has_records and task.is_processable(self._wall_clock_ms):
            self._step(task)
            self._commit(task)
            self._capture()
        if task.has_records:
            log.info("records wait because of max.task.idle.ms; advance the wall clock or pipe to the empty topics")

    def _step(self, task: StreamTask) -> None:
        """Process one record: alone, or as a batch of one, through the loops that work off whole batches.

        More than one at a time would not do: there is a commit after each.
        """
        if self._in_batches and task.buffered == 1:
            task.process_all(self._wall_clock_ms)
        else:
            task.process(self._wall_clock_ms)
            task.punctuate_stream_time()

    def _commit(self, task: StreamTask) -> None:
        task.prepare_commit()
        task.post_commit()

    def _capture(self) -> None:
        """Sort what was written into the output topics; what the topology itself reads goes back in."""
        for topic, _, timestamp, key, value, headers in self._outputs.sort():
            if timestamp is None or self._is_closed:
                continue
            queue = self._inputs.queue_of(topic)
            if queue is not None:
                self._enqueue(queue, topic, key, value, timestamp, headers)
            if self._inputs.is_global(topic):
                self._update_global(topic, key, value, timestamp, headers)

    def _find(self, name: str) -> Any | None:
        if self._task is not None:
            # Writes from outside carry time 0, as in Kafka.
            self._task.context.record_context = RecordContext(0, -1, -1, None)
            found = self._task.registry.find(name)
            if found is not None:
                return found
        return None if self._global_task is None else self._global_task.registry.find(name)

    def _clock(self) -> int:
        return self._wall_clock_ms
