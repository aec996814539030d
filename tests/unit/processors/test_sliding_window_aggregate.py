from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest

from headrace.errors import ArgumentError
from headrace.processors.sliding_window_aggregate import SlidingWindowAggregate
from headrace.records import Record
from headrace.windows import EmitStrategy, SlidingWindows
from tests.unit.processors.aggregation_fakes import FakeContext, FakeWindowStore, NamedBuilder


def collect(key: Any, value: Any, aggregate: Any) -> Any:
    return tuple(sorted((*aggregate, value)))


def started(windows: SlidingWindows, emit: EmitStrategy = EmitStrategy.ON_WINDOW_UPDATE) -> tuple[Any, FakeContext]:
    supplier = SlidingWindowAggregate(NamedBuilder(), windows, emit, tuple, collect)
    context = FakeContext(FakeWindowStore(windows.difference_ms))
    processor = supplier()
    processor.init(context)  # type: ignore[arg-type]
    return processor, context


def feed(processor: Any, *timestamps: int) -> None:
    for timestamp in timestamps:
        processor.process(Record("A", timestamp, timestamp))


def all_windows(timestamps: tuple[int, ...], difference: int) -> dict[int, tuple[int, ...]]:
    """From scratch: the windows that end at a record, or begin just after one and hold something."""
    starts = {max(0, t - difference) for t in timestamps} | {t + 1 for t in timestamps}
    held = {s: tuple(sorted(t for t in timestamps if s <= t <= s + difference)) for s in starts}
    return {start: records for start, records in held.items() if records}


@pytest.mark.parametrize("timestamps", [(20, 23, 28), (20, 25, 30), (3, 5, 12), (0, 4, 14), (20, 20, 31), (2, 2, 11)])
def test_the_windows_are_the_same_in_whatever_order_records_come(timestamps: tuple[int, ...]) -> None:
    for order in permutations(timestamps):
        processor, context = started(SlidingWindows(10, grace=1000))
        feed(processor, *order)
        found = {start: held.value for (_, start), held in context.held.rows.items()}
        assert found == all_windows(timestamps, 10), order


def test_forwards_existing_windows_then_those_it_creates() -> None:
    processor, context = started(SlidingWindows(10, grace=50))
    feed(processor, 20)
    assert context.results() == [("[A@10/20]", (20,), 20)]
    feed(processor, 25)
    assert context.results() == [("[A@21/31]", (25,), 25), ("[A@15/25]", (20, 25), 25)]
    feed(processor, 22)
    assert context.results() == [
        ("[A@21/31]", (22, 25), 25),
        ("[A@15/25]", (20, 22, 25), 25),
        ("[A@12/22]", (20, 22), 22),
        ("[A@23/33]", (25,), 25),
    ]


def test_drops_null_keys_null_values_and_late_records() -> None:
    processor, context = started(SlidingWindows(10, grace=5))
    processor.process(Record(None, "v", 1))
    processor.process(Record("A", None, 1))
    feed(processor, 100, 84)
    assert context.dropped == ["null key or value", "null key or value", "expired window"]


def test_a_late_record_still_reaches_the_windows_that_are_open() -> None:
    processor, context = started(SlidingWindows(10, grace=5))
    feed(processor, 100)
    context.results()
    # Its left window ended at 86, before 95; the right window of nothing is not made.
    feed(processor, 86)
    assert context.results() == []
    assert context.dropped == ["expired window"]


def test_a_difference_of_zero_fails_when_a_record_comes() -> None:
    processor, _ = started(SlidingWindows(0, grace=5))
    with pytest.raises(ArgumentError, match="end must be after its start"):
        feed(processor, 5)


def test_emits_final_results_when_windows_close() -> None:
    processor, context = started(SlidingWindows(10, grace=5), EmitStrategy.ON_WINDOW_CLOSE)
    feed(processor, 20, 25, 25)
    assert context.results() == []
    feed(processor, 26)
    assert context.results() == [("[A@10/20]", (20,), 20)]
    feed(processor, 40)
    assert [key for key, _, _ in context.results()] == ["[A@15/25]", "[A@16/26]", "[A@21/31]"]
    assert context.metadata == {"S": 35}


def test_a_record_before_the_first_full_window_closes_nothing() -> None:
    processor, context = started(SlidingWindows(10, grace=0), EmitStrategy.ON_WINDOW_CLOSE)
    feed(processor, 1, 9)
    assert context.results() == [] and context.metadata == {}
