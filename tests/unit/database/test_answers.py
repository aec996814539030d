"""Answers: rows as Python values, as Arrow, as HTML; rows that come end with whoever wants no more."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime, time, timezone
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from headrace.database.answers import Answer, Row
from headrace.database.values import python_value
from headrace.errors import UnsupportedError
from headrace.sql.engine.answers import Done, Table
from headrace.sql.schema import Column
from headrace.sql.text.parser import parse
from headrace.sql.tree import types as t

POINT = t.Struct((t.Field("X", t.INTEGER), t.Field("D", t.DATE)))
EVERY: dict[str, tuple[t.SqlType, Any, Any, Any]] = {
    "B": (t.BOOLEAN, True, True, pa.bool_()),
    "I": (t.INTEGER, 1, 1, pa.int32()),
    "L": (t.BIGINT, 2**40, 2**40, pa.int64()),
    "F": (t.DOUBLE, 1.5, 1.5, pa.float64()),
    "S": (t.STRING, "é", "é", pa.string()),
    "Y": (t.BYTES, b"\0", b"\0", pa.binary()),
    "D": (t.DATE, 1, date(1970, 1, 2), pa.date32()),
    "T": (t.TIME, 61_001, time(0, 1, 1, 1000), pa.time32("ms")),
    "W": (t.TIMESTAMP, 1, datetime(1970, 1, 1, 0, 0, 0, 1000, timezone.utc), pa.timestamp("ms", "UTC")),
    "N": (t.Decimal(4, 2), Decimal("1.25"), Decimal("1.25"), pa.decimal128(4, 2)),
    "V": (t.Decimal(50, 2), Decimal("1.25"), Decimal("1.25"), pa.decimal256(50, 2)),
    "A": (t.Array(t.DATE), [0, None], [date(1970, 1, 1), None], pa.list_(pa.date32())),
    "P": (POINT, (1, 0), {"X": 1, "D": date(1970, 1, 1)}, pa.struct([("X", pa.int32()), ("D", pa.date32())])),
}


@pytest.mark.parametrize("name", EVERY)
def test_a_value_is_pythons_and_arrows(name: str) -> None:
    type_, value, expected, arrow = EVERY[name]
    table = Answer([Column(name, type_)], [Row([value]), Row([None])]).to_arrow()
    assert python_value(value, type_) == expected
    assert table.schema.field(name).type == arrow
    assert table.column(name).to_pylist() == [expected, None]


def test_a_decimal_that_arrow_does_not_have_is_refused() -> None:
    with pytest.raises(UnsupportedError, match=r"Arrow has no type for DECIMAL\(77, 20\)"):
        Answer([Column("d", t.Decimal(77, 20))], []).to_arrow()


def test_a_map_is_a_dict_and_arrows_map() -> None:
    answer = Answer([Column("M", t.Map(t.STRING, t.INTEGER))], [Row([{"a": 1}])])
    assert answer.rows() == [({"a": 1},)]
    assert answer.to_arrow().column("M").to_pylist() == [[("a", 1)]]


def test_a_date_that_python_cannot_say_stays_a_number() -> None:
    assert python_value(10**9, t.DATE) == 10**9


def test_the_first_table_of_show_is_iterated() -> None:
    (parsed,) = parse("SHOW TABLES;")
    table = Table("Tables", ("Name", "Windowed", "Partitions"), (("A", False, 1), ("B", True, None)))
    answer = Answer.of(Done(parsed, "", tables=(table,)))
    assert answer.rows() == [("A", False, 1), ("B", True, None)]
    assert answer.to_arrow().column("Partitions").to_pylist() == [1, None]


def test_html_shows_the_first_rows_and_how_many_more() -> None:
    shown = Answer([Column("<N>", t.INTEGER)], [Row([number]) for number in range(102)])._repr_html_()
    assert "<th>&lt;N&gt;</th>" in shown
    assert shown.count("<tr>") == 101
    assert "and 2 more rows" in shown


class Coming:
    """Rows without an end."""

    is_closed = False

    def __iter__(self) -> Iterator[Row]:
        return (Row([number]) for number in range(10**9))

    def close(self) -> None:
        self.is_closed = True


def test_who_has_enough_ends_the_query() -> None:
    coming = Coming()
    rows: Any = iter(Answer([Column("N", t.INTEGER)], live=coming))
    assert [next(rows), next(rows)] == [(0,), (1,)]
    assert not coming.is_closed
    with Answer([Column("N", t.INTEGER)], live=coming):
        pass
    assert coming.is_closed
