"""Cogrouped streams: several grouped streams folded into one table, each by its own aggregator (KIP-150)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, overload

from headrace.dsl.aggregations import repartition_for
from headrace.dsl.keywords import RetentionKeywords
from headrace.dsl.operator import check_function, operator, operator_with
from headrace.dsl.view import View, ViewGraph
from headrace.dsl.windowing import Fold, SessionWindowing, SlidingWindowing, TimeWindowing, windowing_of
from headrace.errors import OperatorTypeError, user_line
from headrace.plan.graph import GracePeriodNode, ProcessorGraphNode, RepartitionNode, Step
from headrace.plan.materialized import Materialized
from headrace.plan.names import COGROUP_AGGREGATE, COGROUP_MERGE, suffixed_or_generate
from headrace.plan.stores import KeyValueMaterializer
from headrace.processors.aggregate import Aggregate
from headrace.processors.cogroup_merge import CogroupMerge
from headrace.type_variables import K, OtherV, V
from headrace.windows import EmitStrategy

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from headrace.dsl.grouped_stream import KGroupedStream
    from headrace.dsl.ktable import KTable
    from headrace.plan.graph import GraphNode
    from headrace.processors.aggregation import Aggregation, Aggregator
    from headrace.serde.contract import Serde, SerdeFor
    from headrace.windows import SessionWindows, SlidingWindows, TimeWindows, UnlimitedWindows, Windowed, WindowsSpec

_EMIT = EmitStrategy.ON_WINDOW_UPDATE


class Cogroup:
    """The grouped streams of a cogroup and their aggregators (Java: CogroupedStreamAggregateBuilder).

    All aggregations of one cogroup, windowed or not, share the repartitions made for the first.
    """

    def __init__(self, builder: ViewGraph) -> None:
        self.builder = builder
        self.aggregators: dict[KGroupedStream[Any, Any], Aggregator] = {}
        self._parents: dict[KGroupedStream[Any, Any], GraphNode] = {}

    def materialize(self, given: Materialized | None) -> Materialized:
        """Where the table is kept. The grouped streams may differ in their serdes, so none are taken over."""
        return (Materialized() if given is None else given).named(self.builder, COGROUP_AGGREGATE)

    def add(
        self,
        name: str | None,
        materialized: Materialized,
        key_serde: Serde[Any] | None,
        aggregation_of: Callable[[Aggregator], Aggregation],
        node_of: Callable[[Step], ProcessorGraphNode],
    ) -> KTable[Any, Any]:
        """An aggregation below each grouped stream, and the node where their changes meet."""
        self._repartition(materialized)
        nodes: list[GraphNode] = []
        aggregations = []
        for counter, (stream, aggregator) in enumerate(self.aggregators.items()):
            aggregations.append(aggregation_of(aggregator))
            node_name = suffixed_or_generate(name, f"-cogroup-agg-{counter}", self.builder, COGROUP_AGGREGATE)
            nodes.append(node_of(Step(node_name, aggregations[-1])))
            self.builder.add_graph_node(self._parents[stream], nodes[-1])
        return self._merged(name, materialized, key_serde, nodes, CogroupMerge(tuple(aggregations)))

    def _repartition(self, materialized: Materialized) -> None:
        for stream in self.aggregators:
            if not stream.repartition_required:
                self._parents[stream] = stream.node
                continue
            spec = repartition_for(stream, stream.grouped_name, materialized)
            if stream not in self._parents:
                self._parents[stream] = node = RepartitionNode(spec)
                self.builder.add_graph_node(stream.node, node)
        first, *others = self._parents
        first.copartition_with(*others)

    def _merged(
        self,
        name: str | None,
        materialized: Materialized,
        key_serde: Serde[Any] | None,
        nodes: list[GraphNode],
        supplier: CogroupMerge,
    ) -> KTable[Any, Any]:
        merge_name = suffixed_or_generate(name, "-cogroup-merge", self.builder, COGROUP_MERGE)
        node = ProcessorGraphNode(merge_name, Step(merge_name, supplier))
        value_serde, queryable = materialized.value_serde, materialized.queryable_name
        return self.builder.add_table(nodes, node, supplier, key_serde, value_serde, [merge_name], queryable)


class CogroupedKStream(View[K, V]):
    """Grouped streams that are folded into one table. Made by ``KGroupedStream.cogroup``.

    All streams must have keys of one type and topics with the same number of partitions.
    """

    def __init__(self, name: str, sources: frozenset[str], node: GraphNode, builder: ViewGraph) -> None:
        super().__init__(name, None, None, sources, node, builder)
        self._cogroup = Cogroup(builder)

    @operator
    def cogroup(
        self, other: KGroupedStream[K, OtherV], aggregator: Callable[[K, OtherV, V], V | None]
    ) -> CogroupedKStream[K, V]:
        """Fold another grouped stream in with ``aggregator(key, value, aggregate)``. As in Kafka, this changes self.

        A stream that is given twice keeps the later aggregator.

        >>> builder = StreamsBuilder()
        >>> ins, outs = builder.stream("ins").group_by_key(), builder.stream("outs").group_by_key()
        >>> present = ins.cogroup(lambda key, who, names: [*names, who])
        >>> _ = present.cogroup(outs, lambda key, who, names: [name for name in names if name != who])
        >>> present.aggregate(list).to_stream().to("out")
        >>> run(builder, ("ins", "room", "al"), ("ins", "room", "bo"), ("outs", "room", "al"))
        [('room', ['al']), ('room', ['al', 'bo']), ('room', ['bo'])]
        """
        if not isinstance(other, self.builder.views.grouped_stream):
            message = f"cogroup() takes a KGroupedStream, not {other!r}"
            raise OperatorTypeError(message, hint="Group the stream first: stream.group_by_key().", at=user_line())
        check_function(aggregator, 3, operator="cogroup", argument="aggregator")
        self._cogroup.aggregators[other] = aggregator
        return self

    @operator_with(RetentionKeywords)
    def aggregate(
        self,
        initializer: Callable[[], V],
        store: Any = None,
        *,
        name: str | None = None,
        **keywords: Unpack[RetentionKeywords[SerdeFor[K], SerdeFor[V]]],
    ) -> KTable[K, V]:
        """The table of all aggregates, each beginning with ``initializer()``.

        No serdes are taken over from the streams, which may differ: give ``key_serde`` and ``value_serde`` where the
        defaults do not fit. Records without key or value are dropped and counted.

        >>> builder = StreamsBuilder()
        >>> words = builder.stream("in").group_by_key().cogroup(lambda key, word, size: size + len(word))
        >>> words.aggregate(int, store=stores.in_memory("sizes")).to_stream().to("out")
        >>> run(builder, ("a", "to"), ("a", "be"))
        [('a', 2), ('a', 4)]
        """
        check_function(initializer, 0, operator="aggregate", argument="initializer")
        given = Materialized.of(store, **keywords)
        materialized = self._cogroup.materialize(given)
        kept = KeyValueMaterializer(materialized)

        def node_of(step: Step) -> ProcessorGraphNode:
            node = ProcessorGraphNode(step.name, step)
            node.output_versioned = materialized.is_versioned
            return node

        return self._cogroup.add(
            name,
            materialized,
            materialized.key_serde,
            lambda aggregator: Aggregate(kept, initializer, aggregator),
            node_of,
        )

    @overload
    def windowed_by(self, windows: TimeWindows | UnlimitedWindows) -> TimeWindowedCogroupedKStream[K, V]: ...
    @overload
    def windowed_by(self, windows: SlidingWindows) -> SlidingWindowedCogroupedKStream[K, V]: ...
    @overload
    def windowed_by(self, windows: SessionWindows) -> SessionWindowedCogroupedKStream[K, V]: ...
    @operator
    def windowed_by(self, windows: WindowsSpec) -> WindowedCogroupedKStream[K, V]:
        """Aggregate in windows: time, unlimited, sliding or session windows. Anything else is an OperatorTypeError.

        >>> cogrouped = StreamsBuilder().stream("in").group_by_key().cogroup(lambda key, n, sum: sum + n)
        >>> type(cogrouped.windowed_by(SessionWindows(5))).__name__
        'SessionWindowedCogroupedKStream'
        """
        windowing = windowing_of(windows)
        return _VIEWS[type(windowing)](self, windowing, self._cogroup)


class WindowedCogroupedKStream(View[K, V]):
    """What the windowed views of a cogrouped stream share. Their results leave with every update."""

    def __init__(self, cogrouped: CogroupedKStream[K, V], windowing: TimeWindowing, cogroup: Cogroup) -> None:
        super().__init__(cogrouped.name, None, None, cogrouped.sources, cogrouped.node, cogrouped.builder)
        self._windowing = windowing
        self._cogroup = cogroup

    def _shown(self) -> dict[str, Any]:
        return {"windows": self._windowing.windows}

    def _add(
        self,
        name: str | None,
        given: Materialized | None,
        initializer: Callable[[], V],
        merger: Callable[[K, V, V], V | None] | None,
    ) -> KTable[Windowed[K], V]:
        materialized, windowing = self._cogroup.materialize(given), self._windowing
        kept = windowing.store(materialized, _EMIT)
        return self._cogroup.add(
            name,
            materialized,
            windowing.key_serde(materialized.key_serde),
            lambda aggregator: windowing.supplier(kept, _EMIT, Fold(initializer, aggregator, merger)),
            lambda step: GracePeriodNode(step.name, step, windowing.close_after_ms),
        )


class TimeWindowedCogroupedKStream(WindowedCogroupedKStream[K, V]):
    """A cogrouped stream in time windows or in one unlimited window."""

    @operator_with(RetentionKeywords)
    def aggregate(
        self,
        initializer: Callable[[], V],
        store: Any = None,
        *,
        name: str | None = None,
        **keywords: Unpack[RetentionKeywords[SerdeFor[K], SerdeFor[V]]],
    ) -> KTable[Windowed[K], V]:
        """The table of all aggregates by key and window.

        A record that comes after its window has closed, or without a key, is dropped and counted.

        >>> builder = StreamsBuilder()
        >>> cogrouped = builder.stream("in").group_by_key().cogroup(lambda key, n, sum: sum + n)
        >>> sums = cogrouped.windowed_by(TimeWindows(10)).aggregate(int)
        >>> sums.to_stream(lambda window, sum: f"{window.key}@{window.start}").to("out")
        >>> run(builder, ("a", 1, 1), ("a", 2, 5), ("a", 3, 12))
        [('a@0', 1), ('a@0', 3), ('a@10', 3)]
        """
        check_function(initializer, 0, operator="aggregate", argument="initializer")
        given = Materialized.of(store, **keywords)
        return self._add(name, given, initializer, None)


class SlidingWindowedCogroupedKStream(TimeWindowedCogroupedKStream[K, V]):
    """A cogrouped stream in sliding windows."""


class SessionWindowedCogroupedKStream(WindowedCogroupedKStream[K, V]):
    """A cogrouped stream in sessions."""

    @operator_with(RetentionKeywords)
    def aggregate(
        self,
        initializer: Callable[[], V],
        merger: Callable[[K, V, V], V | None],
        store: Any = None,
        *,
        name: str | None = None,
        **keywords: Unpack[RetentionKeywords[SerdeFor[K], SerdeFor[V]]],
    ) -> KTable[Windowed[K], V]:
        """The table of all sessions; ``merger(key, left, right)`` joins the aggregates of sessions that meet.

        >>> builder = StreamsBuilder()
        >>> cogrouped = builder.stream("in").group_by_key().cogroup(lambda key, n, sum: sum + n)
        >>> sums = cogrouped.windowed_by(SessionWindows(5)).aggregate(int, lambda key, left, right: left + right)
        >>> sums.to_stream(lambda window, sum: f"{window.start}-{window.end}").to("out")
        >>> run(builder, ("a", 1, 0), ("a", 2, 20))
        [('0-0', 1), ('20-20', 2)]
        """
        check_function(initializer, 0, operator="aggregate", argument="initializer")
        check_function(merger, 3, operator="aggregate", argument="merger")
        given = Materialized.of(store, **keywords)
        return self._add(name, given, initializer, merger)


_VIEWS: dict[type[TimeWindowing], type[WindowedCogroupedKStream[Any, Any]]] = {
    TimeWindowing: TimeWindowedCogroupedKStream,
    SlidingWindowing: SlidingWindowedCogroupedKStream,
    SessionWindowing: SessionWindowedCogroupedKStream,
}
