"""Joins by a foreign key: the nodes, topics and store between the two tables.

The left table sends subscriptions over one internal topic to the right one, whose responses come back over another.
So the two tables need not be partitioned alike.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headrace.errors import ArgumentError
from headrace.plan import names
from headrace.plan.graph import (
    Consumed,
    GraphNode,
    ProcessorGraphNode,
    StateConnectorNode,
    Step,
    StreamSinkNode,
    StreamSourceNode,
    VersionedSemanticsNode,
)
from headrace.plan.join_stores import SubscriptionStore
from headrace.plan.materialized import Materialized
from headrace.plan.names import suffixed_or_generate
from headrace.plan.stores import KeyValueMaterializer
from headrace.processors.foreign_key_receive import ForeignKeyReceive
from headrace.processors.foreign_key_resolver import ForeignKeyResolve
from headrace.processors.foreign_key_send import ForeignKeySend
from headrace.processors.foreign_key_subscription_join import ForeignKeySubscriptionJoin
from headrace.processors.foreign_key_table_join import ForeignKeyTableJoin
from headrace.processors.table_source import TableSource
from headrace.serde.foreign_key import CombinedKeySchema, Response, ResponseSerde, SubscriptionSerde

if TYPE_CHECKING:
    from headrace.dsl.ktable import KTable
    from headrace.dsl.view import ViewGraph
    from headrace.serde import Serde


def join(
    left: KTable,
    right: KTable,
    foreign_key: Callable[..., Any],
    joiner: Callable[[Any, Any], Any],
    partitioners: tuple[Any, Any],
    name: str | None,
    materialized: Materialized | None,
    *,
    with_key: bool,
    left_join: bool,
) -> KTable:
    """Join ``left`` with the rows of ``right`` that ``foreign_key`` names. ``partitioners`` are left's and right's."""
    right.enable_sending_old_values(True)
    left.enable_sending_old_values(True)
    link = _Link(left, right, name)
    registered = link.register(foreign_key, partitioners[1], with_key=with_key, left_join=left_join)
    joined, changed = link.answer(registered)
    responded = link.respond(joined, changed, partitioners[0])
    return link.resolve(responded, joiner, materialized or Materialized(), left_join=left_join)


class _Link:
    """The way from the left table to the right one and back. The methods are called in the order of the way."""

    def __init__(self, left: KTable, right: KTable, name: str | None) -> None:
        self.left, self.right = left, right
        self._name = name
        self._builder: ViewGraph = left.builder
        self._topic = self._named("-subscription-registration", names.FK_REGISTRATION) + "-topic"
        self._builder.topology.add_internal_topic(self._topic, None)
        self._subscription_serde = SubscriptionSerde(self._topic, left.key_serde)

    def _named(self, suffix: str, prefix: str) -> str:
        return suffixed_or_generate(self._name, suffix, self._builder, prefix)

    def _processor(self, parent: GraphNode, node: ProcessorGraphNode) -> ProcessorGraphNode:
        self._builder.add_graph_node(parent, node)
        return node

    def register(
        self, foreign_key: Callable[..., Any], partitioner: Any, *, with_key: bool, left_join: bool
    ) -> StreamSourceNode:
        """From the left table over the subscription topic; the source on its other end."""
        left, right = self.left, self.right
        send = ForeignKeySend(foreign_key, with_key, self._topic, right.key_serde, left.value_serde, left_join)
        name = self._named("-subscription-registration-processor", names.FK_REGISTRATION)
        sender = self._processor(left.node, VersionedSemanticsNode(name, Step(name, send)))
        sink = StreamSinkNode(
            self._named("-subscription-registration-sink", names.TABLE_SINK),
            self._topic,
            right.key_serde,
            self._subscription_serde,
            None if partitioner is None else SinglePartition(partitioner),
        )
        self._builder.add_graph_node(sender, sink)
        source = self._source(
            "-subscription-registration-source", self._topic, right.key_serde, self._subscription_serde
        )
        self._builder.add_graph_node(sink, source)
        self._builder.topology.copartition_sources({*right.sources, source.name})
        return source

    def _source(
        self, suffix: str, topic: str, key_serde: Serde[Any] | None, value_serde: Serde[Any]
    ) -> StreamSourceNode:
        return StreamSourceNode(
            self._named(suffix, names.TABLE_SOURCE), (topic,), None, Consumed(key_serde, value_serde)
        )

    def answer(self, source: StreamSourceNode) -> tuple[GraphNode, GraphNode]:
        """The right side: the node that answers subscriptions, and the one that tells subscribers of changes."""
        left, right = self.left, self.right
        store = SubscriptionStore(
            self._named("-subscription-store", names.FK_STATE_STORE), self._subscription_serde, self._builder.dsl_store
        )
        schema = CombinedKeySchema(self._topic, right.key_serde, left.key_serde)
        name = self._named("-subscription-receive", names.FK_PROCESSOR)
        received = self._processor(source, ProcessorGraphNode(name, Step(name, ForeignKeyReceive(store, schema))))
        rows = right.value_getter_supplier()
        name = self._named("-subscription-join-foreign", names.FK_PROCESSOR)
        joined = self._processor(
            received, StateConnectorNode(name, Step(name, ForeignKeySubscriptionJoin(rows)), rows.store_names)
        )
        name = self._named("-foreign-join-subscription", names.FK_PROCESSOR)
        changed = self._processor(
            right.node, VersionedSemanticsNode(name, Step(name, ForeignKeyTableJoin(store, schema)))
        )
        return joined, changed

    def respond(self, joined: GraphNode, changed: GraphNode, partitioner: Any) -> StreamSourceNode:
        """From the right side over the response topic; the source on its other end."""
        topic = self._named("-subscription-response", names.FK_RESPONSE) + "-topic"
        self._builder.topology.add_internal_topic(topic, None)
        serde = ResponseSerde(self.right.value_serde)
        sink = StreamSinkNode(
            self._named("-subscription-response-sink", names.TABLE_SINK),
            topic,
            self.left.key_serde,
            serde,
            to_primary_partition if partitioner is None else SinglePartition(partitioner),
        )
        self._builder.add_graph_node(joined, sink)
        self._builder.add_graph_node(changed, sink)
        source = self._source("-subscription-response-source", topic, self.left.key_serde, serde)
        self._builder.add_graph_node(sink, source)
        return source

    def resolve(
        self,
        source: StreamSourceNode,
        joiner: Callable[[Any, Any], Any],
        materialized: Materialized,
        *,
        left_join: bool,
    ) -> KTable:
        """The left side again: responses meet the rows that asked, and the results are a table."""
        left = self.left
        sources = {*left.sources, source.name}
        self._builder.topology.copartition_sources(sources)
        rows = left.value_getter_supplier()
        resolve = ForeignKeyResolve(rows, left.value_serde, self._topic, joiner, left_join)
        name = self._named("-subscription-response-resolver", names.FK_RESOLVER)
        resolver = self._processor(source, StateConnectorNode(name, Step(name, resolve), rows.store_names))
        name = self._named("-result", names.FK_OUTPUT)
        materialized.named(self._builder, names.FK_OUTPUT)
        materialized.key_serde = materialized.key_serde or left.key_serde
        result = TableSource(KeyValueMaterializer(materialized), materialized.queryable_name)
        node = ProcessorGraphNode(name, Step(name, result))
        node.output_versioned = materialized.is_versioned
        value_serde, store_name = materialized.value_serde, materialized.store_name
        return self._builder.add_table(resolver, node, result, left.key_serde, value_serde, sources, store_name)


@dataclass(frozen=True, slots=True)
class SinglePartition:
    """A table's own partitioner, asked for the one partition of a key."""

    partitioner: Callable[..., Any]

    def __call__(self, topic: str, key: Any, value: Any, partitions: int) -> Any:
        """The partition; a join message cannot go to several partitions, nor to none."""
        chosen = self.partitioner(topic, key, None, partitions)
        if chosen is None or isinstance(chosen, int):
            return chosen
        chosen = tuple(chosen)
        if len(chosen) != 1:
            raise ArgumentError(
                "the partitioner of a foreign-key join must choose exactly one partition",
                detail=f"key {key!r} gave {list(chosen)!r}",
            )
        return chosen[0]


def to_primary_partition(topic: str, key: Any, response: Response, partitions: int) -> int | None:
    """Responses go back to the partition that asked."""
    return response.primary_partition
