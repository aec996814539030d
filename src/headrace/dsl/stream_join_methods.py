"""The methods of KStream that join, with what each takes by what it joins with. ``stream_joins`` lays the joins out."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, overload

from headrace.dsl import stream_joins
from headrace.dsl.join_kinds import INNER, LEFT, OUTER
from headrace.dsl.keywords import StreamJoinKeywords
from headrace.dsl.operator import operator_with
from headrace.dsl.stream_view import StreamView
from headrace.type_variables import V2, K, OtherK, OtherV, V

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from headrace.dsl.global_table import GlobalKTable
    from headrace.dsl.keywords import TableJoinKeywords
    from headrace.dsl.kstream import KStream
    from headrace.dsl.ktable import KTable
    from headrace.windows import JoinWindows


class StreamJoinMethods(StreamView[K, V]):
    """The joins of a stream: with another stream, a table or a global table."""

    @overload
    def join(
        self,
        other: KStream[K, OtherV],
        joiner: Callable[[V, OtherV], V2],
        windows: JoinWindows,
        *,
        with_key: Literal[False] = False,
        **keywords: Unpack[StreamJoinKeywords[K, V, OtherV]],
    ) -> KStream[K, V2]: ...
    @overload
    def join(
        self,
        other: KTable[K, OtherV],
        joiner: Callable[[V, OtherV], V2],
        *,
        with_key: Literal[False] = False,
        **keywords: Unpack[TableJoinKeywords[K, V, OtherV]],
    ) -> KStream[K, V2]: ...
    @overload
    def join(
        self,
        other: GlobalKTable[OtherK, OtherV],
        key_selector: Callable[[K, V], OtherK | None],
        joiner: Callable[[V, OtherV], V2],
        *,
        with_key: Literal[False] = False,
        name: str | None = None,
    ) -> KStream[K, V2]: ...
    @overload
    def join(
        self,
        other: KStream[K, OtherV],
        joiner: Callable[[K, V, OtherV], V2],
        windows: JoinWindows,
        *,
        with_key: Literal[True],
        **keywords: Unpack[StreamJoinKeywords[K, V, OtherV]],
    ) -> KStream[K, V2]: ...
    @overload
    def join(
        self,
        other: KTable[K, OtherV],
        joiner: Callable[[K, V, OtherV], V2],
        *,
        with_key: Literal[True],
        **keywords: Unpack[TableJoinKeywords[K, V, OtherV]],
    ) -> KStream[K, V2]: ...
    @overload
    def join(
        self,
        other: GlobalKTable[OtherK, OtherV],
        key_selector: Callable[[K, V], OtherK | None],
        joiner: Callable[[K, V, OtherV], V2],
        *,
        with_key: Literal[True],
        name: str | None = None,
    ) -> KStream[K, V2]: ...
    def join(self, other: Any, *functions: Any, **options: Any) -> KStream[K, Any]:
        """Combine each record with its partners; records without one are left out.

        With a stream: ``joiner(left, right)`` for each pair of records with the same key that lie within ``windows``.
        With a table: for the row of the record's key, at the time the record comes; a versioned table is asked for the
        row as of the record's time, and ``grace`` lets records wait for late rows.
        With a global table: for the row of the key that ``key_selector(key, value)`` returns.
        ``with_key`` calls the joiner with the key as well, before the two values.

        A record whose key or value is None is dropped and counted. Both sides must have the same number of partitions
        (a global table need not); a side whose key may have changed goes through a repartition topic first.

        >>> builder = StreamsBuilder()
        >>> users = builder.table("users")
        >>> builder.stream("views").join(users, lambda page, city: [page, city]).to("out")
        >>> run(builder, ("views", "al", "home"), ("users", "al", "Zug"), ("views", "al", "help"))
        [('al', ['help', 'Zug'])]
        """
        return stream_joins.join(self, other, functions, options, kind=INNER)

    @overload
    def left_join(
        self,
        other: KStream[K, OtherV],
        joiner: Callable[[V, OtherV | None], V2],
        windows: JoinWindows,
        *,
        with_key: Literal[False] = False,
        **keywords: Unpack[StreamJoinKeywords[K, V, OtherV]],
    ) -> KStream[K, V2]: ...
    @overload
    def left_join(
        self,
        other: KTable[K, OtherV],
        joiner: Callable[[V, OtherV | None], V2],
        *,
        with_key: Literal[False] = False,
        **keywords: Unpack[TableJoinKeywords[K, V, OtherV]],
    ) -> KStream[K, V2]: ...
    @overload
    def left_join(
        self,
        other: GlobalKTable[OtherK, OtherV],
        key_selector: Callable[[K, V], OtherK | None],
        joiner: Callable[[V, OtherV | None], V2],
        *,
        with_key: Literal[False] = False,
        name: str | None = None,
    ) -> KStream[K, V2]: ...
    @overload
    def left_join(
        self,
        other: KStream[K, OtherV],
        joiner: Callable[[K, V, OtherV | None], V2],
        windows: JoinWindows,
        *,
        with_key: Literal[True],
        **keywords: Unpack[StreamJoinKeywords[K, V, OtherV]],
    ) -> KStream[K, V2]: ...
    @overload
    def left_join(
        self,
        other: KTable[K, OtherV],
        joiner: Callable[[K, V, OtherV | None], V2],
        *,
        with_key: Literal[True],
        **keywords: Unpack[TableJoinKeywords[K, V, OtherV]],
    ) -> KStream[K, V2]: ...
    @overload
    def left_join(
        self,
        other: GlobalKTable[OtherK, OtherV],
        key_selector: Callable[[K, V], OtherK | None],
        joiner: Callable[[K, V, OtherV | None], V2],
        *,
        with_key: Literal[True],
        name: str | None = None,
    ) -> KStream[K, V2]: ...
    def left_join(self, other: Any, *functions: Any, **options: Any) -> KStream[K, Any]:
        """Like ``join``, but a record without a partner joins None.

        In a join of streams such a result comes when the window and its grace period have passed in stream time. A
        record of this stream without a key is kept and joins None; one without a value is dropped and counted.

        >>> builder = StreamsBuilder()
        >>> users = builder.table("users")
        >>> builder.stream("views").left_join(users, lambda page, city: [page, city]).to("out")
        >>> run(builder, ("views", "al", "home"), ("users", "al", "Zug"), ("views", "al", "help"))
        [('al', ['home', None]), ('al', ['help', 'Zug'])]
        """
        return stream_joins.join(self, other, functions, options, kind=LEFT)

    @overload
    def outer_join(
        self,
        other: KStream[K, OtherV],
        joiner: Callable[[V | None, OtherV | None], V2],
        windows: JoinWindows,
        *,
        with_key: Literal[False] = False,
        **keywords: Unpack[StreamJoinKeywords[K, V, OtherV]],
    ) -> KStream[K, V2]: ...
    @overload
    def outer_join(
        self,
        other: KStream[K, OtherV],
        joiner: Callable[[K, V | None, OtherV | None], V2],
        windows: JoinWindows,
        *,
        with_key: Literal[True],
        **keywords: Unpack[StreamJoinKeywords[K, V, OtherV]],
    ) -> KStream[K, V2]: ...
    @operator_with(StreamJoinKeywords)
    def outer_join(
        self,
        other: KStream[K, OtherV],
        joiner: Callable[..., V2],
        windows: JoinWindows,
        *,
        with_key: bool = False,
        **keywords: Unpack[StreamJoinKeywords[K, V, OtherV]],
    ) -> KStream[K, V2]:
        """Like ``left_join`` with a stream, but also records of ``other`` without a partner join None.

        >>> builder = StreamsBuilder()
        >>> clicks, buys = builder.stream("clicks"), builder.stream("buys")
        >>> clicks.outer_join(buys, lambda click, buy: [click, buy], JoinWindows(10)).to("out")
        >>> run(builder, ("buys", "a", 9, 0), ("clicks", "b", 1, 30), ("buys", "b", 2, 35))
        [('a', [None, 9]), ('b', [1, 2])]
        """
        return stream_joins.join(self, other, (joiner, windows), {"with_key": with_key, **keywords}, kind=OUTER)
