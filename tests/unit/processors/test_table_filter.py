"""Filters of tables."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.processors.table_filter import TableFilter
from tests.unit.processors.table_fakes import FakeContext, FakeStore, FakeTable, change, row, started, store_named


def is_even(_key: Any, value: int) -> bool:
    return value % 2 == 0


def test_a_row_that_does_not_pass_becomes_a_deletion() -> None:
    context = FakeContext()
    processor = started(TableFilter(FakeTable(), None, is_even, False), context)
    for value in (2, 3, None):
        processor.process(change("a", value))
    assert context.changes == [("a", 2, None, 0), ("a", None, None, 0), ("a", None, None, 0)]


def test_with_old_values_a_row_that_never_passed_needs_no_deletion() -> None:
    context = FakeContext()
    processor = started(TableFilter(FakeTable("parent"), None, is_even, False), context)
    processor.process(change("a", 3))
    processor.process(change("a", 4, 3))
    processor.process(change("a", 5, 4))
    assert context.changes == [("a", 4, None, 0), ("a", None, 4, 0)]


def test_versioned_semantics_send_everything() -> None:
    context = FakeContext()
    table = TableFilter(FakeTable("parent"), None, is_even, False)
    table.use_versioned_semantics = True
    started(table, context).process(change("a", 3, 5))
    assert context.changes == [("a", None, None, 0)]


def test_negate_keeps_the_others() -> None:
    context = FakeContext()
    started(TableFilter(FakeTable(), None, is_even, True), context).process(change("a", 3))
    assert context.changes == [("a", 3, None, 0)]


@pytest.mark.parametrize(("value", "expected"), [(4, row(4, 9)), (3, None)])
def test_a_table_that_is_not_kept_filters_the_parents_row_on_look_up(value: int, expected: Any) -> None:
    context = FakeContext(parent=FakeStore())
    context.stores["parent"].put("a", row(value, 9))
    view = TableFilter(FakeTable("parent"), None, is_even, False).view()
    getter = view.get()
    getter.init(context)  # type: ignore[arg-type]
    assert (view.store_names, getter.get("a"), getter.get("none")) == (("parent",), expected, None)


def test_a_kept_table_takes_old_values_from_its_own_store() -> None:
    context = FakeContext(s=FakeStore())
    table = TableFilter(FakeTable(), store_named("s"), is_even, False)
    assert table.enable_sending_old_values(False)
    processor = started(table, context)
    processor.process(change("a", 4, timestamp=1))
    processor.process(change("a", 6, timestamp=2))
    processor.process(change("a", 7, timestamp=3))
    assert context.changes == [("a", 4, None, 1), ("a", 6, 4, 2), ("a", None, 6, 3)]
    assert context.stores["s"].rows == {}
