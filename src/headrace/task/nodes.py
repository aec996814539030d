"""The nodes of a task at run time, and the one place where they are wired together.

Records flow by plain calls: a parent's context calls the ``process`` function of each child.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias, TypeVar

from headrace.errors import ConfigError, StreamsError
from headrace.metrics import Sensor
from headrace.processors.aggregate import AggregateProcessor
from headrace.processors.columns import Columns
from headrace.processors.stateless import Fusible
from headrace.records import Headers, RawRecord, Record, RecordContext
from headrace.serde import Serde
from headrace.serde.defaults import resolve_key_serde, resolve_value_serde
from headrace.serde.primitives import StringSerde
from headrace.serde.windowed import InnerKeyPartitioner
from headrace.task.column_writer import column_writer
from headrace.task.context import GlobalNodeContext, Process, RuntimeNodeContext, Take, TaskContext
from headrace.task.failures import (
    QUITTING,
    details,
    headline,
    note_node,
    place,
    processing_error,
    remedy,
    text_of,
    unreadable,
)
from headrace.task.fusion import CAUGHT, DECIDED, MAX_DEPTH, Operator, call, fuse, fuse_record
from headrace.task.handlers import Decision, ErrorHandlerContext, Handle, ask
from headrace.topology import nodes as specs
from headrace.topology.task_plan import PlanNode, TaskPlan

log = logging.getLogger(__name__)

T = TypeVar("T")

TakeColumns: TypeAlias = Callable[[Columns], bool]
"""Takes many records at once; False, and nothing has happened, where they have to go one by one."""


class TaskSource:
    """Where records enter: holds the serdes of its topics."""

    def __init__(self, spec: specs.SourceNode, context: RuntimeNodeContext) -> None:
        self.name = spec.name
        self.context = context
        self.extractor = spec.timestamp_extractor
        self._spec = spec
        self.take: Take = _unready
        self.take_columns: TakeColumns | None = None
        self.read_key: Callable[[str, bytes | None], Any] = _unready
        self.read_value: Callable[[str, bytes | None], Any] = _unready

    def init(self) -> None:
        config = self.context.config
        key_serde = _resolve(lambda: resolve_key_serde(self._spec.key_serde, config), "key", "source", self.name)
        value_serde = _resolve(
            lambda: resolve_value_serde(self._spec.value_serde, config), "value", "source", self.name
        )
        self.serdes = key_serde, value_serde
        self.read_key, self.read_value = key_serde.deserialize, value_serde.deserialize

    def close(self) -> None: ...


class TaskProcessor:
    """Runs a processor. What it raises goes to the processing exception handler."""

    def __init__(
        self, name: str, processor: Any, context: RuntimeNodeContext, task: TaskContext, handler: Any | None
    ) -> None:
        self.name = name
        self.context = context
        self.processor = processor
        self._task = task
        self._handler = handler
        self.process: Process = self._guarded(processor.process)

    def init(self) -> None:
        try:
            self.processor.init(self.context)
        except Exception as error:
            raise _lifecycle_error("initialized", self.name, error) from error
        except QUITTING as error:
            note_node(error, self.name)
            raise

    def close(self) -> None:
        try:
            self.processor.close()
        except Exception as error:
            raise _lifecycle_error("closed", self.name, error) from error

    @property
    def does(self) -> Fusible | None:
        """What the processor does to a record, where it is one that can be fused with others."""
        return getattr(self.processor, "fusible", None)

    def _guarded(self, run: Process) -> Process:
        on_error = self.on_error

        def process(record: Record[Any, Any]) -> None:
            try:
                run(record)
            except DECIDED:
                raise
            except CAUGHT as error:
                on_error(record, error)

        return process

    def on_error(self, record: Record[Any, Any], error: BaseException) -> None:
        if not isinstance(error, Exception):
            note_node(error, self.name)
            raise error
        if self._handler is None:
            raise error
        handle_processing_error(self._task, self._handler, self.name, record, error)


class TaskSink:
    """Where records leave, to a fixed topic or to the one an extractor names."""

    def __init__(self, spec: specs.SinkNode, context: RuntimeNodeContext, task: TaskContext, plan: TaskPlan) -> None:
        self.name = spec.name
        self.context = context
        self.topic = None if spec.topic is None else plan.topic_name(spec.topic)
        self._spec = spec
        self._task = task
        self._own_topics = plan.repartition_topics
        self.take: Take = _unready

    def init(self) -> None:
        """Resolve the serdes and choose the shortest way out."""
        config = self.context.config
        key_serde = _resolve(lambda: resolve_key_serde(self._spec.key_serde, config), "key", "sink", self.name)
        value_serde = _resolve(lambda: resolve_value_serde(self._spec.value_serde, config), "value", "sink", self.name)
        sender = self._sender(key_serde, value_serde)
        self.take = self._to_extracted(sender) if self.topic is None else sender(self.topic)

    def process(self, record: Record[Any, Any]) -> None:
        self.take(record.key, record.value, record.timestamp, record.headers)

    def close(self) -> None: ...

    def _sender(self, key_serde: Serde[Any], value_serde: Serde[Any]) -> Callable[[str], Take]:
        """What makes the function that writes to a topic."""
        collector, name, partitioner = self._task.collector, self.name, self._spec.partitioner
        if isinstance(partitioner, InnerKeyPartitioner):
            partitioner = partitioner.with_defaults(self.context.config)

        def to_topic(topic: str) -> Take:
            writer = collector.writer(topic, key_serde.serialize, value_serde.serialize, name)
            if self._spec.key_serde is None and topic not in self._own_topics:
                writer.default_key_serde = key_serde
            if partitioner is not None:
                return partial(writer.send_partitioned, partitioner)
            records = collector.columns(writer) if type(key_serde) is StringSerde else None
            return writer.send if records is None else column_writer(writer, records, value_serde)

        return to_topic

    def _to_extracted(self, sender: Callable[[str], Take]) -> Take:
        task, extract = self._task, self._spec.extractor
        senders: dict[str, Take] = {}

        def take(key: Any, value: Any, timestamp: int, headers: Headers) -> None:
            held = task.record_context
            assert held is not None
            topic = extract(key, value, RecordContext(timestamp, held.offset, held.partition, held.topic, headers))
            send = senders.get(topic)
            if send is None:
                send = senders[topic] = sender(topic)
            send(key, value, timestamp, headers)

        return take


TaskNode: TypeAlias = TaskSource | TaskProcessor | TaskSink


def make_nodes(
    plan: TaskPlan, task: TaskContext, handler: Any | None, *, is_global: bool = False
) -> dict[str, TaskNode]:
    """The nodes of a plan, in its order, not yet connected."""
    return {node.name: _make(node, plan, task, handler, is_global) for node in plan.nodes}


def connect(plan: TaskPlan, nodes: dict[str, TaskNode]) -> None:
    """Tell each node whom to forward to. Comes after all are initialised: only then can they take records."""
    wiring = _Wiring(plan, nodes)
    # From the end, so that what a function calls is there already: a long chain is not wired by recursion.
    for planned in reversed(plan.nodes):
        node = nodes[planned.name]
        node.context.attach([(child, wiring.process(child), wiring.take(child)) for child in planned.children])
        if isinstance(node, TaskSource):
            node.take = wiring.source(node)
            node.take_columns = wiring.columns(node)


class _Wiring:
    """Decides how a node is called: by its own function, or as part of a fused one."""

    def __init__(self, plan: TaskPlan, nodes: dict[str, TaskNode]) -> None:
        self._plan = plan
        self._nodes = nodes
        self._takes: dict[str, Take] = {}
        self._parents = Counter(child for planned in plan.nodes for child in planned.children)
        self._leaf_sensors = {node.name: self._leaf_sensor(node) for node in nodes.values()}
        # Metrics of single nodes are taken between nodes, so nodes that are measured are not fused.
        self._fuses = not any(self._leaf_sensors.values())

    def process(self, name: str) -> Process:
        node = self._nodes[name]
        if self._does(node) is not None:
            return fuse_record(self._operator(name, MAX_DEPTH))
        sensor = self._leaf_sensors[name]
        run = node.process  # type: ignore[union-attr]
        return run if sensor is None else _measured_at_leaf(run, sensor, node.context)

    def take(self, name: str) -> Take:
        """What a fused parent calls with the parts of a record."""
        take = self._takes.get(name)
        if take is None:
            take = self._takes[name] = self._make_take(name)
        return take

    def source(self, source: TaskSource) -> Take:
        """What a task calls with the parts of a record that it has read."""
        take = fuse(Operator(None, None, self._children(source.name, MAX_DEPTH)))
        sensor = source.context.metrics.node_sensor(source.name, "process")
        return take if sensor is None else _measured_at_source(take, sensor)

    def columns(self, source: TaskSource) -> TakeColumns | None:
        """What a task may call with many records at once; None where they have to go one by one."""
        children = self._plan.node(source.name).children
        child = self._nodes[children[0]] if len(children) == 1 else None
        is_measured = not self._fuses or source.context.metrics.node_sensor(source.name, "process") is not None
        if is_measured or not isinstance(child, TaskProcessor) or not isinstance(child.processor, AggregateProcessor):
            return None
        batches = child.processor.batches(*source.serdes)
        return None if batches is None else batches.take

    def _make_take(self, name: str) -> Take:
        node = self._nodes[name]
        if self._does(node) is not None:
            return fuse(self._operator(name, MAX_DEPTH))
        if self._leaf_sensors[name] is None:
            if isinstance(node, TaskSink):
                return node.take
            if isinstance(node, TaskProcessor):
                return fuse(Operator(call(node.processor), node.on_error))
        process = self.process(name)
        return lambda key, value, timestamp, headers: process(Record(key, value, timestamp, headers))

    def _operator(self, name: str, depth: int) -> Operator:
        node = self._nodes[name]
        assert isinstance(node, TaskProcessor)
        return Operator(node.does, node.on_error, self._children(name, depth - 1))

    def _children(self, name: str, depth: int) -> tuple[Operator | Take, ...]:
        return tuple(self._child(child, depth) for child in self._plan.node(name).children)

    def _child(self, name: str, depth: int) -> Operator | Take:
        """Part of its parent's function, unless others call it too or the nesting gets too deep."""
        node = self._nodes[name]
        if self._parents[name] > 1 or depth == 0:
            return self.take(name)
        if self._does(node) is not None:
            return self._operator(name, depth)
        if isinstance(node, TaskProcessor) and self._fuses:
            return Operator(call(node.processor), node.on_error)
        return self.take(name)

    def _does(self, node: TaskNode) -> Fusible | None:
        return node.does if self._fuses and isinstance(node, TaskProcessor) else None

    def _leaf_sensor(self, node: TaskNode) -> Sensor | None:
        is_leaf = not self._plan.node(node.name).children
        return node.context.metrics.e2e_latency_sensor(node.name) if is_leaf else None


def handle_processing_error(
    task: TaskContext,
    handler: Any,
    node: str,
    record: Record[Any, Any] | None,
    error: Exception,
    during: str | None = None,
) -> None:
    """Ask the processing exception handler: returns where it says to go on, raises otherwise."""
    context = task.record_context
    try:
        response = ask(handler, ErrorHandlerContext.of(context, node, task.task_id), record, error)
    except Exception as fatal:
        raise processing_error(node, context, fatal, "the processing exception handler itself failed") from fatal
    if response.dead_letters:
        _send_dead_letters(task, response.dead_letters, node)
    if response.decision is not Decision.RESUME:
        raise processing_error(node, context, error, during) from error
    task.metrics.drop("processing failed")


def handle_unreadable(
    task: TaskContext, handler: Handle, node: str, record: RawRecord, part: str, error: Exception
) -> None:
    """Ask the deserialization exception handler: returns where it says to go on, raises otherwise."""
    topic, partition, offset, timestamp, key, value, headers = record
    context = ErrorHandlerContext(topic, partition, offset, headers, node, task.task_id, timestamp, key, value)
    try:
        response = ask(handler, context, record, error)
    except Exception as fatal:
        message = f"the deserialization exception handler itself failed: {text_of(fatal)}"
        raise StreamsError(message, at=f"node {node}, record {topic}-{partition}@{offset}") from fatal
    if response.dead_letters:
        _send_dead_letters(task, response.dead_letters, node)
    if response.decision is not Decision.RESUME:
        raise unreadable(error, part, record, node) from error
    task.metrics.drop("the record could not be deserialized")


def _send_dead_letters(task: TaskContext, letters: Any, node: str) -> None:
    collector = getattr(task, "collector", None)
    if collector is None:
        log.warning("the global node %s cannot write to a dead-letter topic; the record is lost", node)
    else:
        collector.send_dead_letters(letters, node)


def _make(planned: PlanNode, plan: TaskPlan, task: TaskContext, handler: Any | None, is_global: bool) -> TaskNode:
    spec = planned.kind
    if isinstance(spec, specs.ProcessorNode):
        kind = GlobalNodeContext if is_global else RuntimeNodeContext
        return TaskProcessor(planned.name, spec.supplier(), kind(task, planned.name, planned.stores), task, handler)
    context = RuntimeNodeContext(task, planned.name, planned.stores)
    if isinstance(spec, specs.SourceNode):
        return TaskSource(spec, context)
    return TaskSink(spec, context, task, plan)


def _measured_at_leaf(process: Process, sensor: Sensor, context: RuntimeNodeContext) -> Process:
    def measured(record: Record[Any, Any]) -> None:
        process(record)
        sensor.record(context.current_system_time_ms - record.timestamp)

    return measured


def _measured_at_source(take: Take, sensor: Sensor) -> Take:
    def measured(key: Any, value: Any, timestamp: int, headers: Headers) -> None:
        take(key, value, timestamp, headers)
        sensor.record()

    return measured


def _resolve(make: Callable[[], T], part: str, kind: str, node: str) -> T:
    try:
        return make()
    except (ConfigError, StreamsError) as error:
        message = f"the {part} serde of the {kind} {node} cannot be used: {error.message}"
        raise StreamsError(message, detail=error.detail, hint=error.hint, at=f"node {node}") from error


def _lifecycle_error(what: str, node: str, error: Exception) -> StreamsError:
    during = f"the processor could not be {what}"
    known = details(error)
    return StreamsError(
        headline(error),
        detail=f"{during}; {known}" if known else during,
        hint=remedy(error),
        at=place(error, node),
    )


def _unready(*_: Any) -> Any:
    raise StreamsError("the node was used before its task was initialised")
