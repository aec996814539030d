"""What ``describe()`` shows: sub-topologies, global stores and their nodes, printed to the letter as in Java."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from headrace.topology.java_order import TreeSet, copied_hash_order, hash_order, sort_key
from headrace.topology.nodes import Node, ProcessorNode, SourceNode, TopologyGraph
from headrace.topology.pictures import extractor_text
from headrace.topology.subtopologies import node_groups


@dataclass(frozen=True, slots=True)
class NodeDescription:
    """One node: its name, what it reads, keeps or writes, and its neighbours."""

    kind: str
    """``Source``, ``Processor`` or ``Sink``."""
    name: str
    what: str
    """What stands in parentheses: topics, stores, topic or extractor."""
    successors: tuple[str, ...] = ()
    predecessors: tuple[str, ...] = ()

    def __str__(self) -> str:
        text = f"{self.kind}: {self.name} ({self.what})"
        if self.kind != "Sink":
            text += f"\n      --> {', '.join(self.successors) or 'none'}"
        if self.kind != "Source":
            text += f"\n      <-- {', '.join(self.predecessors) or 'none'}"
        return text


@dataclass(frozen=True, slots=True)
class SubtopologyDescription:
    """One sub-topology; nodes with most below them first."""

    id: int
    nodes: tuple[NodeDescription, ...]
    is_global: bool = False

    def __str__(self) -> str:
        nodes = "".join(f"    {node}\n" for node in self.nodes)
        if self.is_global:
            return f"Sub-topology: {self.id} for global store (will not generate tasks)\n{nodes}"
        return f"Sub-topology: {self.id}\n{nodes}\n"


@dataclass(frozen=True, slots=True)
class TopologyDescription:
    subtopologies: tuple[SubtopologyDescription, ...]

    def __str__(self) -> str:
        return "Topologies:\n " + "".join(f"  {part}" for part in self.subtopologies)


def describe(graph: TopologyGraph) -> TopologyDescription:
    """The description of ``graph``; internal topics are shown without the application's prefix."""
    return TopologyDescription(
        tuple(_subtopology(graph, number, names) for number, names in enumerate(node_groups(graph)))
    )


def _subtopology(graph: TopologyGraph, number: int, names: tuple[str, ...]) -> SubtopologyDescription:
    if any(graph.is_global_source(name) for name in names):
        return SubtopologyDescription(number, _global_nodes(graph, names), is_global=True)
    described = _connected(graph, names)
    ordered = sorted(described, key=lambda node: (-node.size, sort_key(node.name)))
    return SubtopologyDescription(number, tuple(node.description(graph) for node in ordered))


def _global_nodes(graph: TopologyGraph, names: tuple[str, ...]) -> tuple[NodeDescription, ...]:
    source = next(name for name in hash_order(names) if graph.is_global_source(name))
    processor = next(name for name in hash_order(names) if name != source)
    return (
        NodeDescription("Source", source, _what(graph, graph.nodes[source]), successors=(processor,)),
        NodeDescription("Processor", processor, _what(graph, graph.nodes[processor]), predecessors=(source,)),
    )


@dataclass(eq=False, slots=True)
class _Described:
    """A node while its neighbours are being collected; ``size`` counts the nodes below it, once per path."""

    node: Node
    size: int = 1
    successors: TreeSet[_Described] = field(default_factory=lambda: TreeSet(_compare))
    predecessors: TreeSet[_Described] = field(default_factory=lambda: TreeSet(_compare))

    @property
    def name(self) -> str:
        return self.node.name

    def grow(self, delta: int) -> None:
        # Step by step up, and what comes to a node by several paths at once: there may be many more paths than nodes.
        growing = {self: delta}
        while growing:
            above: dict[_Described, int] = {}
            for node, more in growing.items():
                node.size += more
                for predecessor in node.predecessors:
                    above[predecessor] = above.get(predecessor, 0) + more
            growing = above

    def description(self, graph: TopologyGraph) -> NodeDescription:
        kind = type(self.node).__name__.removesuffix("Node")
        successors, predecessors = _names(self.successors), _names(self.predecessors)
        return NodeDescription(kind, self.name, _what(graph, self.node), successors, predecessors)


def _compare(one: _Described, other: _Described) -> int:
    if one is other:
        return 0
    if one.size != other.size:
        return other.size - one.size
    return -1 if sort_key(one.name) < sort_key(other.name) else 1


def _connected(graph: TopologyGraph, names: tuple[str, ...]) -> list[_Described]:
    """The nodes with their neighbours.

    Kafka Streams collects neighbours in hash order into sets sorted by a size that grows meanwhile, so the
    order of this loop is part of the answer.
    """
    described = {name: _Described(graph.nodes[name]) for name in hash_order(hash_order(names))}
    for node in described.values():
        for parent_name in node.node.parents:
            parent = described[parent_name]
            node.predecessors.add(parent)
            parent.successors.add(node)
            parent.grow(node.size)
    return list(described.values())


def _names(nodes: Iterable[_Described]) -> tuple[str, ...]:
    return tuple(node.name for node in nodes)


def _what(graph: TopologyGraph, node: Node) -> str:
    if isinstance(node, SourceNode):
        topics = node.pattern.pattern if node.pattern is not None else _listed(copied_hash_order(node.topics))
        return f"topics: {topics}"
    if isinstance(node, ProcessorNode):
        return f"stores: {_listed(copied_hash_order(hash_order(graph.stores_of.get(node.name, ()))))}"
    return f"topic: {node.topic}" if node.topic is not None else f"extractor class: {extractor_text(node.extractor)}"


def _listed(names: Iterable[str]) -> str:
    return f"[{', '.join(names)}]"
