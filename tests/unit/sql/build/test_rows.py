"""What happens to rows between reading and writing them."""

from __future__ import annotations

from typing import Any

import cloudpickle
import pytest

from headrace.records import Headers, RecordContext
from headrace.sql.build.rows import (
    Exploded,
    GroupKey,
    JoinedRows,
    KeyColumns,
    KeyPart,
    NewKey,
    RemainingColumns,
    SourceColumns,
    StoredColumns,
    WithBounds,
    header_values,
    with_plain_key,
)
from headrace.sql.schema import ALL_HEADERS, Column, Part
from headrace.sql.tree.types import BYTES
from headrace.windows import SessionWindow, TimeWindow, Windowed

CONTEXT = RecordContext(7, 3, 2, "in", Headers([("h", b"1"), ("h", b"2")]))
ONE_HEADER = Column("H", BYTES, Part.HEADERS, "h")
HEADERS = Column("ALL", ALL_HEADERS, Part.HEADERS)


def first(row: list[Any], _log: Any) -> Any:
    return row[0]


def second(row: list[Any], _log: Any) -> Any:
    return row[1]


def test_a_source_adds_headers_time_place_and_key_to_a_row() -> None:
    complete = SourceColumns((ONE_HEADER, HEADERS), KeyColumns(2))
    row = ["v"]
    assert complete(("a", 1), row, CONTEXT) == ["v", b"2", [("h", b"1"), ("h", b"2")], 7, 2, 3, "a", 1]
    assert row == ["v"]


def test_a_record_without_a_key_has_null_in_its_key_columns() -> None:
    assert SourceColumns((), KeyColumns(2))(None, ["v"], CONTEXT)[-2:] == [None, None]
    assert KeyColumns(1, is_windowed=True)(None) == [None, None, None]


def test_a_windowed_key_adds_the_bounds_of_its_window() -> None:
    key = Windowed(("a",), TimeWindow(10, 20))
    assert KeyColumns(1, is_windowed=True)(key) == ["a", 10, 20]
    assert WithBounds()(key, [1]) == [1, 10, 20]


def test_a_table_stores_where_a_row_came_from_and_adds_the_rest_when_it_is_read() -> None:
    stored = StoredColumns((ONE_HEADER,))(("a",), ["v"], CONTEXT)
    assert stored == ["v", b"2", 2, 3]
    later = RecordContext(99, -1, -1, None)
    assert RemainingColumns(KeyColumns(1))(("a",), stored, later) == ["v", b"2", 99, 2, 3, "a"]


def test_a_header_that_is_not_there_is_null() -> None:
    assert header_values(Headers(), [ONE_HEADER, HEADERS]) == [None, []]


def test_a_new_key_takes_parts_from_the_old_key_or_the_row_and_keeps_the_window() -> None:
    parts = (
        KeyPart(first, None, of_key=True, is_appended=False),
        KeyPart(second, None, of_key=False, is_appended=True),
    )
    rekey = NewKey(parts)
    key = Windowed(("old",), SessionWindow(1, 2))
    assert rekey(key, [5, 6]) == (Windowed(("old", 6), SessionWindow(1, 2)), [5, 6, 6])
    assert rekey(("old",), None) == (("old", None), None)
    assert rekey(None, [5, 6]) == ((None, 6), [5, 6, 6])


def test_a_row_with_a_null_in_its_group_key_is_in_no_group() -> None:
    group = GroupKey((first, second), None)
    assert group(None, ["a", 1]) == ("a", 1)
    assert group(None, ["a", None]) is None


@pytest.mark.parametrize(("is_turned", "joined"), [(False, [1, 2, None, None]), (True, [None, None, 1, 2])])
def test_joined_rows_stand_left_then_right_whichever_side_asks(is_turned: bool, joined: list[Any]) -> None:
    assert JoinedRows(2, 2, is_turned=is_turned)([1, 2], None) == joined


def test_a_key_of_neither_side_has_a_place_in_the_joined_row() -> None:
    assert JoinedRows(1, 1, added_count=1)([1], [2]) == [1, 2, None]


def test_table_functions_stand_side_by_side_and_the_shorter_one_is_filled_with_nulls() -> None:
    exploded = Exploded((lambda row, log: row[0], lambda row, log: row[1]), None)
    assert exploded(None, [[1, 2], ["a"]]) == [[[1, 2], ["a"], 1, "a"], [[1, 2], ["a"], 2, None]]
    assert exploded(None, [None, []]) == []


def test_a_key_without_a_window_stays_without_one() -> None:
    assert with_plain_key(("a",), ("b",)) == ("b",)


def test_all_of_it_can_be_sent_to_another_process() -> None:
    for function in (
        SourceColumns((ONE_HEADER,), KeyColumns(1)),
        NewKey((KeyPart(first, None, of_key=False, is_appended=True),)),
        JoinedRows(1, 1),
    ):
        assert cloudpickle.loads(cloudpickle.dumps(function)) == function
