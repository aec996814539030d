"""The logical graph behind the DSL: one node per operation, each able to write itself into a topology.

The graph, unlike the topology, may still be rewritten (see ``optimize``). Nodes are written in the order
in which they were created, parents first.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headrace.errors import ArgumentError, TopologyError, user_line
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


class GraphNode(ABC):
    """A node of the logical graph. Children and parents keep the order in which they were added."""

    def __init__(
        self, name: str, *, key_changing: bool = False, value_changing: bool = False, merge: bool = False
    ) -> None:
        self.name = name
        self.key_changing = key_changing
        self.value_changing = value_changing
        self.merge = merge
        self.priority = -1
        self.written = False
        self.output_versioned: bool | None = None
        """Whether the output is versioned; None where the parents decide."""
        self.relaxed_null_key_join = False
        self.built_at = user_line()
        self._children: dict[GraphNode, None] = {}
        self._parents: dict[GraphNode, None] = {}

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
    def __init__(self) -> None:
        super().__init__("root")

    def write(self, topology: Topology) -> None: ...


@dataclass
class Consumed:
    """How a source reads its topic."""

    key_serde: Serde[Any] | None = None
    value_serde: Serde[Any] | None = None
    timestamp_extractor: Any = None
    offset_reset: Any = None
    name: str | None = None


class StreamSourceNode(GraphNode):
    """Reads one or more topics, or those that match a pattern."""

    def __init__(self, name: str, topics: Sequence[str] | None, pattern: Any | None, consumed: Consumed) -> None:
        super().__init__(name)
        self.topics = None if topics is None else tuple(topics)
        self.pattern = pattern
        self.consumed = consumed

    def absorb(self, other: StreamSourceNode) -> None:
        if self.consumed.offset_reset != other.consumed.offset_reset:
            message = "can't configure different offset reset policies on the same input topic(s)"
            raise TopologyError(message, at=other.built_at)
        for child in other.children:
            other.remove_child(child)
            self.add_child(child)

    def write(self, topology: Topology) -> None:
        topology.add_source(
            self.name,
            topics=self.topics,
            pattern=self.pattern,
            key_serde=self.consumed.key_serde,
            value_serde=self.consumed.value_serde,
            timestamp_extractor=self.consumed.timestamp_extractor,
            offset_reset=self.consumed.offset_reset,
        )


class TableSourceNode(GraphNode):
    """Reads a topic as a table, or as a global table."""

    def __init__(
        self, name: str, source_name: str, topic: str, consumed: Consumed, step: Step, *, is_global: bool = False
    ) -> None:
        super().__init__(name)
        self.source_name = source_name
        self.topic = topic
        self.consumed = consumed
        self.step = step
        self.is_global = is_global
        self.reuse_source_topic = False

    def write(self, topology: Topology) -> None:
        consumed = self.consumed
        if self.is_global:
            (store,) = provided_stores(self.step.supplier)
            topology.add_global_store(
                store,
                self.source_name,
                self.topic,
                self.step.name,
                self.step.supplier,
                key_serde=consumed.key_serde,
                value_serde=consumed.value_serde,
                timestamp_extractor=consumed.timestamp_extractor,
                reprocess_on_restore=False,
            )
            return
        topology.add_source(
            self.source_name,
            topics=(self.topic,),
            key_serde=consumed.key_serde,
            value_serde=consumed.value_serde,
            timestamp_extractor=consumed.timestamp_extractor,
            offset_reset=consumed.offset_reset,
        )
        self.step.write(topology, self.source_name)
        if self.reuse_source_topic:
            for store in provided_stores(self.step.supplier):
                store.with_logging_disabled()
                topology.connect_source_store_and_topic(store.name, self.topic)


class ProcessorGraphNode(GraphNode):
    """One processor below the node's parents."""

    def __init__(self, name: str, step: Step, **flags: bool) -> None:
        super().__init__(name, **flags)
        self.step = step

    def write(self, topology: Topology) -> None:
        self.step.write(topology, *self.parent_names)


class StateConnectorNode(ProcessorGraphNode):
    """A processor that uses stores it does not bring along (Java: ProcessorToStateConnectorNode)."""

    def __init__(self, name: str, step: Step, store_names: Sequence[str], **flags: bool) -> None:
        super().__init__(name, step, **flags)
        self.store_names = tuple(store_names)

    def write(self, topology: Topology) -> None:
        super().write(topology)
        if self.store_names:
            topology.connect_processor_and_state_stores(self.step.name, *self.store_names)


class GracePeriodNode(ProcessorGraphNode):
    """A windowed aggregation; ``suppress`` looks for its grace period."""

    def __init__(self, name: str, step: Step, grace_ms: int) -> None:
        super().__init__(name, step)
        self.grace_ms = grace_ms


class WindowedStreamNode(ProcessorGraphNode):
    """Keeps one side of a stream-stream join in its window store."""

    def __init__(self, store_name: str, step: Step) -> None:
        super().__init__(step.name, step)
        self.store_name = store_name


class VersionedSemanticsNode(ProcessorGraphNode):
    """A table operation that must treat out-of-order rows of versioned tables as such.

    Its supplier has a flag ``use_versioned_semantics``: table filter, table group_by, foreign-key sender, and the
    foreign-key join of the right side.
    """

    def enable_versioned_semantics(self, parent_name: str) -> None:
        self.step.supplier.use_versioned_semantics = True


class TableSuppressNode(ProcessorGraphNode):
    """Holds results back; not allowed on versioned tables."""


class StoreNode(GraphNode):
    def __init__(self, builder: Any) -> None:
        super().__init__(builder.name)
        self.builder = builder

    def write(self, topology: Topology) -> None:
        topology.add_state_store(self.builder)


class GlobalStoreNode(GraphNode):
    """A global store filled by the user's processor."""

    def __init__(
        self, builder: Any, source_name: str, topic: str, consumed: Consumed, processor_name: str, supplier: Any
    ) -> None:
        super().__init__(builder.name)
        self.builder = builder
        self.source_name = source_name
        self.topic = topic
        self.consumed = consumed
        self.processor_name = processor_name
        self.supplier = supplier

    def write(self, topology: Topology) -> None:
        self.builder.with_logging_disabled()
        topology.add_global_store(
            self.builder,
            self.source_name,
            self.topic,
            self.processor_name,
            self.supplier,
            key_serde=self.consumed.key_serde,
            value_serde=self.consumed.value_serde,
            timestamp_extractor=self.consumed.timestamp_extractor,
            reprocess_on_restore=True,
        )


class StreamSinkNode(GraphNode):
    """Writes to a topic, or to the topic an extractor names."""

    def __init__(
        self,
        name: str,
        target: str | Callable[..., str],
        key_serde: Serde[Any] | None,
        value_serde: Serde[Any] | None,
        partitioner: Any | None,
    ) -> None:
        super().__init__(name)
        self.target = target
        self.key_serde = key_serde
        self.value_serde = value_serde
        self.partitioner = partitioner

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


class GroupedTableRepartitionNode(GraphNode):
    """The repartition below ``KTable.group_by``: sink and source only. ``value_serde`` carries changes."""

    def __init__(
        self, sink_name: str, source_name: str, topic: str, key_serde: Serde[Any] | None, value_serde: Serde[Any]
    ) -> None:
        super().__init__(source_name)
        self.sink_name = sink_name
        self.source_name = source_name
        self.topic = topic
        self.key_serde = key_serde
        self.value_serde = value_serde

    def write(self, topology: Topology) -> None:
        topology.add_internal_topic(self.topic, None)
        topology.add_sink(
            self.sink_name, self.topic, self.parent_names, key_serde=self.key_serde, value_serde=self.value_serde
        )
        topology.add_repartition_source(
            self.source_name, self.topic, key_serde=self.key_serde, value_serde=self.value_serde
        )


class StreamStreamJoinNode(GraphNode):
    """Both sides of a windowed join and the node that merges their results."""

    def __init__(
        self, name: str, this: Step, other: Step, merge: Step, self_join: Step, this_windowed: str, other_windowed: str
    ) -> None:
        super().__init__(name)
        self.this, self.other, self.merge_step, self.self_join = this, other, merge, self_join
        self.this_windowed, self.other_windowed = this_windowed, other_windowed
        self.is_self_join = False

    def write(self, topology: Topology) -> None:
        if self.is_self_join:
            self.self_join.write(topology, self.this_windowed)
            return
        self.this.write(topology, self.this_windowed)
        self.other.write(topology, self.other_windowed)
        self.merge_step.write(topology, self.this.name, self.other.name)


class StreamTableJoinNode(GraphNode):
    """A stream looking up a table; ``store_names`` is empty for a global table."""

    def __init__(
        self, name: str, step: Step, store_names: Sequence[str], grace_ms: int | None, *, is_global: bool = False
    ) -> None:
        super().__init__(name)
        self.step = step
        self.store_names = tuple(store_names)
        self.grace_ms = grace_ms
        self.is_global = is_global

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


class TableTableJoinNode(GraphNode):
    """Both sides of a primary-key table join and the node that merges their results."""

    def __init__(
        self,
        name: str,
        this: Step,
        other: Step,
        merge: Step,
        this_parent: str,
        other_parent: str,
        this_store_names: Sequence[str],
        other_store_names: Sequence[str],
    ) -> None:
        super().__init__(name)
        self.this, self.other, self.merge_step = this, other, merge
        self.this_parent, self.other_parent = this_parent, other_parent
        self.this_store_names, self.other_store_names = tuple(this_store_names), tuple(other_store_names)

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
