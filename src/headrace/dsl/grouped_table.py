"""KGroupedTable: a table grouped anew, waiting for its aggregation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from headrace import serde
from headrace.dsl.keywords import AggregationKeywords
from headrace.dsl.operator import check_function, operator_with
from headrace.dsl.view import View
from headrace.plan import names
from headrace.plan.graph import GroupedTableRepartitionNode, ProcessorGraphNode, Step
from headrace.plan.materialized import Materialized
from headrace.plan.names import name_or_generate, suffixed_or_generate
from headrace.plan.stores import KeyValueMaterializer
from headrace.processors.aggregation import ReducingAggregator, count_aggregator, count_initializer, no_initial_value
from headrace.processors.table_aggregate import TableAggregate
from headrace.serde.change import ChangeSerde
from headrace.type_variables import V2, K, V

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from headrace.dsl.ktable import KTable
    from headrace.serde.contract import GivenSerde, SerdeFor


@dataclass(eq=False, repr=False)
class KGroupedTable(View[K, V]):
    """The rows of a table under their group keys. Made by ``KTable.group_by``.

    Rows change and leave, so an aggregation needs a way back: what a row adds when it comes is subtracted when it goes.
    A row that moves to another group gives a result for each of the two.
    """

    grouped_name: str | None
    _repartition: GroupedTableRepartitionNode | None = field(default=None, init=False)

    @operator_with(AggregationKeywords)
    def count(
        self,
        store: Any = None,
        *,
        name: str | None = None,
        **keywords: Unpack[AggregationKeywords[SerdeFor[K], SerdeFor[int]]],
    ) -> KTable[K, int]:
        """How many rows each group has. A group that becomes empty has the count 0.

        >>> builder = StreamsBuilder()
        >>> builder.table("in").group_by(lambda user, city: (city, user)).count().to_stream().to("out")
        >>> run(builder, ("al", "Zug"), ("al", None))
        [('Zug', 1), ('Zug', 0)]
        """
        materialized = self._materialized(store, keywords)
        materialized.value_serde = materialized.value_serde or serde.long()
        supplier = TableAggregate(KeyValueMaterializer(materialized), count_initializer, count_aggregator, _one_less)
        return self._aggregate(supplier, name, names.TABLE_AGGREGATE, materialized)

    @operator_with(AggregationKeywords)
    def reduce(
        self,
        adder: Callable[[V, V], V | None],
        subtractor: Callable[[V, V], V | None],
        store: Any = None,
        *,
        name: str | None = None,
        **keywords: Unpack[AggregationKeywords[SerdeFor[K], SerdeFor[V]]],
    ) -> KTable[K, V]:
        """The values of each group reduced to one: ``adder(reduced, value)`` and ``subtractor(reduced, value)``.

        A group's first value is its start. A result of None deletes the group's row.

        >>> builder = StreamsBuilder()
        >>> grouped = builder.table("in").group_by(lambda user, sale: (sale["city"], sale["sum"]))
        >>> grouped.reduce(lambda total, n: total + n, lambda total, n: total - n).to_stream().to("out")
        >>> run(builder, ("al", {"city": "Zug", "sum": 5}), ("bo", {"city": "Zug", "sum": 2}), ("al", None))
        [('Zug', 5), ('Zug', 7), ('Zug', 2)]
        """
        check_function(adder, 2, operator="reduce", argument="adder")
        check_function(subtractor, 2, operator="reduce", argument="subtractor")
        materialized = self._materialized(store, keywords)
        materialized.value_serde = materialized.value_serde or self.value_serde
        supplier = TableAggregate(
            KeyValueMaterializer(materialized),
            no_initial_value,
            ReducingAggregator(adder),
            ReducingAggregator(subtractor),
        )
        return self._aggregate(supplier, name, names.TABLE_REDUCE, materialized)

    @operator_with(AggregationKeywords)
    def aggregate(
        self,
        initializer: Callable[[], V2],
        adder: Callable[[K, V, V2], V2 | None],
        subtractor: Callable[[K, V, V2], V2 | None],
        store: Any = None,
        *,
        name: str | None = None,
        **keywords: Unpack[AggregationKeywords[SerdeFor[K], GivenSerde[V2]]],
    ) -> KTable[K, V2]:
        """An aggregate of each group: ``adder(key, value, aggregate)`` and ``subtractor(key, value, aggregate)``.

        ``initializer()`` gives the start; an aggregate of None deletes the group's row. The subtractor must undo what
        the adder did, or the aggregate drifts away from the rows.

        >>> builder = StreamsBuilder()
        >>> grouped = builder.table("in").group_by(lambda user, city: (city, user))
        >>> add, take = lambda key, user, all: [*all, user], lambda key, user, all: [u for u in all if u != user]
        >>> grouped.aggregate(list, add, take).to_stream().to("out")
        >>> run(builder, ("al", "Zug"), ("bo", "Zug"), ("al", None))
        [('Zug', ['al']), ('Zug', ['al', 'bo']), ('Zug', ['bo'])]
        """
        check_function(initializer, 0, operator="aggregate", argument="initializer")
        check_function(adder, 3, operator="aggregate", argument="adder")
        check_function(subtractor, 3, operator="aggregate", argument="subtractor")
        materialized = self._materialized(store, keywords)
        supplier = TableAggregate(KeyValueMaterializer(materialized), initializer, adder, subtractor)
        return self._aggregate(supplier, name, names.TABLE_AGGREGATE, materialized)

    def _materialized(self, store: Any, keywords: AggregationKeywords[Any, Any]) -> Materialized:
        given = Materialized.of(store, **keywords) or Materialized()
        materialized = given.named(self.builder, names.TABLE_AGGREGATE)
        materialized.key_serde = materialized.key_serde or self.key_serde
        return materialized

    def _aggregate(
        self, supplier: TableAggregate, name: str | None, prefix: str, materialized: Materialized
    ) -> KTable[K, Any]:
        sink_name = suffixed_or_generate(name, "-sink", self.builder, names.SINK)
        source_name = suffixed_or_generate(name, "-source", self.builder, names.SOURCE)
        aggregate_name = name_or_generate(name, self.builder, prefix)
        repartition = self._repartition_node(sink_name, source_name, self.grouped_name or supplier.store.name)
        self.builder.add_graph_node(self.node, repartition)
        node = ProcessorGraphNode(aggregate_name, Step(aggregate_name, supplier))
        node.output_versioned = materialized.is_versioned
        return self.builder.add_table(
            repartition,
            node,
            supplier,
            materialized.key_serde,
            materialized.value_serde,
            (source_name,),
            materialized.queryable_name,
        )

    def _repartition_node(self, sink_name: str, source_name: str, base_name: str) -> GroupedTableRepartitionNode:
        # Under a name given by the user all aggregations of this grouping share one repartition topic.
        if self._repartition is None or self.grouped_name is None:
            self._repartition = GroupedTableRepartitionNode(
                source_name, sink_name, f"{base_name}-repartition", self.key_serde, ChangeSerde(self.value_serde)
            )
        return self._repartition


def _one_less(_key: Any, _value: Any, count: int) -> int:
    return count - 1
