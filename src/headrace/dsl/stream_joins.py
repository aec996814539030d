"""The joins of a KStream: with another stream, a table or a global table."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from headrace.dsl import global_table, ktable
from headrace.dsl.join_kinds import OUTER, JoinKind
from headrace.dsl.operator import call_as, check_function
from headrace.durations import Duration, to_ms
from headrace.errors import ArgumentError, OperatorTypeError, user_line
from headrace.plan import names
from headrace.plan.graph import Step, StreamStreamJoinNode, StreamTableJoinNode, WindowedStreamNode
from headrace.plan.join_stores import StreamJoined, WaitingStore, check_join_stores, log_settings, window_store
from headrace.plan.names import name_or_generate, suffixed_or_generate
from headrace.processors.join_window import JoinWindow
from headrace.processors.joiners import Joiner, keyed_joiner
from headrace.processors.pass_through import PassThrough
from headrace.processors.self_join import SelfJoin
from headrace.processors.stream_stream_join import JoinClocks, StreamStreamJoin
from headrace.processors.stream_table_join import StreamGlobalTableJoin, StreamTableJoin
from headrace.state.buffers.stream_table import stream_table_buffer
from headrace.windows import JoinWindows

if TYPE_CHECKING:
    from headrace.dsl.kstream import KStream
    from headrace.dsl.stream_view import StreamView
    from headrace.plan.graph import GraphNode
    from headrace.serde import Serde


def join(
    stream: StreamView, other: Any, arguments: tuple[Any, ...], options: dict[str, Any], *, kind: JoinKind
) -> KStream:
    """Join ``stream`` with ``other`` in the way that fits what ``other`` is."""
    method = f"KStream.{kind.method}"
    if isinstance(other, stream.builder.views.stream):
        return call_as(method, join_stream, (stream, other, kind), *arguments, **options)
    if isinstance(other, ktable.KTable) and kind is not OUTER:
        return call_as(method, join_table, (stream, other, kind), *arguments, **options)
    if isinstance(other, global_table.GlobalKTable) and kind is not OUTER:
        return call_as(method, join_global_table, (stream, other, kind), *arguments, **options)
    partners = "a KStream" if kind is OUTER else "a KStream, KTable or GlobalKTable"
    message = f"{kind.method}() joins with {partners}, not {other!r}"
    raise OperatorTypeError(message, at=user_line())


# With a stream


def join_stream(
    stream: StreamView,
    other: StreamView,
    kind: JoinKind,
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
    """Join records of two streams that have the same key and lie within ``windows`` of each other."""
    check_function(joiner, 3 if with_key else 2, operator=kind.method, argument="joiner")
    if not isinstance(windows, JoinWindows):
        message = f"{kind.method}(): windows must be JoinWindows, not {windows!r}"
        raise OperatorTypeError(message, hint="For example windows=JoinWindows(timedelta(minutes=5)).", at=user_line())
    names.check_name(name)
    logged, log_config = log_settings(logging)
    left = _repartitioned(stream, name, "-left", key_serde, value_serde)
    right = _repartitioned(other, name, "-right", key_serde, other_value_serde)
    joined = StreamJoined(
        key_serde,
        value_serde,
        other_value_serde,
        store_name,
        this_store,
        other_store,
        store_kind,
        stream.builder.dsl_store,
        logged,
        log_config,
    )
    left.copartition_with(right)
    return _StreamStreamJoin(left, right, kind, windows, keyed_joiner(joiner, with_key=with_key), joined, name).build()


def _repartitioned(
    stream: StreamView,
    join_name: str | None,
    suffix: str,
    key_serde: Serde[Any] | None,
    value_serde: Serde[Any] | None,
) -> StreamView:
    if not stream.repartition_required:
        return stream
    base_name = stream.name if join_name is None else join_name + suffix
    return stream.repartition_for_join(base_name, key_serde, value_serde, named=join_name is not None)


class _StreamStreamJoin:
    """Lays out one join: draws its names in Kafka's order, then makes its stores, processors and nodes."""

    def __init__(
        self,
        left: StreamView,
        right: StreamView,
        kind: JoinKind,
        windows: JoinWindows,
        joiner: Joiner,
        joined: StreamJoined,
        name: str | None,
    ) -> None:
        self._left, self._right, self._kind = left, right, kind
        self._windows, self._joiner, self._joined = windows, joiner, joined
        self._builder = left.builder
        self._draw_names(name)

    def _draw_names(self, name: str | None) -> None:
        builder, kind = self._builder, self._kind
        self._this_suffix = "-outer-this-join" if kind.right_outer else "-this-join"
        self._other_suffix = "-outer-other-join" if kind.left_outer else "-other-join"
        self._this_windowed = suffixed_or_generate(name, "-this-windowed", builder, names.WINDOWED)
        self._other_windowed = suffixed_or_generate(name, "-other-windowed", builder, names.WINDOWED)
        self._this_generated = builder.new_processor_name(names.OUTER_THIS if kind.right_outer else names.JOIN_THIS)
        self._other_generated = builder.new_processor_name(names.OUTER_OTHER if kind.left_outer else names.JOIN_OTHER)
        self._this_name = self._this_generated if name is None else name + self._this_suffix
        self._other_name = self._other_generated if name is None else name + self._other_suffix
        self._merge_name = suffixed_or_generate(name, "-merge", builder, names.MERGE)

    def build(self) -> KStream:
        """Add all nodes; the stream of joined records."""
        check_join_stores(self._joined, self._windows)
        self._make_stores()
        left, right = self._left, self._right
        self._add_windowed(left.node, self._this_windowed, self._this_store)
        self._add_windowed(right.node, self._other_windowed, self._other_store)
        node = self._join_node()
        node.relaxed_null_key_join = self._kind.left_outer or self._kind.right_outer
        sources = left.sources | right.sources
        return self._builder.add_stream([left.node, right.node], node, self._joined.key_serde, None, sources)

    def _make_stores(self) -> None:
        joined, base = self._joined, self._joined.store_name
        this_base = self._this_generated if base is None else base + self._this_suffix
        other_base = self._other_generated if base is None else base + self._other_suffix
        self._this_store = window_store(this_base, self._windows, joined, joined.this_store, joined.value_serde)
        self._other_store = window_store(
            other_base, self._windows, joined, joined.other_store, joined.other_value_serde
        )
        self._waiting_store = None
        if self._kind.left_outer and not self._windows.eager:
            self._waiting_store = WaitingStore(self._this_generated, joined, full_outer=self._kind.right_outer)
        if base is None:
            self._note_generated_names()

    def _note_generated_names(self) -> None:
        for store in (self._this_store, self._other_store, self._waiting_store):
            if store is not None:
                changelog = f"{store.name}-changelog" if store.logging_enabled else None
                self._builder.topology.note_implicit_names(store=store.name, changelog_topic=changelog)

    def _add_windowed(self, parent: GraphNode, name: str, store: Any) -> None:
        self._builder.add_graph_node(parent, WindowedStreamNode(name, Step(name, JoinWindow(store))))

    def _join_node(self) -> StreamStreamJoinNode:
        windows, joiner, clocks = self._windows, self._joiner, JoinClocks()
        this = StreamStreamJoin(
            windows, joiner, True, self._kind.left_outer, clocks, self._other_store, self._waiting_store
        )
        other = StreamStreamJoin(
            windows, joiner, False, self._kind.right_outer, clocks, self._this_store, self._waiting_store
        )
        return StreamStreamJoinNode(
            self._merge_name,
            Step(self._this_name, this),
            Step(self._other_name, other),
            Step(self._merge_name, PassThrough()),
            Step(self._merge_name, SelfJoin(self._this_store, windows, joiner)),
            self._this_windowed,
            self._other_windowed,
        )


# With a table


def join_table(
    stream: StreamView,
    table: ktable.KTable,
    kind: JoinKind,
    joiner: Callable[..., Any],
    *,
    with_key: bool = False,
    key_serde: Serde[Any] | None = None,
    value_serde: Serde[Any] | None = None,
    other_value_serde: Serde[Any] | None = None,
    grace: Duration | None = None,
    name: str | None = None,
) -> KStream:
    """Join each record with the row of its key. ``other_value_serde`` is there for Kafka's sake and not used."""
    check_function(joiner, 3 if with_key else 2, operator=kind.method, argument="joiner")
    grace_ms = None if grace is None else to_ms(grace, "grace")
    if stream.repartition_required:
        base_name = stream.name if name is None else name
        stream = stream.repartition_for_join(base_name, key_serde, value_serde, named=name is not None)
    sources = stream.copartition_with(table)
    generated = name is None
    name = name_or_generate(name, stream.builder, names.LEFT_JOIN if kind.left_outer else names.JOIN)
    key_serde = key_serde or stream.key_serde
    buffer = None
    if grace_ms is not None:
        _check_versioned(table)
        buffer = stream_table_buffer(
            f"{name}-Buffer", key_serde, value_serde or stream.value_serde, grace_ms=grace_ms, topic=name
        )
        if generated:
            stream.builder.topology.note_implicit_names(store=buffer.name, changelog_topic=f"{buffer.name}-changelog")
    getters = table.value_getter_supplier()
    step = Step(name, StreamTableJoin(getters, joiner, with_key, kind.left_outer, buffer))
    node = StreamTableJoinNode(name, step, getters.store_names, grace_ms)
    node.relaxed_null_key_join = kind.left_outer
    return stream.builder.add_stream(stream.node, node, key_serde, None, sources)


def _check_versioned(table: ktable.KTable) -> None:
    if table.node.output_versioned is False:
        raise ArgumentError(
            "the table must be versioned to use a grace period in a stream-table join",
            hint="Give the table a versioned store: store=stores.versioned(name, history).",
            at=user_line(),
        )


# With a global table


def join_global_table(
    stream: StreamView,
    table: global_table.GlobalKTable,
    kind: JoinKind,
    key_selector: Callable[[Any, Any], Any],
    joiner: Callable[..., Any],
    *,
    with_key: bool = False,
    name: str | None = None,
) -> KStream:
    """Join each record with the row of the key that ``key_selector(key, value)`` returns."""
    check_function(key_selector, 2, operator=kind.method, argument="key_selector")
    check_function(joiner, 3 if with_key else 2, operator=kind.method, argument="joiner")
    # Kafka Streams calls the node of an inner join with a global table a left join, too.
    name = name_or_generate(name, stream.builder, names.LEFT_JOIN)
    getters = table.value_getter_supplier()
    step = Step(name, StreamGlobalTableJoin(getters, joiner, with_key, kind.left_outer, key_selector))
    node = StreamTableJoinNode(name, step, (), None, is_global=True)
    node.relaxed_null_key_join = kind.left_outer
    return stream.builder.add_stream(
        stream.node, node, stream.key_serde, None, stream.sources, repartition_required=stream.repartition_required
    )
