"""The chain of levels of a batch: which sub-topologies are visited when, and what each visit reads.

Records that go to a repartition topic are read at a later level of the same batch. Sources of one sub-topology are
read in one visit wherever they can be, so that a task merges them by time as Kafka does. They cannot where one feeds
the other: a foreign-key join sends from A to B and back to A, so A is visited twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headrace.application.visit_order import Source, ordered_levels
from headrace.topology.nodes import SinkNode, SourceNode

if TYPE_CHECKING:
    from headrace.topology import TopologyPlan
    from headrace.topology.nodes import TopologyGraph
    from headrace.topology.subtopologies import Subtopology


@dataclass(frozen=True, slots=True)
class PlannedVisit:
    """What the tasks of one sub-topology do at one level."""

    subtopology: int
    level: int
    sources: tuple[str, ...]
    """The source nodes that are read."""
    topics: tuple[str, ...]
    """The topics that they read, repartition topics included."""
    nodes: frozenset[str]
    """All nodes that records of these sources can get to.

    Only their punctuations may fire in this visit, so that what they send on is still read in this batch.
    """
    writes: tuple[str, ...]
    """The repartition topics that may be written; each is read at a later level."""


@dataclass(frozen=True, slots=True)
class LevelPlan:
    """The levels of every batch. Every source is read at exactly one of them."""

    levels: tuple[tuple[PlannedVisit, ...], ...]

    def visits_of(self, subtopology: int) -> tuple[PlannedVisit, ...]:
        return tuple(visit for level in self.levels for visit in level if visit.subtopology == subtopology)

    def level_of(self, topic: str) -> int:
        return next(number for number, level in enumerate(self.levels) for visit in level if topic in visit.topics)


def plan_levels(topology: TopologyPlan, sources: Mapping[str, tuple[str, ...]]) -> LevelPlan:
    """The levels of a configured topology; ``sources`` has the topics of each source node (``TopicPlan.sources``).

    A topic of the user's that is written and read by the same topology is read in the next batch; a repartition topic
    that feeds itself is a TopologyError.
    """
    graph = topology.graph
    children = _children(graph)
    found: dict[str, tuple[Source, frozenset[str]]] = {}
    for group in topology.subtopologies():
        if not group.is_global:
            for name in _sources_of(graph, group):
                reached = _reached(name, children)
                found[name] = (_source(graph, name, group.id, reached), reached)
    levels = ordered_levels([source for source, _ in found.values()])
    return LevelPlan(
        tuple(
            tuple(_visit(number, names, found, sources) for names in _by_subtopology(level, found))
            for number, level in enumerate(levels)
        )
    )


def _children(graph: TopologyGraph) -> dict[str, list[str]]:
    children: dict[str, list[str]] = {name: [] for name in graph.nodes}
    for node in graph.nodes.values():
        for parent in node.parents:
            children[parent].append(node.name)
    return children


def _sources_of(graph: TopologyGraph, group: Subtopology) -> list[str]:
    return [name for name in group.nodes if isinstance(graph.nodes[name], SourceNode)]


def _reached(source: str, children: Mapping[str, list[str]]) -> frozenset[str]:
    reached, waiting = {source}, [source]
    while waiting:
        for child in children[waiting.pop()]:
            if child not in reached:
                reached.add(child)
                waiting.append(child)
    return frozenset(reached)


def _source(graph: TopologyGraph, name: str, subtopology: int, reached: frozenset[str]) -> Source:
    node = graph.nodes[name]
    assert isinstance(node, SourceNode)
    sinks = (graph.nodes[each] for each in graph.nodes if each in reached)
    written = dict.fromkeys(sink.topic for sink in sinks if isinstance(sink, SinkNode) and sink.topic)
    stores = {("store", store) for each in reached for store in graph.stores_of.get(each, ())}
    return Source(
        name=name,
        subtopology=subtopology,
        reads=tuple(graph.full_topic(topic) for topic in node.topics if topic in graph.internal_topics),
        writes=tuple(graph.full_topic(topic) for topic in written if topic in graph.internal_topics),
        touches=frozenset({("node", each) for each in reached} | stores),
    )


def _by_subtopology(level: Iterable[str], found: Mapping[str, tuple[Source, frozenset[str]]]) -> list[tuple[str, ...]]:
    visits: dict[int, list[str]] = {}
    for name in level:
        visits.setdefault(found[name][0].subtopology, []).append(name)
    return [tuple(visits[number]) for number in sorted(visits)]


def _visit(
    level: int,
    names: tuple[str, ...],
    found: Mapping[str, tuple[Source, frozenset[str]]],
    topics: Mapping[str, tuple[str, ...]],
) -> PlannedVisit:
    chosen = [found[name] for name in names]
    return PlannedVisit(
        subtopology=chosen[0][0].subtopology,
        level=level,
        sources=names,
        topics=tuple(topic for name in names for topic in topics.get(name, ())),
        nodes=frozenset().union(*(reached for _, reached in chosen)),
        writes=tuple(dict.fromkeys(topic for source, _ in chosen for topic in source.writes)),
    )
