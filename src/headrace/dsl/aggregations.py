"""Adds aggregations below a grouped stream, with the repartition they need (Java: GroupedStreamAggregateBuilder)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.plan.graph import RepartitionNode
from headrace.plan.materialized import Materialized
from headrace.plan.names import AGGREGATE
from headrace.plan.repartition import repartition_spec

if TYPE_CHECKING:
    from headrace.dsl.ktable import KTable
    from headrace.dsl.view import View
    from headrace.plan.graph import GraphNode, ProcessorGraphNode, RepartitionSpec
    from headrace.serde import Serde


class Aggregations:
    """The aggregations of one grouped stream, windowed or not. A repartition that the user named is shared by all."""

    def __init__(self, view: View, grouped_name: str | None, *, repartition_required: bool) -> None:
        self.view = view
        self._grouped_name = grouped_name
        self._repartition_required = repartition_required
        self._repartition: RepartitionNode | None = None

    def materialize(
        self, given: Materialized | None, prefix: str, *, value_serde: Serde[Any] | None = None
    ) -> Materialized:
        """Where the table is kept: what the user said, with a name and with the stream's serdes filled in."""
        result = (Materialized() if given is None else given).named(self.view.builder, prefix)
        result.key_serde = self.view.key_serde if result.key_serde is None else result.key_serde
        result.value_serde = value_serde if result.value_serde is None else result.value_serde
        return result

    def burn_index_of_count(self, given: Materialized | None) -> None:
        """Use up the number that ``count`` with a nameless store has always used up, so that names stay Kafka's."""
        if given is not None and given.store_name is None:
            self.view.builder.new_store_name(AGGREGATE)

    def add(self, node: ProcessorGraphNode, materialized: Materialized, key_serde: Serde[Any] | None) -> KTable:
        """Put ``node`` below the stream, behind a repartition where one is due; the table that comes out."""
        parent, sources = self._parent(materialized)
        supplier, value_serde, name = node.step.supplier, materialized.value_serde, materialized.queryable_name
        return self.view.builder.add_table(parent, node, supplier, key_serde, value_serde, sources, name)

    def _parent(self, materialized: Materialized) -> tuple[GraphNode, frozenset[str]]:
        view = self.view
        if not self._repartition_required:
            return view.node, view.sources
        node, spec = self._repartition, repartition_for(view, self._grouped_name, materialized)
        if node is None or self._grouped_name is None:
            node = self._repartition = RepartitionNode(spec)
        view.builder.add_graph_node(view.node, node)
        return node, frozenset([spec.source_name])


def repartition_for(view: View, grouped_name: str | None, materialized: Materialized) -> RepartitionSpec:
    """The repartition of a grouped stream, called as the user called the group, or else as the store."""
    return repartition_spec(
        view.builder,
        str(materialized.store_name) if grouped_name is None else grouped_name,
        view.key_serde,
        view.value_serde,
        provided_by_user=grouped_name is not None or materialized.queryable,
    )
