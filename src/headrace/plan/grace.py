"""How long after its end a window may still change: asked by ``suppress`` of the graph above it."""

from __future__ import annotations

from headrace.errors import TopologyError
from headrace.plan.graph import GracePeriodNode, GraphNode


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
