"""What every view of a stream or table carries: its name, serdes, sources, graph node and builder."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic

from headrace.guesses import Face
from headrace.plan.builder import GraphBuilder
from headrace.type_variables import K, V

if TYPE_CHECKING:
    from headrace.dsl.grouped_stream import KGroupedStream
    from headrace.dsl.kstream import KStream
    from headrace.dsl.ktable import KTable
    from headrace.plan.graph import GraphNode
    from headrace.serde import Serde
    from headrace.topology import Topology


@dataclass(frozen=True, slots=True)
class Views:
    """The classes of views that make each other: whoever comes before in the order of imports finds them here."""

    stream: type[KStream]
    table: type[KTable]
    grouped_stream: type[KGroupedStream]


class ViewGraph(GraphBuilder):
    """The graph that views add their nodes to."""

    def __init__(self, topology: Topology, views: Views) -> None:
        super().__init__(topology)
        self.views = views

    def add_stream(
        self,
        parents: GraphNode | Iterable[GraphNode],
        node: GraphNode,
        key_serde: Serde[Any] | None,
        value_serde: Serde[Any] | None,
        sources: Iterable[str],
        *,
        repartition_required: bool = False,
    ) -> KStream[Any, Any]:
        """Put ``node`` below ``parents``; the stream that comes out of it."""
        self.add_graph_node(parents, node)
        return self.views.stream(
            node.name, key_serde, value_serde, frozenset(sources), node, self, repartition_required
        )

    def add_table(
        self,
        parents: GraphNode | Iterable[GraphNode],
        node: GraphNode,
        supplier: Any,
        key_serde: Serde[Any] | None,
        value_serde: Serde[Any] | None,
        sources: Iterable[str],
        queryable_store_name: str | None,
    ) -> KTable[Any, Any]:
        """Put ``node`` below ``parents``; the table that comes out of it."""
        self.add_graph_node(parents, node)
        return self.views.table(
            node.name, key_serde, value_serde, frozenset(sources), node, self, queryable_store_name, supplier
        )


@dataclass(eq=False, repr=False)
class View(Face, Generic[K, V]):
    """A handle on one node of the graph (Java: AbstractStream)."""

    _internal = frozenset(
        {
            "builder",
            "copartition_with",
            "enable_sending_old_values",
            "grouped_name",
            "node",
            "repartition_for_join",
            "sources",
            "supplier",
            "value_getter_supplier",
        }
    )

    name: str
    key_serde: Serde[Any] | None
    value_serde: Serde[Any] | None
    sources: frozenset[str]
    """Names of the source nodes this view is fed from, within its sub-topology."""
    node: GraphNode
    builder: ViewGraph

    def __repr__(self) -> str:
        shown = {"store": getattr(self, "queryable_store_name", None), **self._shown()}
        parts = [f"{name} {value!r}" for name, value in shown.items() if value is not None]
        parts += [f"keys {_serde_text(self.key_serde)}", f"values {_serde_text(self.value_serde)}"]
        return f"<{type(self).__name__} {self.name}: {', '.join(parts)}>"

    def _shown(self) -> dict[str, Any]:
        """What else tells views of this kind apart."""
        return {}

    def copartition_with(self, *others: View) -> frozenset[str]:
        """Demand that all these are co-partitioned; the sources of all."""
        sources = self.sources.union(*(other.sources for other in others))
        self.builder.topology.copartition_sources(sources)
        return sources


def _serde_text(serde: Serde[Any] | None) -> str:
    return "by the default serde" if serde is None else f"by {serde!r}"
