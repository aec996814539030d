"""Grouped tables: from rows to groups, and their aggregates."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.errors import StreamsError
from headrace.processors.aggregation import ReducingAggregator, no_initial_value
from headrace.processors.table_aggregate import TableAggregate
from headrace.processors.table_group_by import TableGroupBy
from tests.unit.processors.table_fakes import FakeContext, FakeStore, change, row, started, store_named


def by_first(_key: Any, value: str) -> tuple[str | None, str | None] | None:
    """The first letter is the group, the rest the value; '-' stands for none, '' for no pair at all."""
    if not value:
        return None
    return None if value[0] == "-" else value[0], value[1:] or None


@pytest.mark.parametrize(
    ("new", "old", "expected"),
    [
        ("a1", None, [("a", "1", None)]),
        ("a2", "a1", [("a", "2", "1")]),
        ("b2", "a1", [("a", None, "1"), ("b", "2", None)]),
        (None, "a1", [("a", None, "1")]),
        ("-2", "a1", [("a", None, "1")]),
        ("a", "a1", [("a", None, "1")]),
        ("", "", []),
        (None, None, []),
    ],
)
def test_rows_leave_their_old_group_before_they_join_the_new_one(new: Any, old: Any, expected: Any) -> None:
    context = FakeContext()
    started(TableGroupBy(by_first), context).process(change("k", new, old))
    assert [sent[:3] for sent in context.changes] == expected


def test_late_rows_of_versioned_tables_take_no_part_in_groups() -> None:
    context = FakeContext()
    table = TableGroupBy(by_first)
    table.use_versioned_semantics = True
    started(table, context).process(change("k", "a1", latest=False))
    assert context.forwarded == []


@pytest.mark.parametrize(
    "supplier",
    [
        TableGroupBy(by_first),
        TableAggregate(store_named("s"), int, lambda k, v, a: a, lambda k, v, a: a),
    ],
)
def test_a_row_without_a_key_is_an_error(supplier: Any) -> None:
    processor = started(supplier, FakeContext(s=FakeStore()))
    with pytest.raises(StreamsError, match="key"):
        processor.process(change(None, "a1"))


def add(_key: Any, value: str, aggregate: str) -> str:
    return f"{aggregate}+{value}"


def subtract(_key: Any, value: str, aggregate: str) -> str | None:
    return None if value == "all" else f"{aggregate}-{value}"


def test_an_aggregate_subtracts_then_adds_and_keeps_the_latest_timestamp() -> None:
    context = FakeContext(s=FakeStore())
    table = TableAggregate(store_named("s"), lambda: "0", add, subtract)
    table.enable_sending_old_values(False)
    processor = started(table, context)
    processor.process(change("g", "1", timestamp=5))
    processor.process(change("g", "2", "1", timestamp=3))
    assert context.changes == [("g", "0+1", None, 5), ("g", "0+1-1+2", "0+1", 5)]


def test_an_aggregate_starts_anew_after_it_was_subtracted_to_nothing() -> None:
    context = FakeContext(s=FakeStore())
    processor = started(TableAggregate(store_named("s"), lambda: "0", add, subtract), context)
    processor.process(change("g", "1"))
    processor.process(change("g", "2", "all"))
    processor.process(change("g", None, "all"))
    assert [sent[1] for sent in context.changes] == ["0+1", "0+2", None]
    assert context.stores["s"].rows == {}


def test_nothing_is_subtracted_from_a_group_that_has_no_aggregate() -> None:
    context = FakeContext(s=FakeStore())
    started(TableAggregate(store_named("s"), lambda: "0", add, subtract), context).process(change("g", None, "1"))
    assert context.changes == [("g", None, None, 0)]


def test_a_reduction_starts_with_the_first_value_at_its_own_time() -> None:
    context = FakeContext(s=FakeStore())
    adder, subtractor = ReducingAggregator(lambda a, b: a + b), ReducingAggregator(lambda a, b: a - b)
    processor = started(TableAggregate(store_named("s"), no_initial_value, adder, subtractor), context)
    processor.process(change("g", 5, timestamp=9))
    processor.process(change("g", 3, timestamp=2))
    processor.process(change("g", None, 5, timestamp=4))
    assert [(sent[1], sent[3]) for sent in context.changes] == [(5, 9), (8, 9), (3, 9)]
    assert context.stores["s"].rows == {"g": row(3, 9)}
