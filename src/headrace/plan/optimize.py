"""Rules that rewrite the graph before it is written: fewer changelogs, repartitions and join stores."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from headrace.errors import InternalError, StreamsError
from headrace.plan.graph import (
    GraphNode,
    RepartitionNode,
    StreamStreamJoinNode,
    TableSourceNode,
    WindowedStreamNode,
)
from headrace.plan.repartition import drop_null_keys, repartition_spec

if TYPE_CHECKING:
    from headrace.plan.builder import GraphBuilder


class Rule(NamedTuple):
    """One rewriting: applied where ``topology.optimization`` names it, or always."""

    name: str | None
    apply: Callable[[GraphBuilder], None]


class KeyChangers:
    """Which repartitions each key-changing node causes; kept while nodes are added."""

    def __init__(self) -> None:
        self.repartitions: dict[GraphNode, dict[RepartitionNode, None]] = {}
        self.merges: dict[GraphNode, None] = {}

    def note(self, node: GraphNode) -> None:
        """Take in a node that was just added below its parents."""
        if node.key_changing:
            self.repartitions[node] = {}
        elif isinstance(node, RepartitionNode) and node.optimizable:
            changer = _key_changer_above(node)
            if changer is not None:
                self.repartitions[changer][node] = None
        elif node.merge:
            self.merges[node] = None

    def move_below_merges(self) -> None:
        """Where all repartitions of a key changer lie below a merge, the merge takes its part."""
        moved: dict[GraphNode, None] = {}
        groups = {merge: self._changers_above(merge) for merge in self.merges}
        for merge, changers in groups.items():
            below: dict[RepartitionNode, None] = {}
            for changer in changers:
                below.update(self.repartitions[changer])
                moved[changer] = None
            self.repartitions[merge] = below
        for changer in moved:
            self.repartitions.pop(changer, None)

    def _changers_above(self, merge: GraphNode) -> list[GraphNode]:
        return [
            changer
            for changer, repartitions in self.repartitions.items()
            if all(_child_on_path(merge, repartition) is not None for repartition in repartitions)
            and _child_on_path(changer, merge) is not None
        ]


def reuse_source_topics(builder: GraphBuilder) -> None:
    """Source tables need no changelog of their own: their topic is one."""
    for node in builder.nodes:
        if isinstance(node, TableSourceNode):
            node.reuse_source_topic = True


def merge_repartitions(builder: GraphBuilder) -> None:
    """All repartitions below one key changer become one, right below it."""
    builder.repartitions.move_below_merges()
    for changer, repartitions in list(builder.repartitions.repartitions.items()):
        if repartitions:
            _merge_below(builder, changer, list(repartitions))
            del builder.repartitions.repartitions[changer]


def _merge_below(builder: GraphBuilder, changer: GraphNode, repartitions: list[RepartitionNode]) -> None:
    merged = _merged_repartition(builder, repartitions)
    merged.priority = changer.priority
    merged.built_at = repartitions[0].built_at
    for repartition in repartitions:
        child = _child_on_path(changer, repartition)
        if child is None:
            # The only path was moved together with an earlier repartition. Kafka Streams gives up here, too.
            message = f"the repartition topics below {changer.name} cannot be merged: {repartition.name} is in the way"
            raise StreamsError(message, hint="Leave merge.repartition.topics out of topology.optimization.")
        merged.add_child(child)
        changer.remove_child(child)
        _cut_out(repartition)
        builder.topology.replace_copartition_source(repartition.name, merged.name)
    changer.add_child(merged)


def _merged_repartition(builder: GraphBuilder, repartitions: list[RepartitionNode]) -> RepartitionNode:
    specs = [repartition.spec for repartition in repartitions]
    key_serde = _first(spec.key_serde for spec in specs)
    value_serde = _first(spec.value_serde for spec in specs)
    return RepartitionNode(repartition_spec(builder, specs[0].topic, key_serde, value_serde, provided_by_user=True))


def _cut_out(node: GraphNode) -> None:
    """Link parents and children of ``node`` directly and unlink it."""
    parents = node.parents
    for child in node.children:
        for parent in parents:
            parent.add_child(child)
    for parent in parents:
        parent.remove_child(node)
    node.clear_children()


def join_with_itself_once(builder: GraphBuilder) -> None:
    """A stream joined with itself keeps one window store instead of two."""
    for node in _below(builder.root):
        if isinstance(node, StreamStreamJoinNode) and len(node.parents) == 1:
            _use_one_store(node, node.parents[0])


def _use_one_store(join: StreamStreamJoinNode, parent: GraphNode) -> None:
    windowed = {child.name: child for child in parent.children if isinstance(child, WindowedStreamNode)}
    left, right = windowed.get(join.this_windowed), windowed.get(join.other_windowed)
    if left is None or right is None or not left.priority < right.priority < join.priority:
        message = f"the two sides of the join {join.name} are not in their places"
        raise InternalError(message)
    parent.remove_child(right)
    join.is_self_join = True


def filter_null_keys(builder: GraphBuilder) -> None:
    """Repartitions drop records without a key, unless a join further down wants these (KIP-962)."""
    wanted: dict[GraphNode, bool] = {}
    for node in reversed(_below(builder.root)):
        wanted[node] = any(child.relaxed_null_key_join or wanted[child] for child in node.children)
        if isinstance(node, RepartitionNode) and not wanted[node]:
            drop_null_keys(node.spec)


RULES = (
    Rule("reuse.ktable.source.topics", reuse_source_topics),
    Rule("merge.repartition.topics", merge_repartitions),
    Rule("single.store.self.join", join_with_itself_once),
    Rule(None, filter_null_keys),
)
"""All rules, in the order in which they apply."""


def _below(root: GraphNode) -> list[GraphNode]:
    """``root`` and all below it, parents before children."""
    finished: dict[GraphNode, None] = {}
    stack: list[tuple[GraphNode, list[GraphNode]]] = [(root, root.children)]
    seen = {root}
    while stack:
        node, children = stack[-1]
        if not children:
            finished[node] = None
            stack.pop()
            continue
        child = children.pop()
        if child not in seen:
            seen.add(child)
            stack.append((child, child.children))
    return list(finished)[::-1]


def _key_changer_above(repartition: RepartitionNode) -> GraphNode | None:
    """The nearest node above that changes keys, unless one that changes values comes first."""
    nearest = _find_upwards(repartition, lambda node: node.key_changing or node.value_changing)
    changer = _find_upwards(repartition, lambda node: node.key_changing)
    return changer if nearest is changer else None


def _child_on_path(parent: GraphNode, node: GraphNode) -> GraphNode | None:
    """``node`` or the nearest node above it that is a child of ``parent``."""
    return _find_upwards(node, lambda candidate: parent in candidate.parents)


def _find_upwards(node: GraphNode, matches: Callable[[GraphNode], bool]) -> GraphNode | None:
    """The first match: the node itself, then parent by parent, each with all above it."""
    stack, seen = [node], set[GraphNode]()
    while stack:
        candidate = stack.pop()
        if candidate in seen:  # By another path: there may be many more paths than nodes.
            continue
        if matches(candidate):
            return candidate
        seen.add(candidate)
        stack += reversed(candidate.parents)
    return None


def _first(serdes: Iterable[Any]) -> Any:
    return next((serde for serde in serdes if serde is not None), None)
