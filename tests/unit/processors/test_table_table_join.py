"""Joins of two tables by key."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.processors.table_table_join import ReversedJoiner, TableJoinMerge, TableJoinSide
from tests.unit.processors.table_fakes import FakeContext, FakeStore, FakeTable, change, row, started, store_named


def pair(left: Any, right: Any) -> str:
    return f"{left}{right}"


def side(*, requires_this: bool = True, requires_other: bool = True) -> TableJoinSide:
    return TableJoinSide(FakeTable("left"), FakeTable("right"), pair, requires_this, requires_other)


def with_right(value: str | None) -> FakeContext:
    context = FakeContext(left=FakeStore(), right=FakeStore())
    if value is not None:
        context.stores["right"].put("k", row(value, 7))
    return context


INNER = {"requires_this": True, "requires_other": True}
LEFT = {"requires_this": True, "requires_other": False}
RIGHT = {"requires_this": False, "requires_other": True}
OUTER = {"requires_this": False, "requires_other": False}
NOTHING: list[Any] = []


@pytest.mark.parametrize(
    ("kind", "new", "old", "right", "expected"),
    [
        (INNER, "a", None, None, NOTHING),
        (INNER, "a", None, "x", [("k", "ax", None, 7)]),
        (INNER, None, None, "x", [("k", None, None, 7)]),
        (LEFT, "a", None, None, [("k", "aNone", None, 5)]),
        (LEFT, None, "a", None, [("k", None, "aNone", 5)]),
        (LEFT, None, None, None, NOTHING),
        (LEFT, None, None, "x", [("k", None, None, 7)]),
        (RIGHT, None, "a", "x", [("k", "Nonex", "ax", 7)]),
        (RIGHT, "a", None, None, NOTHING),
        (OUTER, None, "a", "x", [("k", "Nonex", "ax", 7)]),
        (OUTER, None, "a", None, [("k", None, "aNone", 5)]),
        (OUTER, None, None, None, NOTHING),
    ],
)
def test_joins_a_change_with_the_other_sides_row(
    kind: dict[str, bool], new: Any, old: Any, right: str | None, expected: Any
) -> None:
    context = with_right(right)
    supplier = side(**kind)
    supplier.enable_sending_old_values(True)
    started(supplier, context).process(change("k", new, old, 5))
    assert context.changes == expected


def test_the_later_timestamp_counts() -> None:
    context = with_right("x")
    started(side(), context).process(change("k", "a", timestamp=9))
    assert context.changes == [("k", "ax", None, 9)]


def test_drops_rows_without_a_key_and_late_rows_of_versioned_tables() -> None:
    context = with_right("x")
    supplier = side()
    supplier.use_versioned_semantics = True
    processor = started(supplier, context)
    processor.process(change(None, "a"))
    processor.process(change("k", "a", latest=False))
    assert context.forwarded == []
    assert len(context.dropped) == 2


def test_the_right_side_hands_the_left_value_first_to_the_joiner() -> None:
    assert ReversedJoiner(pair)("right", "left") == "leftright"


@pytest.mark.parametrize(
    ("kind", "left", "right", "expected"),
    [
        (INNER, "a", "x", row("ax", 7)),
        (INNER, "a", None, None),
        (LEFT, "a", None, row("aNone", 2)),
        (LEFT, None, "x", None),
        (OUTER, None, "x", row("Nonex", 7)),
        (OUTER, None, None, None),
    ],
)
def test_a_join_that_is_not_kept_is_looked_up_in_both_tables(
    kind: dict[str, bool], left: str | None, right: str | None, expected: Any
) -> None:
    context = with_right(right)
    if left is not None:
        context.stores["left"].put("k", row(left, 2))
    view = TableJoinMerge(side(**kind), side(**kind), None).view()
    getter = view.get()
    getter.init(context)  # type: ignore[arg-type]
    assert (view.store_names, getter.get("k")) == (("left", "right"), expected)


def test_the_merge_hides_old_values_nobody_asked_for() -> None:
    context = FakeContext()
    started(TableJoinMerge(side(), side(), None), context).process(change("k", "ax", "bx"))
    assert context.changes == [("k", "ax", None, 0)]


def test_the_merge_keeps_the_result_in_its_store() -> None:
    context = FakeContext(s=FakeStore())
    merge = TableJoinMerge(side(), side(), store_named("s"))
    started(merge, context).process(change("k", "ax", timestamp=3))
    assert context.stores["s"].rows == {"k": row("ax", 3)}
    assert merge.view().store_names == ("s",)
