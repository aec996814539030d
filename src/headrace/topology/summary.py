"""A topology in one line: what it reads, writes and keeps."""

from __future__ import annotations

from collections.abc import Iterable

from headrace.topology.nodes import SinkNode, TopologyGraph


def summary(graph: TopologyGraph) -> str:
    """``reads in; writes out; stores counts``: topics of its own are not named."""
    parts = {"reads": _read(graph), "writes": _written(graph), "stores": [*graph.stores, *graph.global_stores]}
    texts = (f"{what} {', '.join(found)}" for what, names in parts.items() if (found := list(names)))
    return "; ".join(texts) or "empty"


def _read(graph: TopologyGraph) -> Iterable[str]:
    for node in graph.sources():
        yield from (topic for topic in node.topics if topic not in graph.internal_topics)
        if node.pattern is not None:
            yield node.pattern.pattern


def _written(graph: TopologyGraph) -> Iterable[str]:
    for node in graph.nodes.values():
        if isinstance(node, SinkNode) and node.topic not in graph.internal_topics:
            yield node.topic or "topics named by a function"
