"""The logical graph behind the DSL: one node per operation, each able to write itself into a topology.

The graph, unlike the topology, may still be rewritten (see ``optimize``). Nodes are written in the order
in which they were created, parents first.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from headrace.errors import ArgumentError, TopologyError
from headrace.processors.api import provided_stores

if TYPE_CHECKING:
    from headrace.serde import Serde
    from headrace.topology import Topology


@dataclass
class Step:
    """A processor to be: its node's name and its supplier."""

    name: str
    supplier: Any

    def write(self, topology: Topology, *parents: str) -> None:
        """Add the processor, and the stores its supplier brings along."""
        topology.add_processor(self.name, self.supplier, parents)


@dataclass(eq=False)
class GraphNode(ABC):
    """A node of the logical graph. Children and parents keep the order in which they were added."""

    name: str
    key_changing: bool = field(default=False, kw_only=True)
    value_changing: bool = field(default=False, kw_only=True)
    merge: bool = field(default=False, kw_only=True)
    priority: int = field(default=-1, init=False)
    written: bool = field(default=False, init=False)
    output_versioned: bool | None = field(default=None, init=False)
    """Whether the output is versioned; None where the parents decide."""
    relaxed_null_key_join: bool = field(default=False, init=False)
    built_at: str | None = field(default=None, init=False)
    """The user's line, as soon as the node is part of a graph."""
    _children: dict[GraphNode, None] = field(default_factory=dict, init=False, repr=False)
    _parents: dict[GraphNode, None] = field(default_factory=dict, init=False, repr=False)

    @property
    def children(self) -> list[GraphNode]:
        return list(self._children)

    @property
    def parents(self) -> list[GraphNode]:
        return list(self._parents)

    @property
    def parent_names(self) -> tuple[str, ...]:
        return tuple(parent.name for parent in self._parents)

    def add_child(self, child: GraphNode) -> None:
        self._children[child] = None
        child._parents[self] = None

    def remove_child(self, child: GraphNode) -> None:
        self._children.pop(child, None)
        child._parents.pop(self, None)

    def clear_children(self) -> None:
        for child in self.children:
            self.remove_child(child)

    @abstractmethod
    def write(self, topology: Topology) -> None: ...


class RootNode(GraphNode):
    def write(self, topology: Topology) -> None: ...


@dataclass
class Consumed:
    """How a source reads its topic."""

    key_serde: Serde[Any] | None = None
    value_serde: Serde[Any] | None = None
    timestamp_extractor: Any = None
    offset_reset: Any = None
    name: str | None = None

    @property
    def reading(self) -> dict[str, Any]:
        """What sources and global stores of a topology are told."""
        return {
            "key_serde": self.key_serde,
            "value_serde": self.value_serde,
            "timestamp_extractor": self.timestamp_extractor,
        }


@dataclass(eq=False)
class StreamSourceNode(GraphNode):
    """Reads one or more topics, or those that match a pattern."""

    topics: tuple[str, ...] | None
    pattern: Any | None
    consumed: Consumed

    def absorb(self, other: StreamSourceNode) -> None:
        if self.consumed.offset_reset != other.consumed.offset_reset:
            message = "can't configure different offset reset policies on the same input topic(s)"
            raise TopologyError(message, at=other.built_at)
        for child in other.children:
            other.remove_child(child)
            self.add_child(child)

    def write(self, topology: Topology) -> None:
        reset = self.consumed.offset_reset
        topology.add_source(self.name, self.topics, pattern=self.pattern, offset_reset=reset, **self.consumed.reading)


@dataclass(eq=False)
class TableSourceNode(GraphNode):
    """Reads a topic as a table, or as a global table."""

    source_name: str
    topic: str
    consumed: Consumed
    step: Step
    is_global: bool = field(default=False, kw_only=True)
    reuse_source_topic: bool = field(default=False, init=False)

    def write(self, topology: Topology) -> None:
        source, consumed, step = self.source_name, self.consumed, self.step
        if self.is_global:
            (store,) = provided_stores(step.supplier)
            topology.add_global_store(
                store, source, self.topic, step.name, step.supplier, reprocess_on_restore=False, **consumed.reading
            )
            return
        topology.add_source(source, (self.topic,), offset_reset=consumed.offset_reset, **consumed.reading)
        step.write(topology, source)
        if self.reuse_source_topic:
            for store in provided_stores(step.supplier):
                store.with_logging_disabled()
                topology.connect_source_store_and_topic(store.name, self.topic)


@dataclass(eq=False)
class ProcessorGraphNode(GraphNode):
    """One processor below the node's parents."""

    step: Step

    def write(self, topology: Topology) -> None:
        self.step.write(topology, *self.parent_names)


@dataclass(eq=False)
class StateConnectorNode(ProcessorGraphNode):
    """A processor that uses stores it does not bring along (Java: ProcessorToStateConnectorNode)."""

    store_names: Sequence[str]

    def write(self, topology: Topology) -> None:
        super().write(topology)
        if self.store_names:
            topology.connect_processor_and_state_stores(self.step.name, *self.store_names)


@dataclass(eq=False)
class GracePeriodNode(ProcessorGraphNode):
    """A windowed aggregation; ``suppress`` looks for its grace period."""

    grace_ms: int


class WindowedStreamNode(ProcessorGraphNode):
    """Keeps one side of a stream-stream join in its window store."""


class VersionedSemanticsNode(ProcessorGraphNode):
    """A table operation that must treat out-of-order rows of versioned tables as such.

    Its supplier has a flag ``use_versioned_semantics``: table filter, table group_by, foreign-key sender, and the
    foreign-key join of the right side.
    """

    def enable_versioned_semantics(self, parent_name: str) -> None:
        self.step.supplier.use_versioned_semantics = True


class TableSuppressNode(ProcessorGraphNode):
    """Holds results back; not allowed on versioned tables."""


@dataclass(eq=False)
class StoreNode(GraphNode):
    builder: Any

    def write(self, topology: Topology) -> None:
        topology.add_state_store(self.builder)


@dataclass(eq=False)
class GlobalStoreNode(StoreNode):
    """A global store filled by the user's processor."""

    source_name: str
    topic: str
    consumed: Consumed
    step: Step

    def write(self, topology: Topology) -> None:
        self.builder.with_logging_disabled()
        step = self.step
        topology.add_global_store(
            self.builder, self.source_name, self.topic, step.name, step.supplier, **self.consumed.reading
        )


@dataclass(eq=False)
class StreamSinkNode(GraphNode):
    """Writes to a topic, or to the topic an extractor names."""

    target: str | Callable[..., str]
    key_serde: Serde[Any] | None
    value_serde: Serde[Any] | None
    partitioner: Any | None

    def write(self, topology: Topology) -> None:
        """Add the sink. Windowed keys are partitioned by their inner key."""
        key_serde: Any = self.key_serde
        partitioner = self.partitioner
        if partitioner is None and hasattr(key_serde, "inner_key_partitioner"):
            partitioner = key_serde.inner_key_partitioner()
        topology.add_sink(
            self.name,
            self.target,
            self.parent_names,
            key_serde=self.key_serde,
            value_serde=self.value_serde,
            partitioner=partitioner,
        )


@dataclass
class RepartitionSpec:
    """The parts of a repartition: topic, and the names of its filter, sink and source."""

    topic: str
    sink_name: str
    source_name: str
    filter_step: Step
    key_serde: Serde[Any] | None = None
    value_serde: Serde[Any] | None = None
    partitioner: Any = None
    partitions: int | None = None
    optimizable: bool = True


class RepartitionNode(GraphNode):
    """Filter, sink and source around an internal topic. The node's name is the source's."""

    def __init__(self, spec: RepartitionSpec) -> None:
        super().__init__(spec.source_name)
        self.spec = spec

    @property
    def optimizable(self) -> bool:
        return self.spec.optimizable

    def write(self, topology: Topology) -> None:
        spec = self.spec
        topology.add_internal_topic(spec.topic, spec.partitions)
        spec.filter_step.write(topology, *self.parent_names)
        topology.add_sink(
            spec.sink_name,
            spec.topic,
            (spec.filter_step.name,),
            key_serde=spec.key_serde,
            value_serde=spec.value_serde,
            partitioner=spec.partitioner,
        )
        topology.add_repartition_source(
            spec.source_name, spec.topic, key_serde=spec.key_serde, value_serde=spec.value_serde
        )


@dataclass(eq=False)
class GroupedTableRepartitionNode(GraphNode):
    """The repartition below ``KTable.group_by``: sink and source only. The node's name is the source's.

    ``value_serde`` carries changes.
    """

    sink_name: str
    topic: str
    key_serde: Serde[Any] | None
    value_serde: Serde[Any]

    def write(self, topology: Topology) -> None:
        topology.add_internal_topic(self.topic, None)
        topology.add_sink(
            self.sink_name, self.topic, self.parent_names, key_serde=self.key_serde, value_serde=self.value_serde
        )
        topology.add_repartition_source(self.name, self.topic, key_serde=self.key_serde, value_serde=self.value_serde)


@dataclass(eq=False)
class StreamStreamJoinNode(GraphNode):
    """Both sides of a windowed join and the node that merges their results."""

    this: Step
    other: Step
    merge_step: Step
    self_join: Step
    this_windowed: str
    other_windowed: str
    is_self_join: bool = field(default=False, init=False)

    def write(self, topology: Topology) -> None:
        if self.is_self_join:
            self.self_join.write(topology, self.this_windowed)
            return
        self.this.write(topology, self.this_windowed)
        self.other.write(topology, self.other_windowed)
        self.merge_step.write(topology, self.this.name, self.other.name)


@dataclass(eq=False)
class StreamTableJoinNode(GraphNode):
    """A stream looking up a table; ``store_names`` is empty for a global table."""

    step: Step
    store_names: Sequence[str]
    grace_ms: int | None
    is_global: bool = field(default=False, kw_only=True)

    def write(self, topology: Topology) -> None:
        """Add the join, connect the table's stores and check that the table can serve a grace period."""
        self.step.write(topology, *self.parent_names)
        if self.is_global:
            return
        topology.connect_processor_and_state_stores(self.step.name, *self.store_names)
        if self.grace_ms is not None:
            for name in self.store_names:
                self._check_history(topology, name)

    def _check_history(self, topology: Topology, store_name: str) -> None:
        history_ms = topology.history_retention_ms(store_name)
        if history_ms is None:
            raise ArgumentError(
                "the table must be versioned to use a grace period in a stream-table join",
                hint=f"Give the table a versioned store: store=stores.versioned({store_name!r}, history).",
                at=self.built_at,
            )
        if self.grace_ms is not None and self.grace_ms > history_ms:
            raise ArgumentError(
                "the history retention of the table must be at least the grace period",
                detail=f"history {history_ms} ms, grace {self.grace_ms} ms, store {store_name!r}",
                at=self.built_at,
            )


@dataclass(eq=False)
class TableTableJoinNode(GraphNode):
    """Both sides of a primary-key table join and the node that merges their results."""

    this: Step
    other: Step
    merge_step: Step
    this_parent: str
    other_parent: str
    this_store_names: Sequence[str]
    other_store_names: Sequence[str]

    def enable_versioned_semantics(self, parent_name: str) -> None:
        for step, parent in ((self.this, self.this_parent), (self.other, self.other_parent)):
            if parent == parent_name:
                step.supplier.use_versioned_semantics = True

    def write(self, topology: Topology) -> None:
        self.this.write(topology, self.this_parent)
        self.other.write(topology, self.other_parent)
        self.merge_step.write(topology, self.this.name, self.other.name)
        topology.connect_processor_and_state_stores(self.this.name, *self.other_store_names)
        topology.connect_processor_and_state_stores(self.other.name, *self.this_store_names)


def grace_above(node: GraphNode) -> int:
    """The longest grace period of the windowed aggregations that feed ``node``, in milliseconds.

    Every way up has to meet a windowed aggregation; where one does not, the topology is wrong.
    """
    return _grace(node, ())


def _grace(node: GraphNode, below: tuple[str, ...]) -> int:
    if isinstance(node, GracePeriodNode):
        return node.grace_ms
    chain = (node.name, *below)
    if not node.parents:
        raise TopologyError(
            "window close time is only defined for windowed computations",
            detail=f"got {' -> '.join(chain)}",
            hint="Use windowed_by() before the aggregation, or Suppressed.until_time_limit().",
        )
    return max(_grace(parent, chain) for parent in node.parents)
