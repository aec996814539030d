"""The drawing of a topology in a notebook: plain HTML with inline SVG, so that it needs no network."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from html import escape

from headrace.topology.nodes import Node, TopologyGraph
from headrace.topology.pictures import topics_of
from headrace.topology.subtopologies import Subtopology, subtopologies

_LINE = 16
_BOX_HEIGHT = 2 * _LINE + 12
_GAP_X, _GAP_Y = 48, 16
_LETTER = 7
_COLOURS = {"SourceNode": "#2f7d5b", "ProcessorNode": "#3b6ea8", "SinkNode": "#a8623b"}
_STYLE = "font:12px ui-monospace,monospace;color:inherit;overflow-x:auto"


@dataclass(frozen=True, slots=True)
class _Box:
    node: Node
    detail: str
    x: int
    y: int
    width: int

    @property
    def middle(self) -> int:
        return self.y + _BOX_HEIGHT // 2


def to_html(graph: TopologyGraph) -> str:
    """One panel per sub-topology; records flow from left to right."""
    if not graph.nodes:
        return f'<div style="{_STYLE}">an empty topology</div>'
    return f'<div style="{_STYLE}">{"".join(_panel(graph, part) for part in subtopologies(graph))}</div>'


def _panel(graph: TopologyGraph, part: Subtopology) -> str:
    boxes = _place(graph, part.nodes)
    width = max(box.x + box.width for box in boxes.values()) + 1
    height = max(box.y for box in boxes.values()) + _BOX_HEIGHT + 1
    title = f"Sub-topology {part.id}" + (" (global store)" if part.is_global else "")
    arrows = "".join(_arrow(boxes[parent], box) for box in boxes.values() for parent in box.node.parents)
    drawn = "".join(_box(box) for box in boxes.values())
    return (
        f'<div style="margin:8px 0 4px">{title}</div>'
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" role="img" '
        f'aria-label="{title}">{arrows}{drawn}</svg>'
    )


def _place(graph: TopologyGraph, names: Iterable[str]) -> dict[str, _Box]:
    """Columns by distance from the sources, rows in the order the nodes were added."""
    columns: dict[int, list[Node]] = {}
    depths: dict[str, int] = {}
    for name in names:
        node = graph.nodes[name]
        depths[name] = max((depths[parent] + 1 for parent in node.parents), default=0)
        columns.setdefault(depths[name], []).append(node)
    boxes: dict[str, _Box] = {}
    x = 1
    for depth in sorted(columns):
        details = {node.name: _detail(graph, node) for node in columns[depth]}
        width = max(len(text) for pair in details.items() for text in pair) * _LETTER + 20
        for row, node in enumerate(columns[depth]):
            boxes[node.name] = _Box(node, details[node.name], x, 1 + row * (_BOX_HEIGHT + _GAP_Y), width)
        x += width + _GAP_X
    return {name: boxes[name] for name in depths}


def _detail(graph: TopologyGraph, node: Node) -> str:
    stores = graph.stores_of.get(node.name, ())
    return ", ".join((*topics_of(node), *(f"\N{BULLET} {store}" for store in stores)))


def _box(box: _Box) -> str:
    colour = _COLOURS[type(box.node).__name__]
    left, below = box.x + 10, box.y + 2 * _LINE + 3
    return (
        f"<g><title>{escape(box.node.built_at or box.node.name)}</title>"
        f'<rect x="{box.x}" y="{box.y}" width="{box.width}" height="{_BOX_HEIGHT}" rx="5" '
        f'fill="{colour}" fill-opacity="0.12" stroke="{colour}"/>'
        f'<text x="{left}" y="{box.y + _LINE + 3}" fill="currentColor">{escape(box.node.name)}</text>'
        f'<text x="{left}" y="{below}" fill="currentColor" opacity="0.65">{escape(box.detail)}</text></g>'
    )


def _arrow(one: _Box, other: _Box) -> str:
    start, end = one.x + one.width, other.x
    bend = (start + end) // 2
    return (
        f'<path d="M{start} {one.middle}C{bend} {one.middle} {bend} {other.middle} {end - 6} {other.middle}" '
        f'fill="none" stroke="currentColor" opacity="0.5"/>'
        f'<path d="M{end - 7} {other.middle - 4}l7 4l-7 4z" fill="currentColor" opacity="0.5"/>'
    )
