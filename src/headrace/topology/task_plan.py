"""What one task runs: the nodes, stores and topics of a sub-topology, with full topic names."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from headrace.errors import IllegalStateError, TopologyError
from headrace.topology.java_order import hash_order
from headrace.topology.nodes import Node, ProcessorNode, SourceNode, TopologyGraph
from headrace.topology.subtopologies import subtopologies


@dataclass(frozen=True, slots=True)
class PlanNode:
    """A node in its place."""

    name: str
    kind: Node
    children: tuple[str, ...]
    """In the order in which they were attached; one that names a parent twice is there twice."""
    stores: tuple[str, ...] = ()


@dataclass(frozen=True)
class TaskPlan:
    """Everything a task is made from. Nothing in it is live: it can be pickled and shipped."""

    nodes: tuple[PlanNode, ...]
    stores: dict[str, Any]
    """Store builders by name, in the order in which stores are created."""
    global_stores: dict[str, Any]
    source_topics: dict[str, str]
    """Which source node reads a topic."""
    patterns: dict[str, re.Pattern[str]]
    """The patterns of source nodes that have one."""
    store_to_changelog: dict[str, str]
    """The changelogs of logged stores, and the source topics that serve as such."""
    repartition_topics: frozenset[str]
    prefix: str
    subtopology: int | None = None
    internal_names: frozenset[str] = frozenset()
    reprocess_on_restore: dict[str, bool] = field(default_factory=dict)

    def topic_name(self, base: str) -> str:
        """The full name of a topic: internal ones carry the application's prefix."""
        return f"{self.prefix}-{base}" if base in self.internal_names else base

    def node(self, name: str) -> PlanNode:
        return next(node for node in self.nodes if node.name == name)

    def source_of(self, topic: str) -> str | None:
        """The source node that reads ``topic``, by name or by pattern; None where there is none."""
        if topic in self.source_topics:
            return self.source_topics[topic]
        matching = [name for name, pattern in self.patterns.items() if pattern.fullmatch(topic)]
        if len({self.patterns[name] for name in matching}) > 1:
            message = f"the topic {topic!r} matches the patterns of more than one source"
            raise TopologyError(message, detail=f"sources {', '.join(matching)}")
        return matching[0] if matching else None

    @property
    def is_global(self) -> bool:
        return bool(self.reprocess_on_restore)


def task_plan(graph: TopologyGraph, subtopology: int | None) -> TaskPlan:
    """The plan of one sub-topology, or of all but the global ones in one task."""
    groups = subtopologies(graph)
    if subtopology is not None and not 0 <= subtopology < len(groups):
        message = f"there is no sub-topology {subtopology}"
        raise IllegalStateError(message, detail=f"the topology has {len(groups)}")
    chosen = [
        group for group in groups if (group.id == subtopology if subtopology is not None else not group.is_global)
    ]
    return _plan(graph, {name for group in chosen for name in group.nodes}, subtopology)


def global_plan(graph: TopologyGraph) -> TaskPlan | None:
    """The plan that fills the global stores; None where there are none."""
    names = {name for group in subtopologies(graph) if group.is_global for name in group.nodes}
    return _plan(graph, names, None) if names else None


def _plan(graph: TopologyGraph, names: set[str], subtopology: int | None) -> TaskPlan:
    chosen = [node for node in graph.nodes.values() if node.name in names]
    nodes = _plan_nodes(graph, chosen)
    stores = _stores(graph, nodes)
    sources = [node for node in chosen if isinstance(node, SourceNode)]
    return TaskPlan(
        nodes=nodes,
        stores=stores,
        global_stores=dict(graph.global_stores),
        source_topics={graph.full_topic(topic): node.name for node in sources for topic in node.topics},
        patterns={node.name: node.pattern for node in sources if node.pattern is not None},
        store_to_changelog=_changelogs(graph, (*stores, *graph.global_stores)),
        repartition_topics=frozenset(_repartition_topics(graph, chosen)),
        prefix=graph.prefix,
        subtopology=subtopology,
        internal_names=frozenset(graph.internal_topics),
        reprocess_on_restore={
            store: graph.reprocess_on_restore[store]
            for node in nodes
            for store in node.stores
            if store in graph.reprocess_on_restore
        },
    )


def _plan_nodes(graph: TopologyGraph, chosen: list[Node]) -> tuple[PlanNode, ...]:
    children: dict[str, list[str]] = {node.name: [] for node in chosen}
    for node in chosen:
        for parent in node.parents:
            children[parent].append(node.name)
    return tuple(
        PlanNode(node.name, node, tuple(children[node.name]), tuple(hash_order(graph.stores_of.get(node.name, ()))))
        for node in chosen
    )


def _stores(graph: TopologyGraph, nodes: Iterable[PlanNode]) -> dict[str, Any]:
    names = (store for node in nodes for store in node.stores)
    return {name: graph.stores[name] for name in dict.fromkeys(names) if name in graph.stores}


def _changelogs(graph: TopologyGraph, stores: Iterable[str]) -> dict[str, str]:
    topics = {store: graph.changelog_of(store) for store in stores}
    return {store: topic for store, topic in topics.items() if topic is not None}


def _repartition_topics(graph: TopologyGraph, chosen: Iterable[Node]) -> Iterable[str]:
    for node in chosen:
        if isinstance(node, ProcessorNode):
            continue
        topics = node.topics if isinstance(node, SourceNode) else (node.topic,)
        yield from (graph.full_topic(topic) for topic in topics if topic in graph.internal_topics and topic is not None)
