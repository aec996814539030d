"""What the methods of KStream are made of: a node below the stream's, and the view of what comes out of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from headrace.dsl.view import View
from headrace.plan.graph import ProcessorGraphNode, RepartitionNode, Step
from headrace.plan.names import name_or_generate
from headrace.plan.repartition import repartition_spec
from headrace.type_variables import K, V

if TYPE_CHECKING:
    from headrace.dsl.kstream import KStream
    from headrace.plan.graph import GraphNode
    from headrace.serde import Serde


@dataclass(eq=False, repr=False)
class StreamView(View[K, V]):
    """A stream, without its methods."""

    repartition_required: bool
    """Whether the key may have changed since the records were partitioned."""
    _repartition: RepartitionNode | None = field(default=None, init=False)

    def repartition_for_join(
        self, base_name: str, key_serde: Serde[Any] | None, value_serde: Serde[Any] | None, *, named: bool
    ) -> KStream[K, V]:
        """The stream behind a repartition topic; its joins share one unless they are named."""
        key_serde, value_serde = key_serde or self.key_serde, value_serde or self.value_serde
        # Drawn even where the node is shared: the names that follow must not depend on it.
        spec = repartition_spec(self.builder, base_name, key_serde, value_serde, provided_by_user=named)
        if self._repartition is None or base_name != self.name:
            self._repartition = RepartitionNode(spec)
            self.builder.add_graph_node(self.node, self._repartition)
        sources = frozenset([spec.source_name])
        return self.builder.views.stream(
            spec.source_name, key_serde, value_serde, sources, self._repartition, self.builder, False
        )

    def _add(self, prefix: str, name: str | None, supplier: Any, **flags: bool) -> ProcessorGraphNode:
        node_name = name_or_generate(name, self.builder, prefix)
        node = ProcessorGraphNode(node_name, Step(node_name, supplier), **flags)
        self.builder.add_graph_node(self.node, node)
        return node

    def _same(self, node: GraphNode) -> KStream[K, V]:
        return self._view(node, self.key_serde, self.value_serde, repartition_required=self.repartition_required)

    def _revalued(self, node: GraphNode) -> KStream[K, Any]:
        return self._view(node, self.key_serde, None, repartition_required=self.repartition_required)

    def _rekeyed(self, node: GraphNode) -> KStream[Any, Any]:
        return self._view(node, None, None, repartition_required=True)

    def _view(
        self,
        node: GraphNode,
        key_serde: Serde[Any] | None,
        value_serde: Serde[Any] | None,
        *,
        repartition_required: bool,
    ) -> KStream[Any, Any]:
        stream = self.builder.views.stream
        return stream(node.name, key_serde, value_serde, self.sources, node, self.builder, repartition_required)
