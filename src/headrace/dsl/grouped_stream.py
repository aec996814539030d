"""KGroupedStream: the records of a stream grouped by key, ready to be aggregated."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload

from headrace import serde
from headrace.dsl import cogrouped, windowed
from headrace.dsl.aggregations import Aggregations
from headrace.dsl.keywords import RetentionKeywords
from headrace.dsl.operator import check_function, operator, operator_with
from headrace.dsl.view import View
from headrace.plan.graph import ProcessorGraphNode, Step
from headrace.plan.materialized import Materialized
from headrace.plan.names import AGGREGATE, REDUCE, name_or_generate
from headrace.plan.stores import KeyValueMaterializer
from headrace.processors.aggregate import Aggregate
from headrace.processors.aggregation import count_aggregator, count_initializer
from headrace.processors.reduce import Reduce
from headrace.type_variables import V2, K, V

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from headrace.dsl.ktable import KTable
    from headrace.serde.contract import GivenSerde, SerdeFor
    from headrace.windows import SessionWindows, SlidingWindows, TimeWindows, UnlimitedWindows, WindowsSpec


@dataclass(eq=False, repr=False)
class KGroupedStream(View[K, V]):
    """A stream grouped by key. Made by ``KStream.group_by_key`` and ``KStream.group_by``.

    Each aggregation keeps its table in a store with a changelog. ``store`` names it or is a supplier from ``stores``;
    ``caching`` and ``logging`` switch its cache and changelog. A result has the latest time of the records folded in.
    """

    grouped_name: str | None
    """What the user called the group; its repartition topic is named after it."""
    repartition_required: bool

    def __post_init__(self) -> None:
        self._aggregations = Aggregations(self, self.grouped_name, repartition_required=self.repartition_required)

    @operator_with(RetentionKeywords)
    def count(
        self,
        store: Any = None,
        *,
        name: str | None = None,
        **keywords: Unpack[RetentionKeywords[SerdeFor[K], SerdeFor[int]]],
    ) -> KTable[K, int]:
        """How many records with a value each key has had. Records without key or value are dropped and counted as such.

        >>> builder = StreamsBuilder()
        >>> builder.stream("in").group_by_key().count().to_stream().to("out")
        >>> run(builder, ("a", "x"), ("a", None), ("a", "y"))
        [('a', 1), ('a', 2)]
        """
        given = Materialized.of(store, **keywords)
        self._aggregations.burn_index_of_count(given)
        materialized = self._aggregations.materialize(given, AGGREGATE, value_serde=serde.long())
        node_name = name_or_generate(name, self.builder, AGGREGATE)
        kept = KeyValueMaterializer(materialized)
        return self._add(node_name, Aggregate(kept, count_initializer, count_aggregator), materialized)

    @operator_with(RetentionKeywords)
    def reduce(
        self,
        reducer: Callable[[V, V], V | None],
        store: Any = None,
        *,
        name: str | None = None,
        **keywords: Unpack[RetentionKeywords[SerdeFor[K], SerdeFor[V]]],
    ) -> KTable[K, V]:
        """Combine the values of each key with ``reducer(aggregate, value)``; the first value is the first aggregate.

        The result has the type of the values. A reducer that returns None deletes the row. Records without key or value
        are dropped and counted.

        >>> builder = StreamsBuilder()
        >>> builder.stream("in").group_by_key().reduce(max).to_stream().to("out")
        >>> run(builder, ("a", 3), ("a", 5), ("a", 4))
        [('a', 3), ('a', 5), ('a', 5)]
        """
        check_function(reducer, 2, operator="reduce", argument="reducer")
        given = Materialized.of(store, **keywords)
        materialized = self._aggregations.materialize(given, REDUCE, value_serde=self.value_serde)
        node_name = name_or_generate(name, self.builder, REDUCE)
        return self._add(node_name, Reduce(KeyValueMaterializer(materialized), reducer), materialized)

    @operator_with(RetentionKeywords)
    def aggregate(
        self,
        initializer: Callable[[], V2],
        aggregator: Callable[[K, V, V2], V2 | None],
        store: Any = None,
        *,
        name: str | None = None,
        **keywords: Unpack[RetentionKeywords[SerdeFor[K], GivenSerde[V2]]],
    ) -> KTable[K, V2]:
        """Fold the values of each key with ``aggregator(key, value, aggregate)``, beginning with ``initializer()``.

        Return a new aggregate rather than change the old one in place; None deletes the row. ``value_serde`` writes the
        aggregate, not the values. Records without key or value are dropped and counted.

        >>> builder = StreamsBuilder()
        >>> sets = builder.stream("in").group_by_key().aggregate(list, lambda key, page, seen: [*seen, page])
        >>> sets.to_stream().to("out")
        >>> run(builder, ("a", "home"), ("a", "help"))
        [('a', ['home']), ('a', ['home', 'help'])]
        """
        check_function(initializer, 0, operator="aggregate", argument="initializer")
        check_function(aggregator, 3, operator="aggregate", argument="aggregator")
        given = Materialized.of(store, **keywords)
        materialized = self._aggregations.materialize(given, AGGREGATE)
        node_name = name_or_generate(name, self.builder, AGGREGATE)
        kept = KeyValueMaterializer(materialized)
        return self._add(node_name, Aggregate(kept, initializer, aggregator), materialized)

    @overload
    def windowed_by(self, windows: TimeWindows | UnlimitedWindows) -> windowed.TimeWindowedKStream[K, V]: ...
    @overload
    def windowed_by(self, windows: SlidingWindows) -> windowed.SlidingWindowedKStream[K, V]: ...
    @overload
    def windowed_by(self, windows: SessionWindows) -> windowed.SessionWindowedKStream[K, V]: ...
    @operator
    def windowed_by(self, windows: WindowsSpec) -> windowed.WindowedKStream[K, V]:
        """Aggregate in windows: time, unlimited, sliding or session windows. Anything else is an OperatorTypeError.

        >>> builder = StreamsBuilder()
        >>> counts = builder.stream("in").group_by_key().windowed_by(TimeWindows(10)).count()
        >>> counts.to_stream(lambda window, count: f"{window.key}@{window.start}").to("out")
        >>> run(builder, ("a", "x", 1), ("a", "y", 12))
        [('a@0', 1), ('a@10', 1)]
        """
        return windowed.windowed_view(windows, self._aggregations)

    @operator
    def cogroup(self, aggregator: Callable[[K, V, V2], V2 | None]) -> cogrouped.CogroupedKStream[K, V2]:
        """Begin an aggregation over several grouped streams; this one is folded in by ``aggregator``.

        ``aggregator(key, value, aggregate)`` as in ``aggregate``; more streams join with ``CogroupedKStream.cogroup``.

        >>> builder = StreamsBuilder()
        >>> paid, owed = (builder.stream(topic).group_by_key() for topic in ("paid", "owed"))
        >>> both = paid.cogroup(lambda key, n, sum: sum + n).cogroup(owed, lambda key, n, sum: sum - n)
        >>> both.aggregate(int).to_stream().to("out")
        >>> run(builder, ("paid", "a", 5), ("owed", "a", 7))
        [('a', 5), ('a', -2)]
        """
        return cogrouped.CogroupedKStream(self.name, self.sources, self.node, self.builder).cogroup(self, aggregator)

    def _add(self, name: str, supplier: Aggregate | Reduce, materialized: Materialized) -> KTable[K, Any]:
        node = ProcessorGraphNode(name, Step(name, supplier))
        node.output_versioned = materialized.is_versioned
        return self._aggregations.add(node, materialized, materialized.key_serde)
