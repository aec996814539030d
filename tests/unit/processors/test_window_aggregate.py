from __future__ import annotations

from typing import Any

from headrace.processors.aggregation import (
    ReducingAggregator,
    WindowValueGetter,
    count_aggregator,
    count_initializer,
    no_initial_value,
)
from headrace.processors.window_aggregate import WindowAggregate
from headrace.records import Change, Record, ValueAndTimestamp
from headrace.windows import EmitStrategy, TimeWindow, TimeWindows, UnlimitedWindows, Windowed
from tests.unit.processors.aggregation_fakes import FakeContext, FakeWindowStore, NamedBuilder

UPDATE, CLOSE = EmitStrategy.ON_WINDOW_UPDATE, EmitStrategy.ON_WINDOW_CLOSE


def counting(windows: TimeWindows | UnlimitedWindows, emit: EmitStrategy = UPDATE) -> WindowAggregate:
    return WindowAggregate(NamedBuilder(), windows, emit, count_initializer, count_aggregator)


def started(supplier: Any, *, cached: bool = False, **kwargs: Any) -> tuple[Any, FakeContext]:
    context = FakeContext(FakeWindowStore(supplier.windows.size_ms, cached=cached), **kwargs)
    processor = supplier()
    processor.init(context)
    return processor, context


def feed(processor: Any, *timestamps: int, key: str = "A", value: Any = "v") -> None:
    for timestamp in timestamps:
        processor.process(Record(key, value, timestamp))


def test_a_record_falls_into_every_window_that_holds_it() -> None:
    processor, context = started(counting(TimeWindows(10, advance=5)))
    feed(processor, 12)
    assert context.results() == [("[A@5/15]", 1, 12), ("[A@10/20]", 1, 12)]


def test_drops_once_for_each_window_that_is_closed() -> None:
    processor, context = started(counting(TimeWindows(10, advance=5, grace=3)))
    feed(processor, 22)
    context.results()
    feed(processor, 12)
    assert context.dropped == ["expired window"]
    assert context.results() == [("[A@10/20]", 1, 12)]
    feed(processor, 7)
    assert context.dropped == ["expired window"] * 3


def test_a_window_takes_records_until_its_end_and_grace_have_passed() -> None:
    processor, context = started(counting(TimeWindows(10, grace=5)))
    feed(processor, 14, 9, 15, 9)
    assert context.results() == [("[A@10/20]", 1, 14), ("[A@0/10]", 1, 9), ("[A@10/20]", 2, 15)]
    assert context.dropped == ["expired window"]


def test_counts_records_without_a_value_but_not_without_a_key() -> None:
    processor, context = started(counting(TimeWindows(10)))
    feed(processor, 1, value=None)
    processor.process(Record(None, "v", 1))
    assert context.results() == [("[A@0/10]", 1, 1)]
    assert context.dropped == ["null key"]


def test_the_row_has_the_time_of_its_latest_record() -> None:
    processor, context = started(counting(TimeWindows(10)))
    feed(processor, 7, 3)
    assert context.results()[-1] == ("[A@0/10]", 2, 7)
    assert context.held.rows == {("A", 0): ValueAndTimestamp(2, 7)}


def test_one_unlimited_window_takes_all_from_its_start_on() -> None:
    processor, context = started(counting(UnlimitedWindows(5)))
    feed(processor, 4, 5, 10**12)
    assert context.results() == [(f"[A@5/{2**63 - 1}]", 1, 5), (f"[A@5/{2**63 - 1}]", 2, 10**12)]
    assert not context.dropped


def test_a_reduction_starts_with_the_first_value() -> None:
    reducer = ReducingAggregator(lambda a, b: a + b)
    supplier = WindowAggregate(NamedBuilder(), TimeWindows(10), UPDATE, no_initial_value, reducer)
    supplier.enable_sending_old_values(True)
    processor, context = started(supplier)
    feed(processor, 1, 2, value=4)
    assert [record.value for record in context.forwarded] == [Change(4, None), Change(8, 4)]


def test_leaves_forwarding_to_the_cache() -> None:
    processor, context = started(counting(TimeWindows(10)), cached=True)
    feed(processor, 1)
    assert not context.forwarded
    key = Windowed("A", TimeWindow(0, 10))
    context.held.listener(Record(key, Change(ValueAndTimestamp(1, 1), None), 1))
    assert context.results() == [("[A@0/10]", 1, 1)]


def test_emits_final_results_once_when_windows_close() -> None:
    processor, context = started(counting(TimeWindows(10, grace=5), CLOSE))
    feed(processor, 1, 8, 14)
    assert not context.forwarded
    processor.process(Record("B", "v", 15, [("h", b"x")]))
    assert [record.headers for record in context.forwarded] == [[("h", b"x")]]
    assert context.results() == [("[A@0/10]", 2, 8)]
    feed(processor, 16, 24)
    assert not context.forwarded
    feed(processor, 40)
    assert context.results() == [("[A@10/20]", 2, 16), ("[B@10/20]", 1, 15), ("[A@20/30]", 1, 24)]
    assert context.metadata == {"S": 35}


def test_emits_nothing_again_after_a_restart() -> None:
    processor, context = started(counting(TimeWindows(10), CLOSE), metadata={"S": 20})
    context.held.rows[("A", 10)] = ValueAndTimestamp(1, 11)
    context.held.rows[("A", 20)] = ValueAndTimestamp(1, 21)
    feed(processor, 30)
    assert context.results() == [("[A@20/30]", 1, 21)]


def test_looks_for_closed_windows_once_an_interval() -> None:
    processor, context = started(counting(TimeWindows(10), CLOSE), emit_interval_ms=1000, current_system_time_ms=5000)
    feed(processor, 1, 11)
    assert not context.forwarded
    context.current_system_time_ms = 6000
    feed(processor, 12)
    assert context.results() == [("[A@0/10]", 1, 1)]


def test_rows_are_looked_up_by_key_and_window() -> None:
    processor, context = started(counting(TimeWindows(10)))
    feed(processor, 11)
    supplier = counting(TimeWindows(10)).view()
    assert isinstance(supplier.get(), WindowValueGetter) and supplier.store_names == ("S",)
    getter = supplier.get()
    getter.init(context)  # type: ignore[arg-type]
    assert getter.get(Windowed("A", TimeWindow(10, 20))) == ValueAndTimestamp(1, 11)
    assert getter.get(Windowed("A", TimeWindow(20, 30))) is None
    assert not getter.is_versioned
