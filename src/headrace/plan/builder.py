"""The graph builder behind the DSL: hands out names, collects nodes, and writes them into a topology."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping
from itertools import count
from typing import Any

from headrace.config import StreamsConfig, topology_optimizations
from headrace.errors import TopologyError, user_line
from headrace.plan import names, optimize
from headrace.plan.graph import GraphNode, RootNode, StreamSourceNode, TableSuppressNode
from headrace.topology import Topology

_PROCESS_FIX = "__enable.process.processValue.fix__"


class GraphBuilder:
    """Collects the operations of one program (Java: InternalStreamsBuilder)."""

    def __init__(self, topology: Topology) -> None:
        self.topology = topology
        self.root: GraphNode = RootNode("root")
        self.nodes: dict[GraphNode, None] = {}
        """Every node but the root, in the order they were added."""
        self.repartitions = optimize.KeyChangers()
        self._next_number = count()
        self._next_priority = count()

    @property
    def dsl_store(self) -> Any:
        """The kind of store that the topology's own configuration asks for; None where it says nothing."""
        if self.topology.config is None:
            return None
        given = self.topology.config.originals
        return given.get("dsl.store.suppliers.class", given.get("default.dsl.store"))

    @property
    def process_changes_records(self) -> bool:
        """Whether ``process`` counts as changing keys and values, and ``process_values`` as changing values.

        If they do not, a repartition may move above them. Off unless the topology's own configuration has it on, as in
        Kafka Streams, where other names would follow.
        """
        config = self.topology.config
        return config is not None and bool(config[_PROCESS_FIX])

    def new_processor_name(self, prefix: str) -> str:
        return f"{prefix}{next(self._next_number):010d}"

    def new_store_name(self, prefix: str, logged: bool | None = None) -> str:
        """The name of a store: ``prefix``, a mark and the next number.

        With ``logged``, the name (and its changelog, if logged) is noted as one that the user did not give; without,
        a number is drawn and nothing noted.
        """
        name = f"{prefix}{names.STATE_STORE}{next(self._next_number):010d}"
        if logged is not None:
            self.topology.note_implicit_names(store=name, changelog_topic=f"{name}-changelog" if logged else None)
        return name

    def add_graph_node(self, parents: GraphNode | Iterable[GraphNode], child: GraphNode) -> None:
        """Put ``child`` below ``parents``; it will be written after all that was added before it."""
        for parent in (parents,) if isinstance(parents, GraphNode) else tuple(parents):
            parent.add_child(child)
            child.built_at = child.built_at or user_line()
            child.priority = next(self._next_priority)
            self.nodes[child] = None
            self.repartitions.note(child)

    def build(self, config: Mapping[str, Any] | StreamsConfig | None = None) -> Topology:
        """Merge, optimise as ``config`` says, and write all nodes into the topology."""
        merge_duplicate_sources(self.root)
        settings = config.originals if isinstance(config, StreamsConfig) else config or {}
        given = settings.get("topology.optimization")
        wanted: frozenset[str] = frozenset() if given is None else topology_optimizations(given)
        for rule in optimize.RULES:
            if rule.name is None or rule.name in wanted:
                rule.apply(self)
        enable_versioned_semantics(self)
        self._write_nodes()
        self.topology.validate_copartition()
        self.topology.check_implicit_names()
        return self.topology

    def _write_nodes(self) -> None:
        """Write what is not written yet in the order of its creation, each node after all its parents."""
        ties = count()
        queue = [(self.root.priority, next(ties), self.root)]
        passed: set[GraphNode] = set()
        while queue:
            _, _, node = heapq.heappop(queue)
            if node in passed or not all(parent.written for parent in node.parents):
                continue
            passed.add(node)
            self._write(node)
            for child in node.children:
                heapq.heappush(queue, (child.priority, next(ties), child))

    def _write(self, node: GraphNode) -> None:
        if not node.written:
            with self.topology.written_at(node.built_at):
                node.write(self.topology)
            node.written = True


def merge_duplicate_sources(root: GraphNode) -> None:
    """Sources of the same topics (or pattern) become one; the first one's name and serdes stay."""
    by_topic: dict[str, StreamSourceNode] = {}
    by_pattern: dict[tuple[str, int], StreamSourceNode] = {}
    for node in root.children:
        if not isinstance(node, StreamSourceNode):
            continue
        if node.pattern is not None:
            first = by_pattern.setdefault((node.pattern.pattern, node.pattern.flags), node)
            _merge(root, first, node)
            continue
        for topic in node.topics or ():
            first = by_topic.setdefault(topic, node)
            if set(first.topics or ()) != set(node.topics or ()):
                message = f"two sources read {topic!r}, but not all the same topics"
                detail = f"{', '.join(first.topics or ())} and {', '.join(node.topics or ())}"
                raise TopologyError(message, detail=detail, at=node.built_at)
            _merge(root, first, node)


def _merge(root: GraphNode, first: StreamSourceNode, node: StreamSourceNode) -> None:
    if first is not node:
        first.absorb(node)
        root.remove_child(node)


def enable_versioned_semantics(builder: GraphBuilder) -> None:
    """Tell operators below versioned tables about it; refuse ``suppress`` there."""
    for node in builder.nodes:
        enable = getattr(node, "enable_versioned_semantics", None)
        if enable is None:
            continue
        for parent in node.parents:
            if _output_versioned(parent, builder.root):
                enable(parent.name)
    for node in builder.nodes:
        if isinstance(node, TableSuppressNode) and _input_versioned(node, builder.root):
            raise TopologyError(
                "suppress() cannot be used on a versioned table",
                detail="versioning may come from a table further up",
                at=node.built_at,
            )


def _output_versioned(node: GraphNode, root: GraphNode) -> bool:
    return _input_versioned(node, root) if node.output_versioned is None else node.output_versioned


def _input_versioned(node: GraphNode, root: GraphNode) -> bool:
    """Whether all that comes to ``node`` does; nodes that leave it to their parents are looked through."""
    stack, seen = [node], set[GraphNode]()
    while stack:
        candidate = stack.pop()
        if candidate is root or any(parent.output_versioned is False for parent in candidate.parents):
            return False
        if candidate not in seen:
            seen.add(candidate)
            stack += (parent for parent in candidate.parents if parent.output_versioned is None)
    return True
