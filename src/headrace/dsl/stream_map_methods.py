"""The methods of KStream that look at one record at a time: filter, map, peek and their relatives."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Literal, overload

from headrace.dsl.operator import check_function, operator
from headrace.dsl.stream_view import StreamView
from headrace.plan import names
from headrace.processors.filter import Filter
from headrace.processors.flat_map import FlatMap
from headrace.processors.flat_map_values import FlatMapValues
from headrace.processors.map import Map, SelectKey
from headrace.processors.map_values import MapValues, MapValuesWithKey
from headrace.processors.peek import Peek
from headrace.type_variables import K2, V2, K, V

if TYPE_CHECKING:
    from headrace.dsl.kstream import KStream


class StreamMapMethods(StreamView[K, V]):
    """What can be done to each record of a stream by itself, without state."""

    # One record in, at most one out

    @operator
    def filter(self, predicate: Callable[[K, V], object], *, name: str | None = None) -> KStream[K, V]:
        """Keep the records for which ``predicate(key, value)`` holds. The others are not counted as dropped.

        >>> builder = StreamsBuilder()
        >>> builder.stream("in").filter(lambda key, ms: ms > 5).to("out")
        >>> run(builder, ("a", 3), ("b", 8))
        [('b', 8)]
        """
        check_function(predicate, 2, operator="filter", argument="predicate")
        return self._same(self._add(names.FILTER, name, Filter(predicate)))

    @operator
    def filter_not(self, predicate: Callable[[K, V], object], *, name: str | None = None) -> KStream[K, V]:
        """Keep the records for which ``predicate(key, value)`` does not hold.

        >>> builder = StreamsBuilder()
        >>> builder.stream("in").filter_not(lambda key, ms: ms > 5).to("out")
        >>> run(builder, ("a", 3), ("b", 8))
        [('a', 3)]
        """
        check_function(predicate, 2, operator="filter_not", argument="predicate")
        return self._same(self._add(names.FILTER, name, Filter(predicate, negate=True)))

    @operator
    def select_key(self, mapper: Callable[[K, V], K2], *, name: str | None = None) -> KStream[K2, V]:
        """Put each record under the key that ``mapper(key, value)`` returns.

        The records stay where they are: the next aggregation or join sends them through a repartition topic.

        >>> builder = StreamsBuilder()
        >>> builder.stream("in").select_key(lambda key, view: view["user"]).to("out")
        >>> run(builder, (None, {"user": "alice"}))
        [('alice', {'user': 'alice'})]
        """
        check_function(mapper, 2, operator="select_key", argument="mapper")
        node = self._add(names.KEY_SELECT, name, SelectKey(mapper), key_changing=True)
        return self._view(node, None, self.value_serde, repartition_required=True)

    @operator
    def map(self, mapper: Callable[[K, V], tuple[K2, V2]], *, name: str | None = None) -> KStream[K2, V2]:
        """Replace each record by the pair that ``mapper(key, value)`` returns; anything but a pair is an error.

        Where the key stays as it is ``map_values`` says the same and spares the repartitioning.

        >>> builder = StreamsBuilder()
        >>> builder.stream("in").map(lambda key, value: (value, key)).to("out")
        >>> run(builder, ("a", "b"))
        [('b', 'a')]
        """
        check_function(mapper, 2, operator="map", argument="mapper")
        return self._rekeyed(self._add(names.MAP, name, Map(mapper), key_changing=True))

    @overload
    def map_values(
        self, mapper: Callable[[V], V2], *, with_key: Literal[False] = False, name: str | None = None
    ) -> KStream[K, V2]: ...
    @overload
    def map_values(
        self, mapper: Callable[[K, V], V2], *, with_key: Literal[True], name: str | None = None
    ) -> KStream[K, V2]: ...
    @operator
    def map_values(
        self, mapper: Callable[..., V2], *, with_key: bool = False, name: str | None = None
    ) -> KStream[K, V2]:
        """Replace each value by what ``mapper(value)`` returns; with ``with_key``, ``mapper(key, value)``.

        A value of None is mapped like any other. The key stays, so nothing is repartitioned because of it.

        >>> builder = StreamsBuilder()
        >>> builder.stream("in").map_values(lambda key, n: f"{key}{n}", with_key=True).to("out")
        >>> run(builder, ("a", 1))
        [('a', 'a1')]
        """
        check_function(mapper, 2 if with_key else 1, operator="map_values", argument="mapper")
        supplier = MapValuesWithKey(mapper) if with_key else MapValues(mapper)
        return self._revalued(self._add(names.MAP_VALUES, name, supplier, value_changing=True))

    @operator
    def peek(self, action: Callable[[K, V], object], *, name: str | None = None) -> KStream[K, V]:
        """Call ``action(key, value)`` for each record and pass the record on as it is.

        For side effects only. After a failure records come again, and so do the calls.

        >>> builder = StreamsBuilder()
        >>> builder.stream("in").peek(lambda key, value: print("saw", key)).to("out")
        >>> run(builder, ("a", 1))
        saw a
        [('a', 1)]
        """
        check_function(action, 2, operator="peek", argument="action")
        return self._same(self._add(names.PEEK, name, Peek(action)))

    # One record in, many out

    @operator
    def flat_map(
        self, mapper: Callable[[K, V], Iterable[tuple[K2, V2]]], *, name: str | None = None
    ) -> KStream[K2, V2]:
        """Replace each record by the pairs that ``mapper(key, value)`` returns: none, one or many. None is an error.

        >>> builder = StreamsBuilder()
        >>> builder.stream("in").flat_map(lambda key, words: [(word, len(word)) for word in words]).to("out")
        >>> run(builder, ("a", ["to", "be"]))
        [('to', 2), ('be', 2)]
        """
        check_function(mapper, 2, operator="flat_map", argument="mapper")
        return self._rekeyed(self._add(names.FLAT_MAP, name, FlatMap(mapper), key_changing=True))

    @overload
    def flat_map_values(
        self, mapper: Callable[[V], Iterable[V2]], *, with_key: Literal[False] = False, name: str | None = None
    ) -> KStream[K, V2]: ...
    @overload
    def flat_map_values(
        self, mapper: Callable[[K, V], Iterable[V2]], *, with_key: Literal[True], name: str | None = None
    ) -> KStream[K, V2]: ...
    @operator
    def flat_map_values(
        self, mapper: Callable[..., Iterable[V2]], *, with_key: bool = False, name: str | None = None
    ) -> KStream[K, V2]:
        """Replace each record by one per value that ``mapper(value)`` returns; with ``with_key``, ``(key, value)``.

        The key stays, so nothing is repartitioned because of it. A mapper that returns None is an error.

        >>> builder = StreamsBuilder()
        >>> builder.stream("in").flat_map_values(str.split).to("out")
        >>> run(builder, ("a", "to be"))
        [('a', 'to'), ('a', 'be')]
        """
        check_function(mapper, 2 if with_key else 1, operator="flat_map_values", argument="mapper")
        supplier = FlatMapValues(mapper, with_key)
        return self._revalued(self._add(names.FLAT_MAP_VALUES, name, supplier, value_changing=True))
