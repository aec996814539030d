from __future__ import annotations

from typing import Any

from headrace.processors.aggregation import ReducingAggregator, ReducingMerger, no_initial_value
from headrace.processors.session_aggregate import SessionAggregate, SessionValueGetter
from headrace.records import Change, Record, ValueAndTimestamp
from headrace.state.kinds import StoreKind
from headrace.windows import EmitStrategy, SessionWindow, SessionWindows, Windowed
from tests.unit.processors.aggregation_fakes import FakeContext, FakeSessionStore, NamedBuilder, concat

UPDATE, CLOSE = EmitStrategy.ON_WINDOW_UPDATE, EmitStrategy.ON_WINDOW_CLOSE


def concatenating(windows: SessionWindows, emit: EmitStrategy = UPDATE) -> SessionAggregate:
    return SessionAggregate(NamedBuilder(), windows, emit, lambda: "", concat, lambda k, a, b: a + b)


def started(supplier: SessionAggregate, *, cached: bool = False, **kwargs: Any) -> tuple[Any, FakeContext]:
    context = FakeContext(FakeSessionStore(cached=cached), **kwargs)
    processor = supplier()
    processor.init(context)  # type: ignore[arg-type]
    return processor, context


def feed(processor: Any, *records: tuple[Any, int]) -> None:
    for value, timestamp in records:
        processor.process(Record("A", value, timestamp, [("h", b"x")]))


def test_a_growing_session_is_removed_and_put_anew() -> None:
    processor, context = started(concatenating(SessionWindows(10)))
    feed(processor, ("a", 0), ("b", 10))
    assert not context.forwarded[0].headers
    assert context.results() == [("[A@0/0]", "a", 0), ("[A@0/0]", None, 0), ("[A@0/10]", "ab", 10)]


def test_a_record_between_two_sessions_merges_them() -> None:
    processor, context = started(concatenating(SessionWindows(10, grace=100)))
    feed(processor, ("a", 0), ("b", 20))
    context.results()
    feed(processor, ("c", 10))
    assert context.results() == [("[A@0/0]", None, 0), ("[A@20/20]", None, 20), ("[A@0/20]", "abc", 20)]
    assert context.held.rows == {Windowed("A", SessionWindow(0, 20)): "abc"}


def test_a_second_record_of_one_instant_overwrites_without_removing() -> None:
    supplier = concatenating(SessionWindows(10))
    supplier.enable_sending_old_values(True)
    processor, context = started(supplier)
    feed(processor, ("a", 5), ("b", 5), ("c", 6))
    changes = [record.value for record in context.forwarded]
    assert changes == [Change("a", None), Change("ab", None), Change(None, "ab"), Change("abc", None)]


def test_drops_records_for_closed_sessions_and_without_key() -> None:
    processor, context = started(concatenating(SessionWindows(10, grace=5)))
    feed(processor, ("a", 100), ("b", 84), ("c", 85))
    processor.process(Record(None, "d", 100))
    assert context.dropped == ["expired window", "null key"]
    assert context.results() == [("[A@100/100]", "a", 100), ("[A@85/85]", "c", 85)]


def test_takes_records_without_a_value() -> None:
    processor, context = started(concatenating(SessionWindows(10)))
    feed(processor, (None, 1))
    assert context.results() == [("[A@1/1]", "None", 1)]


def test_a_reduction_merges_sessions_with_its_reducer() -> None:
    add = lambda a, b: a + b  # noqa: E731
    supplier = SessionAggregate(
        NamedBuilder(), SessionWindows(10), UPDATE, no_initial_value, ReducingAggregator(add), ReducingMerger(add)
    )
    processor, context = started(supplier)
    feed(processor, (1, 0), (2, 5), (4, 9))
    assert context.results()[-1] == ("[A@0/9]", 7, 9)


def test_the_cache_forwards_at_the_end_of_the_session() -> None:
    processor, context = started(concatenating(SessionWindows(10)), cached=True)
    feed(processor, ("a", 5))
    assert not context.forwarded
    context.held.listener(Record(Windowed("A", SessionWindow(5, 8)), Change("a", None), 99))
    assert context.results() == [("[A@5/8]", "a", 8)]


def test_emits_final_results_when_sessions_close() -> None:
    processor, context = started(concatenating(SessionWindows(10, grace=5), CLOSE))
    feed(processor, ("a", 0), ("b", 10), ("c", 25))
    assert context.results() == []
    feed(processor, ("d", 26))
    assert context.forwarded[0].headers == [("h", b"x")]
    assert context.results() == [("[A@0/10]", "ab", 10)]
    feed(processor, ("e", 60))
    assert context.results() == [("[A@25/26]", "cd", 26)]
    assert context.metadata == {"S": 45}


def test_a_cached_store_with_room_for_headers_reports_none() -> None:
    _, context = started(concatenating(SessionWindows(10)), cached=True)
    session = Windowed("A", SessionWindow(5, 8))
    flushed = Record(session, Change("ab", None), 99, [("h", b"x")])
    context.held.listener(flushed)
    assert context.forwarded == [Record(session, Change("ab", None), 8, [("h", b"x")])]
    context.forwarded.clear()
    context.held.kind = StoreKind("session", headers=True)
    context.held.listener(flushed)
    assert context.forwarded == [Record(session, Change("ab", None), 8)]


def test_rows_are_looked_up_by_key_and_session() -> None:
    processor, context = started(concatenating(SessionWindows(10)))
    feed(processor, ("a", 5), ("b", 8))
    supplier = concatenating(SessionWindows(10)).view()
    assert isinstance(supplier.get(), SessionValueGetter) and supplier.store_names == ("S",)
    getter = supplier.get()
    getter.init(context)  # type: ignore[arg-type]
    assert getter.get(Windowed("A", SessionWindow(5, 8))) == ValueAndTimestamp("ab", 8)
    assert getter.get(Windowed("A", SessionWindow(5, 5))) is None
