"""Joins of a stream with a stream, with itself, and with tables."""

from __future__ import annotations

import pickle
from bisect import insort
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest

from headrace.errors import ArgumentError
from headrace.processors.join_window import JoinWindow
from headrace.processors.joiners import keyed_joiner
from headrace.processors.materialized import ValueGetterSupplier
from headrace.processors.self_join import SelfJoin
from headrace.processors.stream_stream_join import EMIT_INTERVAL, JoinClocks, StreamStreamJoin
from headrace.processors.stream_table_join import StreamGlobalTableJoin, StreamTableJoin
from headrace.records import NO_HEADERS, Headers, Record, RecordContext, ValueAndTimestamp
from headrace.state.contracts import StoreIterator
from headrace.state.kinds import WINDOW
from headrace.windows import JoinWindows


class WindowStore:
    """A window store that retains duplicates, as a list."""

    kind = WINDOW

    def __init__(self) -> None:
        self.entries: list[tuple[str, int, int, Any]] = []

    def put(self, key: str, value: Any, time: int) -> None:
        if value is not None:
            insort(self.entries, (key, time, len(self.entries), value))

    def fetch_range(self, key: str, time_from: int, time_to: int) -> StoreIterator[int, Any]:
        found = [(t, value) for k, t, _, value in self.entries if k == key and time_from <= t <= time_to]
        return StoreIterator(found)


class Waiting(NamedTuple):
    timestamp: int
    is_left: bool
    key: str


class WaitingStore:
    """Records that wait, as a dict of lists."""

    def __init__(self) -> None:
        self.entries: dict[Waiting, list[Any]] = {}

    def put(self, key: Any, value: Any) -> None:
        if value is None:
            self.entries.pop(Waiting(*key), None)
        else:
            self.entries.setdefault(Waiting(*key), []).append(value)

    def put_if_absent(self, key: Any, value: Any) -> None:
        self.put(key, value)

    def all(self) -> StoreIterator[Waiting, Any]:
        return StoreIterator([(key, value) for key in sorted(self.entries) for value in self.entries[key]])


class Context:
    """A context with stores, that keeps what is forwarded."""

    task_id = "0_0"
    current_system_time_ms = 0

    def __init__(self, stores: dict[str, Any], forward: Callable[[Any], None] | None = None) -> None:
        self.stores = stores
        self.forwarded: list[Record[Any, Any]] = []
        self.dropped: list[str] = []
        self.forward = forward or self.forwarded.append
        self.drop = self.dropped.append
        self.record_context: RecordContext | None = None

    def store(self, name: str) -> Any:
        return self.stores[name]

    def app_configs(self) -> dict[str, Any]:
        return {EMIT_INTERVAL: 0}


def plus(left: Any, right: Any) -> str:
    return f"{left}+{right}"


class Join:
    """Both sides of a join, wired up by hand."""

    def __init__(self, windows: JoinWindows, *, left: bool = False, right: bool = False) -> None:
        joiner, clocks = keyed_joiner(plus, with_key=False), JoinClocks()
        builders = {name: SimpleNamespace(name=name) for name in ("this", "other", "waiting")}
        waiting = builders["waiting"] if left else None
        stores: dict[str, Any] = {"this": WindowStore(), "other": WindowStore(), "waiting": WaitingStore()}
        self.waiting = stores["waiting"].entries
        self.context = Context(stores)
        self.sides: dict[str, Any] = {}
        for side, own, opposite, outer in (("l", "this", "other", left), ("r", "other", "this", right)):
            supplier = StreamStreamJoin(windows, joiner, side == "l", outer, clocks, builders[opposite], waiting)
            join = supplier()
            join.init(self.context)  # type: ignore[arg-type]
            windowed = JoinWindow(builders[own])()
            windowed.init(Context(stores, join.process))  # type: ignore[arg-type]
            self.sides[side] = windowed

    def pipe(self, side: str, key: Any, value: Any, time: int, headers: Headers = NO_HEADERS) -> list[Any]:
        """``(value, time)`` of what comes out for one record."""
        self.context.forwarded.clear()
        self.sides[side].process(Record(key, value, time, headers))
        return [(record.value, record.timestamp) for record in self.context.forwarded]


def test_an_inner_join_pairs_records_within_the_window_at_the_later_time() -> None:
    join = Join(JoinWindows(10))
    assert join.pipe("l", "A", "l5", 5) == []
    assert join.pipe("r", "A", "r15", 15) == [("l5+r15", 15)]
    assert join.pipe("r", "A", "r16", 16) == []
    assert join.pipe("l", "A", "l6", 6) == [("l6+r15", 15), ("l6+r16", 16)]


def test_before_and_after_are_seen_from_the_left() -> None:
    join = Join(JoinWindows(before=0, after=5))
    join.pipe("l", "A", "l10", 10)
    assert join.pipe("r", "A", "r15", 15) == [("l10+r15", 15)]
    assert join.pipe("r", "A", "r9", 9) == []


def test_records_without_key_or_value_are_dropped() -> None:
    join = Join(JoinWindows(10))
    join.pipe("l", None, "x", 1)
    join.pipe("l", "A", None, 1)
    assert join.context.dropped == ["null key or value"] * 2
    assert join.pipe("r", "A", "r", 1) == []


def test_a_left_join_emits_alone_when_the_grace_period_has_passed() -> None:
    join = Join(JoinWindows(10, grace=5), left=True)
    assert join.pipe("l", "A", "l0", 0) == []
    assert join.pipe("r", "B", "r15", 15) == []
    assert join.pipe("r", "B", "r16", 16) == [("l0+None", 0)]
    assert not join.waiting


def test_a_partner_ends_the_waiting() -> None:
    join = Join(JoinWindows(10), left=True, right=True)
    join.pipe("l", "A", "l0", 0)
    assert join.pipe("r", "A", "r5", 5) == [("l0+r5", 5)]
    assert join.pipe("r", "B", "r100", 100) == []
    assert list(join.waiting) == [Waiting(100, False, "B")]


def test_waiting_records_leave_in_the_order_of_time_before_the_pairs_of_the_record() -> None:
    join = Join(JoinWindows(10), left=True, right=True)
    join.pipe("r", "B", "r3", 3)
    join.pipe("l", "A", "l1", 1)
    join.pipe("l", "C", "l2", 2)
    join.pipe("l", "D", "l40", 9)
    assert join.pipe("r", "D", "r20", 19) == [("l1+None", 1), ("l2+None", 2), ("None+r3", 3), ("l40+r20", 19)]


def test_a_record_whose_window_lies_behind_both_streams_goes_alone_at_once() -> None:
    join = Join(JoinWindows(10, grace=100), left=True)
    join.pipe("r", "B", "r50", 50)
    assert join.pipe("l", "A", "l39", 39) == [("l39+None", 39)]
    assert join.pipe("l", "A", "l40", 40) == []


def test_only_a_record_at_stream_time_lets_others_go() -> None:
    join = Join(JoinWindows(10), left=True)
    join.pipe("l", "A", "l0", 0)
    join.pipe("r", None, "moves time without a key", 50)
    assert join.pipe("r", "B", "late", 20) == []
    assert join.pipe("r", "B", "now", 50) == [("l0+None", 0)]


def test_on_an_outer_side_a_record_without_key_goes_alone_at_once() -> None:
    join = Join(JoinWindows(10), left=True)
    assert join.pipe("l", None, "x", 1) == [("x+None", 1)]
    assert join.pipe("r", None, "y", 1) == []
    assert join.context.dropped == ["null key or value"]


def test_emitted_records_have_the_headers_of_the_one_that_made_time_pass() -> None:
    join = Join(JoinWindows(10), left=True)
    join.pipe("l", "A", "l0", 0, Headers([("h", b"old")]))
    join.pipe("l", "B", "l50", 50, Headers([("h", b"new")]))
    assert join.context.forwarded[0].headers == [("h", b"new")]


def test_a_restarted_task_looks_at_what_waits() -> None:
    join = Join(JoinWindows(10), left=True)
    join.waiting[Waiting(0, True, "A")] = ["l0"]
    assert join.pipe("r", "B", "r50", 50) == [("l0+None", 0)]


def test_clocks_of_running_tasks_are_not_pickled() -> None:
    clocks = JoinClocks()
    clocks.of("0_0").stream_time = 5
    assert pickle.loads(pickle.dumps(clocks)) == JoinClocks()


def self_join(windows: JoinWindows) -> tuple[Any, Context]:
    store = WindowStore()
    context = Context({"this": store})
    join = SelfJoin(SimpleNamespace(name="this"), windows, keyed_joiner(plus, with_key=False))()
    join.init(context)  # type: ignore[arg-type]
    windowed = JoinWindow(SimpleNamespace(name="this"))()
    windowed.init(Context({"this": store}, join.process))  # type: ignore[arg-type]
    return windowed, context


def test_a_self_join_gives_the_pairs_of_both_sides_and_of_the_record_itself() -> None:
    windowed, context = self_join(JoinWindows(10))
    windowed.process(Record("A", "a", 0))
    windowed.process(Record("A", "b", 5))
    assert [record.value for record in context.forwarded] == ["a+a", "b+a", "a+b", "b+b"]


def test_the_pair_of_a_late_record_with_itself_comes_before_later_pairs() -> None:
    windowed, context = self_join(JoinWindows(10, grace=100))
    windowed.process(Record("A", "a", 5))
    context.forwarded.clear()
    windowed.process(Record("A", "b", 0))
    assert [record.value for record in context.forwarded] == ["b+a", "b+b", "a+b"]


def test_an_expired_record_does_not_meet_itself() -> None:
    windowed, context = self_join(JoinWindows(10))
    windowed.process(Record("A", "a", 100))
    windowed.process(Record("A", "b", 81))
    assert [record.value for record in context.forwarded] == ["a+a"]
    windowed.process(Record("A", "c", 82))
    assert [record.value for record in context.forwarded][-1] == "c+c"


@dataclass
class Table:
    """Rows by key, with the times they are valid from; its own value getter."""

    rows: dict[str, list[tuple[int, Any]]]
    is_versioned: bool = False

    def get(self, key: str) -> ValueAndTimestamp | None:
        return self.get_as_of(key, 2**62)

    def get_as_of(self, key: str, timestamp: int) -> ValueAndTimestamp | None:
        found = [ValueAndTimestamp(value, start) for start, value in self.rows.get(key, []) if start <= timestamp]
        return found[-1] if found else None

    def init(self, context: Any, *, as_flushed: bool = False) -> None: ...
    def close(self) -> None: ...


def getters(table: Table) -> ValueGetterSupplier:
    return ValueGetterSupplier(("T",), lambda: table)


def joined(supplier: Any, *records: tuple[Any, Any, int], context: Context | None = None) -> tuple[list[Any], Context]:
    context = context or Context({})
    processor = supplier()
    processor.init(context)
    for key, value, time in records:
        context.record_context = RecordContext(time, 0, 0, "in")
        processor.process(Record(key, value, time))
    return [(record.key, record.value, record.timestamp) for record in context.forwarded], context


TABLE = Table({"A": [(0, "old"), (10, "new")]})


def test_a_stream_table_join_takes_the_latest_row() -> None:
    out, _ = joined(StreamTableJoin(getters(TABLE), plus, False, False), ("A", "x", 5), ("B", "y", 6))
    assert out == [("A", "x+new", 5)]


def test_a_versioned_table_is_asked_for_the_row_of_the_records_time() -> None:
    table = Table(TABLE.rows, is_versioned=True)
    out, _ = joined(StreamTableJoin(getters(table), plus, False, False), ("A", "x", 5))
    assert out == [("A", "x+old", 5)]


def test_a_left_join_keeps_records_without_row_or_key_but_not_without_value() -> None:
    supplier = StreamTableJoin(getters(TABLE), plus, False, True)
    out, context = joined(supplier, ("B", "x", 1), (None, "y", 2), ("A", None, 3))
    assert out == [("B", "x+None", 1), (None, "y+None", 2)]
    assert context.dropped == ["null join key or value"]


def test_an_inner_join_drops_records_without_key() -> None:
    out, context = joined(StreamTableJoin(getters(TABLE), plus, False, False), (None, "x", 1))
    assert (out, len(context.dropped)) == ([], 1)


def test_the_joiner_may_want_the_key() -> None:
    def with_key(key: Any, left: Any, right: Any) -> str:
        return f"{key}:{left}+{right}"

    out, _ = joined(StreamTableJoin(getters(TABLE), with_key, True, False), ("A", "x", 5))
    assert out == [("A", "A:x+new", 5)]


def test_a_global_table_is_joined_by_the_selected_key() -> None:
    calls: list[Any] = []

    def select(key: Any, value: Any) -> Any:
        calls.append(value)
        return None if value == "none" else value

    inner = StreamGlobalTableJoin(getters(TABLE), plus, False, False, select)
    out, context = joined(inner, ("k", "A", 1), (None, "A", 2), ("k", "none", 3))
    assert out == [("k", "A+new", 1), (None, "A+new", 2)]
    assert len(context.dropped) == 1
    assert calls == ["A", "A", "A", "A", "none"]
    left = StreamGlobalTableJoin(getters(TABLE), plus, False, True, select)
    assert joined(left, ("k", "none", 3))[0] == [("k", "none+None", 3)]


class Buffer:
    """Keeps records until the grace period is over."""

    def __init__(self, grace_ms: int) -> None:
        self.grace_ms = grace_ms
        self.held: list[Any] = []
        self.stream_time = 0

    def put(self, stream_time: int, record: Record[Any, Any], context: RecordContext) -> bool:
        self.stream_time = stream_time
        if record.timestamp < stream_time - self.grace_ms:
            return False
        self.held.append(SimpleNamespace(key=record.key, value=record.value, record_context=context))
        return True

    def evict_while(self, predicate: Callable[[], bool], callback: Callable[[Any], None]) -> None:
        self.held.sort(key=lambda eviction: eviction.record_context.timestamp)
        while self.held and predicate() and self._due(self.held[0]):
            callback(self.held.pop(0))

    def _due(self, eviction: Any) -> bool:
        return bool(eviction.record_context.timestamp <= self.stream_time - self.grace_ms)


def test_with_grace_records_wait_and_leave_in_the_order_of_time() -> None:
    table = Table(TABLE.rows, is_versioned=True)
    supplier = StreamTableJoin(getters(table), plus, False, False, SimpleNamespace(name="B"))
    context = Context({"B": Buffer(10)})
    out, _ = joined(supplier, ("A", "x", 12), ("A", "y", 8), ("A", "z", 22), ("A", "late", 5), context=context)
    assert out == [("A", "y+old", 8), ("A", "x+new", 12), ("A", "late+old", 5)]


def test_grace_needs_a_versioned_table() -> None:
    supplier = StreamTableJoin(getters(TABLE), plus, False, False, SimpleNamespace(name="B"))
    with pytest.raises(ArgumentError, match="must be versioned"):
        supplier().init(Context({"B": Buffer(10)}))  # type: ignore[arg-type]
