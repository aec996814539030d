"""The methods of KStream that join, with what each takes by what it joins with. ``stream_joins`` lays the joins out."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, overload

from headrace.dsl.join_kinds import INNER, LEFT, OUTER, JoinKind
from headrace.dsl.operator import operator
from headrace.dsl.view import View

if TYPE_CHECKING:
    from headrace.dsl.global_table import GlobalKTable
    from headrace.dsl.kstream import KStream
    from headrace.dsl.ktable import KTable
    from headrace.durations import Duration
    from headrace.serde import Serde
    from headrace.windows import JoinWindows


class StreamJoinMethods(View):
    """The joins of a stream: with another stream, a table or a global table."""

    @overload
    def join(
        self,
        other: KStream,
        joiner: Callable[..., Any],
        windows: JoinWindows,
        *,
        with_key: bool = False,
        key_serde: Serde[Any] | None = None,
        value_serde: Serde[Any] | None = None,
        other_value_serde: Serde[Any] | None = None,
        store_name: str | None = None,
        this_store: Any = None,
        other_store: Any = None,
        store_kind: Any = None,
        logging: bool | dict[str, str] | None = None,
        name: str | None = None,
    ) -> KStream: ...
    @overload
    def join(
        self,
        other: KTable,
        joiner: Callable[..., Any],
        *,
        with_key: bool = False,
        key_serde: Serde[Any] | None = None,
        value_serde: Serde[Any] | None = None,
        other_value_serde: Serde[Any] | None = None,
        grace: Duration | None = None,
        name: str | None = None,
    ) -> KStream: ...
    @overload
    def join(
        self,
        other: GlobalKTable,
        key_selector: Callable[[Any, Any], Any],
        joiner: Callable[..., Any],
        *,
        with_key: bool = False,
        name: str | None = None,
    ) -> KStream: ...
    def join(self, other: Any, *functions: Any, **options: Any) -> KStream:
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
        return self._join(other, functions, options, INNER)

    @overload
    def left_join(
        self,
        other: KStream,
        joiner: Callable[..., Any],
        windows: JoinWindows,
        *,
        with_key: bool = False,
        key_serde: Serde[Any] | None = None,
        value_serde: Serde[Any] | None = None,
        other_value_serde: Serde[Any] | None = None,
        store_name: str | None = None,
        this_store: Any = None,
        other_store: Any = None,
        store_kind: Any = None,
        logging: bool | dict[str, str] | None = None,
        name: str | None = None,
    ) -> KStream: ...
    @overload
    def left_join(
        self,
        other: KTable,
        joiner: Callable[..., Any],
        *,
        with_key: bool = False,
        key_serde: Serde[Any] | None = None,
        value_serde: Serde[Any] | None = None,
        other_value_serde: Serde[Any] | None = None,
        grace: Duration | None = None,
        name: str | None = None,
    ) -> KStream: ...
    @overload
    def left_join(
        self,
        other: GlobalKTable,
        key_selector: Callable[[Any, Any], Any],
        joiner: Callable[..., Any],
        *,
        with_key: bool = False,
        name: str | None = None,
    ) -> KStream: ...
    def left_join(self, other: Any, *functions: Any, **options: Any) -> KStream:
        """Like ``join``, but a record without a partner joins None.

        In a join of streams such a result comes when the window and its grace period have passed in stream time. A
        record of this stream without a key is kept and joins None; one without a value is dropped and counted.

        >>> builder = StreamsBuilder()
        >>> users = builder.table("users")
        >>> builder.stream("views").left_join(users, lambda page, city: [page, city]).to("out")
        >>> run(builder, ("views", "al", "home"), ("users", "al", "Zug"), ("views", "al", "help"))
        [('al', ['home', None]), ('al', ['help', 'Zug'])]
        """
        return self._join(other, functions, options, LEFT)

    @operator
    def outer_join(
        self,
        other: KStream,
        joiner: Callable[..., Any],
        windows: JoinWindows,
        *,
        with_key: bool = False,
        key_serde: Serde[Any] | None = None,
        value_serde: Serde[Any] | None = None,
        other_value_serde: Serde[Any] | None = None,
        store_name: str | None = None,
        this_store: Any = None,
        other_store: Any = None,
        store_kind: Any = None,
        logging: bool | dict[str, str] | None = None,
        name: str | None = None,
    ) -> KStream:
        """Like ``left_join`` with a stream, but also records of ``other`` without a partner join None.

        >>> builder = StreamsBuilder()
        >>> clicks, buys = builder.stream("clicks"), builder.stream("buys")
        >>> clicks.outer_join(buys, lambda click, buy: [click, buy], JoinWindows(10)).to("out")
        >>> run(builder, ("buys", "a", 9, 0), ("clicks", "b", 1, 30), ("buys", "b", 2, 35))
        [('a', [None, 9]), ('b', [1, 2])]
        """
        options = {
            "with_key": with_key,
            "key_serde": key_serde,
            "value_serde": value_serde,
            "other_value_serde": other_value_serde,
            "store_name": store_name,
            "this_store": this_store,
            "other_store": other_store,
            "store_kind": store_kind,
            "logging": logging,
            "name": name,
        }
        return self._join(other, (joiner, windows), options, OUTER)

    @abstractmethod
    def _join(self, other: Any, functions: tuple[Any, ...], options: dict[str, Any], kind: JoinKind) -> KStream: ...
