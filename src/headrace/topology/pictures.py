"""A topology as text: a line, or a picture as Mermaid, Graphviz, JSON. What notebooks draw is in ``drawing``."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from headrace.topology.nodes import Node, ProcessorNode, SinkNode, SourceNode, TopologyGraph
from headrace.topology.subtopologies import node_groups


@dataclass(frozen=True, slots=True)
class _Shapes:
    """How one language writes a box of each kind and an arrow; ``{id}`` and ``{text}`` are filled in."""

    source: str
    processor: str
    sink: str
    topic: str
    store: str
    arrow: str
    store_arrow: str
    escape: Callable[[str], str]


def _mermaid_text(text: str) -> str:
    return text.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;").replace(">", "&gt;")


def _dot_text(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


_MERMAID = _Shapes(
    source='{id}[/"{text}"/]',
    processor='{id}["{text}"]',
    sink='{id}[\\"{text}"\\]',
    topic='{id}(["{text}"])',
    store='{id}[("{text}")]',
    arrow="{one} --> {other}",
    store_arrow="{one} -.- {other}",
    escape=_mermaid_text,
)
_DOT = _Shapes(
    source='{id} [label="{text}", shape=parallelogram];',
    processor='{id} [label="{text}", shape=box];',
    sink='{id} [label="{text}", shape=invtrapezium];',
    topic='{id} [label="{text}", shape=box, style=rounded];',
    store='{id} [label="{text}", shape=cylinder];',
    arrow="{one} -> {other};",
    store_arrow="{one} -> {other} [dir=none, style=dashed];",
    escape=_dot_text,
)


def to_mermaid(graph: TopologyGraph) -> str:
    picture = _Picture(graph, _MERMAID)
    lines = ["flowchart TD"]
    for number, names in enumerate(node_groups(graph)):
        lines += [f'  subgraph s{number}["Sub-topology {number}{_global_mark(graph, names)}"]']
        lines += [f"    {line}" for line in picture.inside(names)]
        lines += ["  end"]
    return "\n".join([*lines, *(f"  {line}" for line in picture.outside())]) + "\n"


def to_dot(graph: TopologyGraph) -> str:
    picture = _Picture(graph, _DOT)
    lines = ["digraph topology {"]
    for number, names in enumerate(node_groups(graph)):
        lines += [f"  subgraph cluster_{number} {{", f'    label="Sub-topology {number}{_global_mark(graph, names)}";']
        lines += [f"    {line}" for line in picture.inside(names)]
        lines += ["  }"]
    return "\n".join([*lines, *(f"  {line}" for line in picture.outside()), "}"]) + "\n"


def to_json(graph: TopologyGraph) -> str:
    """The topology as JSON: sub-topologies, their nodes with parents, topics and stores."""
    parts = [
        {
            "id": number,
            "global": bool(_global_mark(graph, names)),
            "nodes": [_node_json(graph, graph.nodes[name]) for name in names],
        }
        for number, names in enumerate(node_groups(graph))
    ]
    return json.dumps({"subtopologies": parts}, indent=2, ensure_ascii=False)


def topics_of(node: Node) -> tuple[str, ...]:
    """The topics a node reads or writes, as text: a pattern between slashes, an extractor by its name."""
    if isinstance(node, ProcessorNode):
        return ()
    if isinstance(node, SourceNode):
        return node.topics if node.pattern is None else (f"/{node.pattern.pattern}/",)
    return (extractor_text(node.extractor) if node.topic is None else node.topic,)


def extractor_text(extractor: Any) -> str:
    """A function shows its name: its address would differ from run to run."""
    return getattr(extractor, "__qualname__", None) or str(extractor)


def _global_mark(graph: TopologyGraph, names: Iterable[str]) -> str:
    return " (global store)" if any(graph.is_global_source(name) for name in names) else ""


def _node_json(graph: TopologyGraph, node: Node) -> dict[str, Any]:
    return {
        "name": node.name,
        "kind": _kind(node),
        "parents": list(node.parents),
        "topics": list(topics_of(node)),
        "stores": list(graph.stores_of.get(node.name, ())),
        "at": node.built_at,
    }


class _Picture:
    """Boxes and arrows in one language; ids are numbers, since names may hold anything."""

    def __init__(self, graph: TopologyGraph, shapes: _Shapes) -> None:
        self._graph = graph
        self._shapes = shapes
        self._ids: dict[tuple[str, str], str] = {}

    def inside(self, names: Iterable[str]) -> list[str]:
        """The nodes and stores of one sub-topology."""
        nodes = [self._graph.nodes[name] for name in names]
        lines = [self._box(_kind(node), node.name) for node in nodes]
        stores = dict.fromkeys(store for node in nodes for store in self._graph.stores_of.get(node.name, ()))
        lines += [self._box("store", store) for store in stores]
        for node in nodes:
            lines += [self._arrow(("node", parent), ("node", node.name)) for parent in node.parents]
            used = self._graph.stores_of.get(node.name, ())
            lines += [self._arrow(("node", node.name), ("store", store), kind="store_arrow") for store in used]
        return lines

    def outside(self) -> list[str]:
        """The topics, and who reads and writes them."""
        nodes = list(self._graph.nodes.values())
        topics = dict.fromkeys(topic for node in nodes for topic in topics_of(node))
        lines = [self._box("topic", topic) for topic in topics]
        for node in nodes:
            for topic in topics_of(node):
                ends = (("topic", topic), ("node", node.name))
                lines.append(self._arrow(*(ends if isinstance(node, SourceNode) else ends[::-1])))
        return lines

    def _box(self, kind: str, name: str) -> str:
        shape: str = getattr(self._shapes, kind)
        key = (kind if kind in {"topic", "store"} else "node", name)
        return shape.format(id=self._id(key), text=self._shapes.escape(name))

    def _arrow(self, one: tuple[str, str], other: tuple[str, str], *, kind: str = "arrow") -> str:
        shape: str = getattr(self._shapes, kind)
        return shape.format(one=self._id(one), other=self._id(other))

    def _id(self, key: tuple[str, str]) -> str:
        return self._ids.setdefault(key, f"b{len(self._ids)}")


def _kind(node: Node) -> str:
    return type(node).__name__.removesuffix("Node").lower()


def summary(graph: TopologyGraph) -> str:
    """``reads in; writes out; stores counts``: topics of its own are not named."""
    parts = {
        "reads": _topics_read(graph),
        "writes": _topics_written(graph),
        "stores": [*graph.stores, *graph.global_stores],
    }
    texts = (f"{what} {', '.join(found)}" for what, names in parts.items() if (found := list(names)))
    return "; ".join(texts) or "empty"


def _topics_read(graph: TopologyGraph) -> Iterable[str]:
    for node in graph.sources():
        yield from (topic for topic in node.topics if topic not in graph.internal_topics)
        if node.pattern is not None:
            yield node.pattern.pattern


def _topics_written(graph: TopologyGraph) -> Iterable[str]:
    for node in graph.nodes.values():
        if isinstance(node, SinkNode) and node.topic not in graph.internal_topics:
            yield node.topic or "topics named by a function"
