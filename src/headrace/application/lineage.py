"""Where a node's records come from, as a short text that does not depend on numbers in generated names.

Two nodes with the same lineage do the same kind of work on the same topics. What the functions of the user do is not
part of it, so a lineage that is the same is a hint, one that differs is a fact.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from headrace.topology.nodes import Node, SinkNode, SourceNode, TopologyGraph


def lineages(graph: TopologyGraph) -> dict[str, str]:
    writers: dict[str, list[Node]] = {}
    for node in graph.nodes.values():
        if isinstance(node, SinkNode) and node.topic in graph.internal_topics:
            writers.setdefault(node.topic, []).append(node)
    found: dict[str, str] = {}
    for name in graph.nodes:
        _find(name, graph, writers, found)
    return found


def comes_by_hash(graph: TopologyGraph, name: str) -> bool | None:
    """Whether all records of a node come through repartition topics; None where the user partitions one of these."""
    sources, above, waiting = set[str](), {name}, [name]
    while waiting:
        node = graph.nodes[waiting.pop()]
        waiting.extend(set(node.parents) - above)
        above.update(node.parents)
        if isinstance(node, SourceNode):
            sources.update(node.topics or ("by pattern",))
    sinks = (node for node in graph.nodes.values() if isinstance(node, SinkNode) and node.topic in sources)
    if any(sink.partitioner is not None for sink in sinks):
        return None
    return sources <= graph.internal_topics.keys()


def _find(name: str, graph: TopologyGraph, writers: Mapping[str, list[Node]], found: dict[str, str]) -> str:
    if name not in found:
        node = graph.nodes[name]
        before = [_find(parent, graph, writers, found) for parent in node.parents]
        topics: list[str] = []
        if isinstance(node, SourceNode):
            fed_by = [writer for topic in node.topics for writer in writers.get(topic, ())]
            before = sorted(_find(writer.name, graph, writers, found) for writer in fed_by)
            topics = sorted(topic for topic in node.topics if topic not in graph.internal_topics)
            topics += [] if node.pattern is None else [node.pattern.pattern]
        text = "\n".join((_kind(node), *topics, "", *before))
        found[name] = hashlib.sha256(text.encode()).hexdigest()[:16]
    return found[name]


def _kind(node: Node) -> str:
    supplier: Any = getattr(node, "supplier", None)
    if supplier is None:
        return type(node).__name__
    kind = supplier if isinstance(supplier, type) else type(supplier)
    # A processor of the user's may get another class or module at any time and stay what it is.
    return kind.__name__ if kind.__module__.startswith("headrace.") else "processor"
