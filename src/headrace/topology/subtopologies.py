"""Which nodes belong together: those linked by an edge or by a shared store run in one task."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from headrace.topology.nodes import Copartition, SinkNode, SourceNode, TopologyGraph


@dataclass(frozen=True, slots=True)
class Subtopology:
    """One connected part of a topology. Topic names are full once the topology is configured."""

    id: int
    nodes: tuple[str, ...]
    """Names, in the order the nodes were added."""
    is_global: bool
    """A global store and what fills it: takes an id, but no task."""
    source_topics: tuple[str, ...]
    patterns: tuple[re.Pattern[str], ...]
    sink_topics: tuple[str, ...]
    stores: tuple[str, ...]


def subtopologies(graph: TopologyGraph) -> list[Subtopology]:
    """All sub-topologies, in the order of their ids: the order of their first nodes."""
    return [_subtopology(graph, number, names) for number, names in enumerate(node_groups(graph))]


def node_groups(graph: TopologyGraph) -> list[tuple[str, ...]]:
    """The names of connected nodes, group by group."""
    groups = _Groups(graph.nodes)
    for node in graph.nodes.values():
        groups.unite((node.name, *node.parents))
    for users in graph.users_of.values():
        groups.unite(users)
    members: dict[str, list[str]] = {}
    for name in graph.nodes:
        members.setdefault(groups.root(name), []).append(name)
    return [tuple(names) for names in members.values()]


def copartition_groups(graph: TopologyGraph) -> list[frozenset[str]]:
    """Sets of full topic names that must have the same number of partitions; overlapping demands are joined."""
    merged: list[frozenset[str]] = []
    for demand in filter(None, (copartitioned_topics(graph, each) for each in graph.copartitioned)):
        touching = [group for group in merged if group & demand]
        merged = [group for group in merged if group not in touching]
        merged.append(demand.union(*touching))
    return merged


def copartitioned_topics(graph: TopologyGraph, demand: Copartition) -> frozenset[str]:
    """The full names of the topics that one demand is about."""
    return frozenset(graph.full_topic(topic) for name in demand.sources for topic in _topics_of(graph, name))


def _topics_of(graph: TopologyGraph, name: str) -> tuple[str, ...]:
    node = graph.nodes.get(name)
    return node.topics if isinstance(node, SourceNode) else ()


def _subtopology(graph: TopologyGraph, number: int, names: tuple[str, ...]) -> Subtopology:
    nodes = [graph.nodes[name] for name in names]
    sources = [node for node in nodes if isinstance(node, SourceNode)]
    sinks = [node.topic for node in nodes if isinstance(node, SinkNode) and node.topic is not None]
    stores = (store for name in names for store in graph.stores_of.get(name, ()))
    return Subtopology(
        id=number,
        nodes=names,
        is_global=any(graph.is_global_source(name) for name in names),
        source_topics=tuple(graph.full_topic(topic) for source in sources for topic in source.topics),
        patterns=tuple(source.pattern for source in sources if source.pattern is not None),
        sink_topics=tuple(dict.fromkeys(graph.full_topic(topic) for topic in sinks)),
        stores=tuple(dict.fromkeys(stores)),
    )


class _Groups:
    def __init__(self, names: Iterable[str]) -> None:
        self._above = {name: name for name in names}

    def root(self, name: str) -> str:
        above = self._above
        while above[name] != name:
            above[name] = above[above[name]]
            name = above[name]
        return name

    def unite(self, names: Iterable[str]) -> None:
        roots = [self.root(name) for name in names]
        for root in roots:
            self._above[root] = self.root(roots[0])
