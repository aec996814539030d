"""The nodes of a task at run time, and the one place where they are wired together.

Records flow by plain calls: a parent's context calls the ``process`` function of each child.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias, TypeVar

from headrace.errors import (
    ConfigError,
    ProcessingError,
    StreamsError,
    TaskCorruptedError,
    TaskMigratedError,
)
from headrace.metrics import Sensor
from headrace.records import Record, RecordContext
from headrace.serde.defaults import resolve_key_serde, resolve_value_serde
from headrace.task.context import GlobalNodeContext, Process, RuntimeNodeContext, TaskContext
from headrace.task.failures import processing_error, raised_at
from headrace.task.handlers import Decision, ErrorHandlerContext, ask
from headrace.topology import nodes as specs
from headrace.topology.task_plan import PlanNode, TaskPlan

log = logging.getLogger(__name__)

T = TypeVar("T")


class SourceNode:
    """Where records enter: holds the serdes of its topics."""

    def __init__(self, spec: specs.SourceNode, context: RuntimeNodeContext) -> None:
        self.name = spec.name
        self.context = context
        self.extractor = spec.timestamp_extractor
        self._spec = spec
        self.process: Process = context.forward
        self.read_key: Callable[[str, bytes | None], Any] = _unready
        self.read_value: Callable[[str, bytes | None], Any] = _unready

    def init(self) -> None:
        """Resolve the serdes; measure where measuring is on."""
        config = self.context.config
        key_serde = _resolve(lambda: resolve_key_serde(self._spec.key_serde, config), "key", "source", self.name)
        value_serde = _resolve(
            lambda: resolve_value_serde(self._spec.value_serde, config), "value", "source", self.name
        )
        self.read_key, self.read_value = key_serde.deserialize, value_serde.deserialize
        sensor = self.context.metrics.node_sensor(self.name, "process")
        if sensor is not None:
            self.process = _measured_at_source(self.context.forward, sensor)

    def close(self) -> None:
        """Nothing to release."""


class ProcessorNode:
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
        """Hand the processor its context."""
        try:
            self.processor.init(self.context)
        except Exception as error:
            raise _lifecycle_error("initialize", self.name, error) from error

    def close(self) -> None:
        """Let the processor go."""
        try:
            self.processor.close()
        except Exception as error:
            raise _lifecycle_error("close", self.name, error) from error

    def _guarded(self, run: Process) -> Process:
        on_error = self._on_error

        def process(record: Record[Any, Any]) -> None:
            try:
                run(record)
            except (ProcessingError, TaskCorruptedError, TaskMigratedError):
                # Decided already, at the node where it happened.
                raise
            except Exception as error:
                on_error(record, error)

        return process

    def _on_error(self, record: Record[Any, Any], error: Exception) -> None:
        if self._handler is None:
            raise error
        handle_processing_error(self._task, self._handler, self.name, record, error, "processing failed")


class SinkNode:
    """Where records leave, to a fixed topic or to the one an extractor names."""

    def __init__(self, spec: specs.SinkNode, context: RuntimeNodeContext, task: TaskContext, plan: TaskPlan) -> None:
        self.name = spec.name
        self.context = context
        self.topic = None if spec.topic is None else plan.topic_name(spec.topic)
        self._spec = spec
        self._task = task
        self.process: Process = _unready

    def init(self) -> None:
        """Resolve the serdes and choose the shortest way out."""
        config = self.context.config
        key_serde = _resolve(lambda: resolve_key_serde(self._spec.key_serde, config), "key", "sink", self.name)
        value_serde = _resolve(lambda: resolve_value_serde(self._spec.value_serde, config), "value", "sink", self.name)
        sender = self._sender(key_serde.serialize, value_serde.serialize)
        self.process = self._to_extracted(sender) if self.topic is None else sender(self.topic)

    def close(self) -> None:
        """Nothing to release."""

    def _sender(self, serialize_key: Any, serialize_value: Any) -> Callable[[str], Process]:
        """What makes the function that writes to a topic."""
        collector, name, partitioner = self._task.collector, self.name, self._spec.partitioner

        def to_topic(topic: str) -> Process:
            if partitioner is None:
                return partial(collector.send, topic, serialize_key, serialize_value, name)
            return partial(collector.send_partitioned, topic, serialize_key, serialize_value, name, partitioner)

        return to_topic

    def _to_extracted(self, sender: Callable[[str], Process]) -> Process:
        task, extract = self._task, self._spec.extractor
        senders: dict[str, Process] = {}

        def process(record: Record[Any, Any]) -> None:
            held = task.record_context
            assert held is not None
            context = RecordContext(record.timestamp, held.offset, held.partition, held.topic, record.headers)
            topic = extract(record.key, record.value, context)
            send = senders.get(topic)
            if send is None:
                send = senders[topic] = sender(topic)
            send(record)

        return process


AnyNode: TypeAlias = SourceNode | ProcessorNode | SinkNode


def make_nodes(
    plan: TaskPlan, task: TaskContext, handler: Any | None, *, is_global: bool = False
) -> dict[str, AnyNode]:
    """The nodes of a plan, in its order, not yet connected."""
    return {node.name: _make(node, plan, task, handler, is_global) for node in plan.nodes}


def connect(plan: TaskPlan, nodes: dict[str, AnyNode]) -> None:
    """Tell each node whom to forward to. Comes after all are initialised: only then can they take records."""
    for planned in plan.nodes:
        nodes[planned.name].context.attach([(child, _entry(plan, nodes[child])) for child in planned.children])


def handle_processing_error(
    task: TaskContext, handler: Any, node: str, record: Record[Any, Any] | None, error: Exception, what: str
) -> None:
    """Ask the processing exception handler: returns where it says to go on, raises otherwise."""
    context = task.record_context
    try:
        response = ask(handler, ErrorHandlerContext.of(context, node, task.task_id), record, error)
    except Exception as fatal:
        raise processing_error("the processing exception handler itself failed", node, context, fatal) from fatal
    if response.dead_letters:
        _send_dead_letters(task, response.dead_letters, node)
    if response.decision is not Decision.RESUME:
        raise processing_error(what, node, context, error) from error
    task.drop("processing failed", node)


def _send_dead_letters(task: TaskContext, letters: Any, node: str) -> None:
    collector = getattr(task, "collector", None)
    if collector is None:
        log.warning("the global node %s cannot write to a dead-letter topic; the record is lost", node)
    else:
        collector.send_dead_letters(letters, node)


def _make(planned: PlanNode, plan: TaskPlan, task: TaskContext, handler: Any | None, is_global: bool) -> AnyNode:
    spec = planned.kind
    if isinstance(spec, specs.ProcessorNode):
        kind = GlobalNodeContext if is_global else RuntimeNodeContext
        return ProcessorNode(planned.name, spec.supplier(), kind(task, planned.name, planned.stores), task, handler)
    context = RuntimeNodeContext(task, planned.name, planned.stores)
    if isinstance(spec, specs.SourceNode):
        return SourceNode(spec, context)
    return SinkNode(spec, context, task, plan)


def _entry(plan: TaskPlan, node: AnyNode) -> Process:
    """What a parent calls: the node's own function, timed at the leaves where measuring is on."""
    is_leaf = not plan.node(node.name).children
    sensor = node.context.metrics.e2e_latency_sensor(node.name) if is_leaf else None
    return node.process if sensor is None else _measured_at_leaf(node.process, sensor, node.context)


def _measured_at_leaf(process: Process, sensor: Sensor, context: RuntimeNodeContext) -> Process:
    def measured(record: Record[Any, Any]) -> None:
        process(record)
        sensor.record(context.current_system_time_ms - record.timestamp)

    return measured


def _measured_at_source(forward: Callable[..., None], sensor: Sensor) -> Process:
    def measured(record: Record[Any, Any]) -> None:
        forward(record)
        sensor.record()

    return measured


def _resolve(make: Callable[[], T], part: str, kind: str, node: str) -> T:
    try:
        return make()
    except (ConfigError, StreamsError) as error:
        message = f"the {part} serde of the {kind} {node} cannot be used: {error.message}"
        raise StreamsError(message, detail=error.detail, hint=error.hint, at=f"node {node}") from error


def _lifecycle_error(what: str, node: str, error: Exception) -> StreamsError:
    line = raised_at(error)
    return StreamsError(
        f"could not {what} the processor {node}: {getattr(error, 'message', error)}",
        detail=getattr(error, "detail", None),
        hint=getattr(error, "hint", None),
        at=f"node {node}" + (f", {line}" if line else ""),
    )


def _unready(*_: Any) -> Any:
    raise StreamsError("the node was used before its task was initialised")
