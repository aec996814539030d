"""Grouped streams in windows: TimeWindowedKStream, SlidingWindowedKStream and SessionWindowedKStream."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from headrace import serde
from headrace.dsl.aggregations import Aggregations
from headrace.dsl.keywords import RetentionKeywords
from headrace.dsl.operator import check_function, operator, operator_with
from headrace.dsl.view import View
from headrace.dsl.windowing import Fold, SessionWindowing, SlidingWindowing, TimeWindowing, windowing_of
from headrace.errors import ArgumentError, OperatorTypeError, user_line
from headrace.plan.graph import GracePeriodNode, Step
from headrace.plan.materialized import Materialized
from headrace.plan.names import AGGREGATE, REDUCE, name_or_generate
from headrace.processors.aggregation import (
    ReducingAggregator,
    ReducingMerger,
    count_aggregator,
    count_initializer,
    count_merger,
    no_initial_value,
)
from headrace.type_variables import V2, K, V
from headrace.windows import EmitStrategy, UnlimitedWindows

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from headrace.dsl.ktable import KTable
    from headrace.serde.contract import GivenSerde, SerdeFor
    from headrace.windows import Windowed

Self = TypeVar("Self", bound="WindowedKStream[Any, Any]")


class WindowedKStream(View[K, V]):
    """What the windowed views of a grouped stream share. Tables that come out of them have ``Windowed`` keys.

    A record without a key is dropped and counted. So is one that comes when its window has closed: when stream time,
    the highest timestamp so far, has passed the end of the window and its grace period.
    """

    _count_burns_index = True

    def __init__(self, windowing: TimeWindowing, aggregations: Aggregations) -> None:
        view = aggregations.view
        super().__init__(view.name, view.key_serde, view.value_serde, view.sources, view.node, view.builder)
        self._windowing = windowing
        self._aggregations = aggregations
        self._emit = EmitStrategy.ON_WINDOW_UPDATE

    def _shown(self) -> dict[str, Any]:
        return {"windows": self._windowing.windows}

    @operator
    def emit_strategy(self: Self, strategy: EmitStrategy) -> Self:
        """When results leave: with every update (the default), or once, when the window closes.

        As with ``KTable.suppress`` only newer records close a window. An unlimited window never closes: an
        ArgumentError.

        >>> builder = StreamsBuilder()
        >>> grouped = builder.stream("in").group_by_key().windowed_by(TimeWindows(10))
        >>> final = grouped.emit_strategy(EmitStrategy.on_window_close()).count()
        >>> final.to_stream(lambda window, count: window.key).to("out")
        >>> run(builder, ("a", "x", 1), ("a", "y", 2), ("b", "z", 10))
        [('a', 2)]
        """
        if not isinstance(strategy, EmitStrategy):
            message = f"emit_strategy() takes an EmitStrategy, not {strategy!r}"
            raise OperatorTypeError(message, hint="EmitStrategy.on_window_close()", at=user_line())
        if strategy is EmitStrategy.ON_WINDOW_CLOSE and isinstance(self._windowing.windows, UnlimitedWindows):
            raise ArgumentError("an unlimited window never closes, so it cannot emit when it does", at=user_line())
        self._emit = strategy
        return self

    @operator_with(RetentionKeywords)
    def count(
        self,
        store: Any = None,
        *,
        name: str | None = None,
        **keywords: Unpack[RetentionKeywords[SerdeFor[K], SerdeFor[int]]],
    ) -> KTable[Windowed[K], int]:
        """How many records each key has in each window. As in Kafka, time and session windows count null values too.

        >>> builder = StreamsBuilder()
        >>> counts = builder.stream("in").group_by_key().windowed_by(TimeWindows(10, grace=5)).count()
        >>> counts.to_stream(lambda window, count: f"{window.key}@{window.start}").to("out")
        >>> run(builder, ("a", "x", 1), ("a", "y", 14), ("a", "late", 2), ("a", "z", 15), ("a", "too late", 3))
        [('a@0', 1), ('a@10', 1), ('a@0', 2), ('a@10', 2)]
        """
        given = Materialized.of(store, **keywords)
        if self._count_burns_index:
            self._aggregations.burn_index_of_count(given)
        materialized = self._aggregations.materialize(given, AGGREGATE, value_serde=serde.long())
        return self._add(AGGREGATE, name, materialized, Fold(count_initializer, count_aggregator, count_merger))

    @operator_with(RetentionKeywords)
    def reduce(
        self,
        reducer: Callable[[V, V], V | None],
        store: Any = None,
        *,
        name: str | None = None,
        **keywords: Unpack[RetentionKeywords[SerdeFor[K], SerdeFor[V]]],
    ) -> KTable[Windowed[K], V]:
        """Combine the values of each key and window with ``reducer(aggregate, value)``; the first value is the start.

        >>> builder = StreamsBuilder()
        >>> highest = builder.stream("in").group_by_key().windowed_by(TimeWindows(10)).reduce(max)
        >>> highest.to_stream(lambda window, value: window.start).to("out", key_serde=serdes.long())
        >>> run(builder, ("a", 3, 1), ("a", 5, 2), ("a", 4, 11))
        [(0, 3), (0, 5), (10, 4)]
        """
        check_function(reducer, 2, operator="reduce", argument="reducer")
        given = Materialized.of(store, **keywords)
        materialized = self._aggregations.materialize(given, REDUCE, value_serde=self.value_serde)
        fold = Fold(no_initial_value, ReducingAggregator(reducer), ReducingMerger(reducer))
        return self._add(REDUCE, name, materialized, fold)

    def _add(self, prefix: str, name: str | None, materialized: Materialized, fold: Fold) -> KTable[Windowed[K], Any]:
        node_name = name_or_generate(name, self.builder, prefix)
        windowing = self._windowing
        supplier = windowing.supplier(windowing.store(materialized, self._emit), self._emit, fold)
        node = GracePeriodNode(node_name, Step(node_name, supplier), windowing.close_after_ms)
        node.output_versioned = False
        return self._aggregations.add(node, materialized, windowing.key_serde(materialized.key_serde))


class TimeWindowedKStream(WindowedKStream[K, V]):
    """A grouped stream in time windows or in one unlimited window."""

    @operator_with(RetentionKeywords)
    def aggregate(
        self,
        initializer: Callable[[], V2],
        aggregator: Callable[[K, V, V2], V2 | None],
        store: Any = None,
        *,
        name: str | None = None,
        **keywords: Unpack[RetentionKeywords[SerdeFor[K], GivenSerde[V2]]],
    ) -> KTable[Windowed[K], V2]:
        """Fold the values of each key and window with ``aggregator(key, value, aggregate)``, from ``initializer()`` on.

        >>> builder = StreamsBuilder()
        >>> windowed = builder.stream("in").group_by_key().windowed_by(TimeWindows(10))
        >>> windowed.aggregate(int, lambda key, n, sum: sum + n).to_stream(lambda window, sum: window.key).to("out")
        >>> run(builder, ("a", 3, 1), ("a", 5, 2), ("a", 4, 11))
        [('a', 3), ('a', 8), ('a', 4)]
        """
        check_function(initializer, 0, operator="aggregate", argument="initializer")
        check_function(aggregator, 3, operator="aggregate", argument="aggregator")
        given = Materialized.of(store, **keywords)
        materialized = self._aggregations.materialize(given, AGGREGATE)
        return self._add(AGGREGATE, name, materialized, Fold(initializer, aggregator))


class SlidingWindowedKStream(TimeWindowedKStream[K, V]):
    """A grouped stream in sliding windows. Records without a value are dropped and counted, too."""

    _count_burns_index = False


class SessionWindowedKStream(WindowedKStream[K, V]):
    """A grouped stream in sessions. When sessions merge, the old ones are deleted and the joined one is sent."""

    @operator_with(RetentionKeywords)
    def aggregate(
        self,
        initializer: Callable[[], V2],
        aggregator: Callable[[K, V, V2], V2 | None],
        merger: Callable[[K, V2, V2], V2 | None],
        store: Any = None,
        *,
        name: str | None = None,
        **keywords: Unpack[RetentionKeywords[SerdeFor[K], GivenSerde[V2]]],
    ) -> KTable[Windowed[K], V2]:
        """Fold the values of each session; ``merger(key, left, right)`` joins the aggregates of sessions that meet.

        The merger is also called for a record that prolongs a session, with what ``initializer()`` gave.

        >>> builder = StreamsBuilder()
        >>> sessions = builder.stream("in").group_by_key().windowed_by(SessionWindows(5))
        >>> total = sessions.aggregate(int, lambda key, n, sum: sum + n, lambda key, left, right: left + right)
        >>> total.to_stream(lambda window, sum: f"{window.start}-{window.end}").to("out")
        >>> run(builder, ("a", 1, 0), ("a", 2, 4))
        [('0-0', 1), ('0-0', None), ('0-4', 3)]
        """
        check_function(initializer, 0, operator="aggregate", argument="initializer")
        check_function(aggregator, 3, operator="aggregate", argument="aggregator")
        check_function(merger, 3, operator="aggregate", argument="merger")
        given = Materialized.of(store, **keywords)
        materialized = self._aggregations.materialize(given, AGGREGATE)
        return self._add(AGGREGATE, name, materialized, Fold(initializer, aggregator, merger))


_VIEWS: dict[type[TimeWindowing], type[WindowedKStream[Any, Any]]] = {
    TimeWindowing: TimeWindowedKStream,
    SlidingWindowing: SlidingWindowedKStream,
    SessionWindowing: SessionWindowedKStream,
}


def windowed_view(windows: Any, aggregations: Aggregations) -> WindowedKStream[Any, Any]:
    """The view of a grouped stream in ``windows``."""
    windowing = windowing_of(windows)
    return _VIEWS[type(windowing)](windowing, aggregations)
