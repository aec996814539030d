"""The grace period above a node."""

from __future__ import annotations

import pytest

from headrace.errors import TopologyError
from headrace.plan.graph import GracePeriodNode, GraphNode, ProcessorGraphNode, RootNode, Step, grace_above


def node(name: str, *parents: GraphNode) -> GraphNode:
    made = ProcessorGraphNode(name, Step(name, None))
    for parent in parents:
        parent.add_child(made)
    return made


def windowed(name: str, grace_ms: int, root: GraphNode) -> GraphNode:
    made = GracePeriodNode(name, Step(name, None), grace_ms)
    root.add_child(made)
    return made


def test_the_longest_grace_of_all_windowed_aggregations_above_counts() -> None:
    root = RootNode("root")
    merged = node("merged", node("mapped", windowed("short", 3, root)), windowed("long", 8, root))
    assert grace_above(merged) == 8


def test_a_way_up_without_windows_is_an_error_that_shows_it() -> None:
    root = RootNode("root")
    merged = node("merged", node("plain", root), windowed("long", 8, root))
    with pytest.raises(TopologyError, match="root -> plain -> merged"):
        grace_above(merged)
