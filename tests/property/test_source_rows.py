"""The short ways of rows through a task give what the long ones give."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from headrace.records import Headers, RecordContext
from headrace.sql import parse_expression
from headrace.sql.build.processors import FilteredRows, MappedRows, SourceRows
from headrace.sql.build.rows import KeyColumns, Passing, Projected, SourceColumns
from headrace.sql.compile import predicate, projection
from headrace.sql.functions import builtin
from headrace.sql.processing_log import Failure, PartLog
from headrace.sql.schema import Column, Part
from headrace.sql.tree.types import BYTES, INTEGER
from headrace.windows import TimeWindow, Windowed

COLUMNS = [Column("A", INTEGER), Column("B", INTEGER)]
VALUES = st.none() | st.integers(-(2**31), 2**31 - 1)
ROWS = st.none() | st.lists(VALUES, min_size=2, max_size=2)
HEADER = Column("H", BYTES, Part.HEADERS, "h")


@given(
    row=ROWS,
    parts=st.tuples(VALUES, VALUES),
    has_key=st.booleans(),
    is_windowed=st.booleans(),
    has_headers=st.booleans(),
    place=st.tuples(*[st.integers(0, 2**40)] * 3),
)
def test_a_source_completes_rows_as_its_columns_say(
    row: Any, parts: Any, has_key: bool, is_windowed: bool, has_headers: bool, place: tuple[int, int, int]
) -> None:
    time, partition, offset = place
    record = RecordContext(time, offset, partition, "in", Headers([("h", b"1")]))
    columns = SourceColumns((HEADER,) if has_headers else (), KeyColumns(2, is_windowed))
    key = None if not has_key else Windowed(parts, TimeWindow(10, 20)) if is_windowed else parts
    rows = SourceRows(columns)
    rows.init(SimpleNamespace(record_context=record, record_place=lambda: place))
    completed = rows.fusible.function
    assert completed is not None
    assert completed(key, row) == (None if row is None else columns(key, row, record))


@given(row=ROWS)
def test_rows_are_mapped_and_filtered_in_one_call_as_in_several(row: Any) -> None:
    failures: list[Failure] = []
    log = PartLog("part", failures.append)
    project = Projected(projection([parse_expression("A + B"), parse_expression("A / B")], COLUMNS, builtin()), log)
    passing = Passing(predicate(parse_expression("A / B > 1"), COLUMNS, builtin()), log)
    expected = None if row is None else (project(None, row), passing(None, row) is not None)
    told = list(failures)
    failures.clear()
    mapped, passes = MappedRows(project).fusible.function, FilteredRows(passing).fusible.function
    assert mapped is not None and passes is not None
    found = None if row is None else (mapped(None, row), passes(None, row))
    assert (found, failures) == (expected, told)
    if row is None:
        assert (mapped(None, None), passes(None, None)) == (None, False)
