from __future__ import annotations

import math
import pickle
import traceback
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pytest

from headrace.sql.compile import predicate, projection, table_function, value
from headrace.sql.errors import SqlError
from headrace.sql.functions import Registry, builtin, scalar, table
from headrace.sql.processing_log import Failure, ProcessingLog
from headrace.sql.schema import Column
from headrace.sql.text.parser import parse_columns, parse_expression
from headrace.sql.tree.expressions import Call
from headrace.sql.tree.types import INTEGER, SqlType

COLUMNS = [
    Column(column.name, column.type)
    for column in parse_columns(
        "A INT, B BIGINT, D DOUBLE, E DECIMAL(4, 2), S STRING, F BOOLEAN, Y BYTES, DT DATE, TM TIME, TS TIMESTAMP,"
        "L ARRAY<STRING>, N ARRAY<INT>, M MAP<STRING, INT>, T STRUCT<F0 INT, G STRING>"
    )
]
ROW: dict[str, Any] = {
    "A": 7, "B": 9, "D": 1.5, "E": Decimal("1.50"), "S": "text", "F": True, "Y": b"\x80", "DT": 18262, "TM": 0,
    "TS": 1577836800000, "L": ["a", None, "c"], "N": [1, 2, 3], "M": {"a": 5}, "T": (1, "g"),
}  # fmt: skip


@scalar("TRANSFORM", "(ARRAY<T>, (T) => R) -> ARRAY<R>")
def transform(items: Any, mapper: Any) -> Any:
    return None if items is None else [mapper(item) for item in items]


@scalar("FAIL", "(T) -> T")
def fail(_: Any) -> Any:
    message = "it always does"
    raise ValueError(message)


@scalar("IFNULL", "(T, T) -> T")
def if_null(first: Any, second: Any) -> Any:
    return second if first is None else first


@scalar("TYPES", "(T, ANY...) -> STRING", typed=True)
def types_of(types: tuple[SqlType | None, ...]) -> Any:
    return lambda *_: ", ".join(map(str, types))


@scalar("UNIT", "(INTERVALUNIT) -> STRING")
def unit(name: str) -> str:
    return name


@scalar("HALF", "(DECIMAL) -> DOUBLE")
def half(number: Decimal) -> float:
    assert isinstance(number, Decimal)
    return float(number) / 2


@scalar("JOINED", "(STRING...) -> STRING")
def joined(*texts: str) -> str:
    return "".join(texts)


@table("EXPLODE", "(ARRAY<T>) -> T")
def explode(items: list[Any] | None) -> list[Any] | None:
    return items


FUNCTIONS = Registry().extended(transform, fail, if_null, types_of, unit, half, joined, explode)


class Log:
    def __init__(self) -> None:
        self.lines: list[tuple[str, str]] = []

    def failed(self, what: str, error: BaseException, row: Sequence[Any] | None = None) -> None:
        assert row is not None
        self.lines.append((what, str(error)))


def row_with(**values: Any) -> list[Any]:
    return list({**ROW, **{name.upper(): found for name, found in values.items()}}.values())


def evaluated(text: str, **values: Any) -> Any:
    return value(parse_expression(text), COLUMNS, FUNCTIONS)(row_with(**values), Log())


def failed(text: str, **values: Any) -> bool:
    log = Log()
    found = value(parse_expression(text), COLUMNS, FUNCTIONS)(row_with(**values), log)
    assert found is None
    return bool(log.lines)


@pytest.mark.parametrize(
    ("text", "values", "expected"),
    [
        ("A + 1", {"a": 2**31 - 1}, -(2**31)),
        ("A - 1", {"a": -(2**31)}, 2**31 - 1),
        ("B * 2", {"b": 2**62}, -(2**63)),
        ("A + B", {"a": 2**31 - 1, "b": 1}, 2**31),
        ("-A", {"a": -(2**31)}, -(2**31)),
        ("A / -2", {"a": 7}, -3),
        ("A % -2", {"a": -7}, -1),
        ("B / -1", {"b": -(2**63)}, -(2**63)),
        ("D / 0", {"d": -1.0}, -math.inf),
        ("D % 2", {"d": -3.5}, -1.5),
        ("-D", {"d": 0.0}, -0.0),
        ("E + E", {}, Decimal("3.00")),
        ("E - E", {"e": Decimal("0.00")}, Decimal("0.00")),
        ("E * -1", {"e": Decimal("0.00")}, Decimal("0.00")),
        ("E / 8", {"e": Decimal("1.00")}, Decimal("0.1250000000000")),
        ("E % 1", {"e": Decimal("-1.75")}, Decimal("-0.75")),
        ("-E", {"e": Decimal("0.00")}, Decimal("0.00")),
        ("E + D", {}, 3.0),
        ("S + S", {"s": None}, "nullnull"),
        ("+A", {}, 7),
    ],
)
def test_arithmetic_is_javas(text: str, values: dict[str, Any], expected: Any) -> None:
    found = evaluated(text, **values)
    assert (repr(found), type(found)) == (repr(expected), type(expected))


@pytest.mark.parametrize("text", ["A / 0", "A % 0", "E / 0", "E % 0", "E / 7"])
def test_what_has_no_exact_result_fails(text: str) -> None:
    assert failed(text, e=Decimal("99.99"))


@pytest.mark.parametrize(
    "text", ["A + 1", "1 / A", "A % 2", "-A", "+A", "-E", "E + 1", "D / 0", "D % 0", "D * D", "-D"]
)
def test_arithmetic_with_null_fails(text: str) -> None:
    assert failed(text, a=None, d=None, e=None)


def test_doubles_follow_ieee() -> None:
    assert math.isnan(evaluated("D / 0", d=0.0))
    assert math.isnan(evaluated("D % 0", d=1.0))
    assert math.isnan(evaluated("D % 2", d=math.inf))


@pytest.mark.parametrize(
    ("text", "values", "expected"),
    [
        ("A = 7", {}, True),
        ("A = B", {"a": None, "b": None}, False),
        ("A <> B", {"a": None}, False),
        ("A IS DISTINCT FROM B", {"a": None, "b": None}, False),
        ("A IS DISTINCT FROM B", {"a": None}, True),
        ("A IS NOT DISTINCT FROM B", {"b": 7}, True),
        ("D = D", {"d": math.nan}, False),
        ("D <> D", {"d": math.nan}, False),
        ("D = B", {"d": 2.0**53, "b": 2**53 + 1}, True),
        ("E = 1.5", {}, True),
        ("E > A", {}, False),
        ("E = 15E-1", {}, True),
        ("S < 'u'", {}, True),
        ("S > '\uffff'", {"s": "\U00010000"}, False),
        ("Y < S", {}, None),
        ("DT = '2020-01-01'", {}, True),
        ("DT < '2020-01'", {}, False),
        ("DT = TS", {}, True),
        ("TS > DT", {"ts": 1577836800001}, True),
        ("TM = '00:00'", {}, True),
        ("TS = S", {"s": "2020-01-01T00:00:00"}, True),
        ("F = TRUE", {}, True),
        ("L = ARRAY['a', 'b']", {}, False),
        ("N = ARRAY[1, 2, 3]", {}, True),
        ("ARRAY[B] = ARRAY[A]", {"b": 7}, False),
        ("T = STRUCT(F0 := 1, G := 'g')", {}, True),
        ("M <> MAP('a' := 6)", {}, True),
        ("A BETWEEN 7 AND B", {}, True),
        ("A BETWEEN 1 AND 7", {"a": None}, False),
        ("A IN (1, 7)", {}, True),
        ("A IN (1, B)", {}, False),
        ("A IN (1, 7)", {"a": None}, False),
        ("A IN (NULL, B)", {"a": None, "b": None}, False),
        ("E IN (1.5)", {}, True),
        ("E IN ('1.50', 2)", {}, True),
        ("S IN ('text', 1)", {}, True),
        ("T IN (STRUCT(F0 := 1), STRUCT(F0 := 1, G := 'g'))", {}, True),
        ("S LIKE 't_x%'", {}, True),
        ("S LIKE '%'", {"s": "a\nb"}, False),
        ("S LIKE 'a!%%' ESCAPE '!'", {"s": "a%b"}, True),
        ("S LIKE S", {"s": "%"}, True),
        ("A IS NULL OR S IS NOT NULL", {}, True),
        ("NOT (A = 1)", {"a": None}, True),
    ],
)
def test_conditions_have_two_values(text: str, values: dict[str, Any], expected: bool | None) -> None:
    if expected is None:
        with pytest.raises(SqlError):
            evaluated(text, **values)
    else:
        assert evaluated(text, **values) is expected


def test_bytes_are_signed() -> None:
    compared = value(parse_expression("Y < CAST('AQ==' AS BYTES)"), COLUMNS, FUNCTIONS)
    assert compared(row_with(y=b"\x80"), Log()) is True
    assert compared(row_with(y=b"\x02"), Log()) is False


@pytest.mark.parametrize(
    "text", ["F AND TRUE", "TRUE AND F", "NOT F", "CASE WHEN F THEN 1 END", "S LIKE 'a'", "'a' LIKE S"]
)
def test_conditions_that_are_null_fail(text: str) -> None:
    assert failed(text, f=None, s=None)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("FALSE AND FAIL(F)", False),
        ("TRUE OR FAIL(F)", True),
        ("CASE WHEN TRUE THEN 1 ELSE FAIL(A) END", 1),
        ("CASE WHEN FALSE THEN FAIL(A) WHEN A = 7 THEN 2 WHEN FAIL(F) THEN 3 END", 2),
        ("CASE WHEN FALSE THEN 1 END", None),
        ("CAST(NULL AS INT) = A / 0", False),
        ("CAST(NULL AS ARRAY<INT>)[A / 0]", None),
        ("CAST(NULL AS MAP<STRING, INT>)[FAIL(S)]", None),
    ],
)
def test_what_is_not_needed_is_not_evaluated(text: str, expected: Any) -> None:
    log = Log()
    assert value(parse_expression(text), COLUMNS, FUNCTIONS)(row_with(), log) is expected
    assert log.lines == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ARRAY[1, A / 0, FAIL(A)]", [1, None, None]),
        ("MAP('a' := FAIL(A), 'b' := 2)", {"a": None, "b": 2}),
        ("STRUCT(X := A, Z := FAIL(S))", (7, None)),
        ("IFNULL(FAIL(A), 3)", 3),
        ("IFNULL(CAST(S AS INT), 3)", 3),
        ("CAST(FAIL(A) AS STRING)", None),
    ],
)
def test_a_part_that_fails_is_null_and_the_rest_survives(text: str, expected: Any) -> None:
    log = Log()
    assert value(parse_expression(text), COLUMNS, FUNCTIONS)(row_with(), log) == expected
    assert log.lines


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("L[1]", "a"),
        ("L[-1]", "c"),
        ("L[0]", None),
        ("L[4]", None),
        ("L[-4]", None),
        ("M['a']", 5),
        ("M['b']", None),
        ("T->G", "g"),
        ("CAST(NULL AS STRUCT<X INT>)->X", None),
        ("TRANSFORM(N, X => X * A)", [7, 14, 21]),
        ("TRANSFORM(N, X => TRANSFORM(N, Z => X + Z))[2]", [3, 4, 5]),
        ("TRANSFORM(L, X => CASE WHEN X IS NULL THEN S ELSE X END)", ["a", "text", "c"]),
        ("TYPES(A, ARRAY[S], NULL)", "INTEGER, ARRAY<STRING>, None"),
        ("STRUCT(X := A)", (7,)),
        ("JOINED(L)", "[a, null, c]"),
        ("JOINED(S, 'b')", "textb"),
        ("5 IS NULL", False),
        ("UNIT(MINUTES)", "MINUTES"),
        ("HALF(A)", 3.5),
        ("CAST(' 12 ' AS INT) + 1", 13),
        ("'it''s'", "it's"),
        ("1E300 * 1E10", math.inf),
    ],
)
def test_values_are_reached_and_functions_called(text: str, expected: Any) -> None:
    assert evaluated(text) == expected


def test_a_projection_gives_a_value_for_each_expression_and_logs_failures() -> None:
    log = Log()
    project = projection([parse_expression(text) for text in ("B", "A / 0", "A + 1")], COLUMNS, FUNCTIONS)
    assert project(row_with(), log) == [9, None, 8]
    assert log.lines == [("(A / 0)", "integer division or modulo by zero")]


def test_a_predicate_is_false_where_it_fails_or_is_null() -> None:
    log = Log()
    assert predicate(parse_expression("A = 7"), COLUMNS, FUNCTIONS)(row_with(), log) is True
    assert predicate(parse_expression("F"), COLUMNS, FUNCTIONS)(row_with(f=None), log) is False
    assert log.lines == []
    assert predicate(parse_expression("F AND A = 7"), COLUMNS, FUNCTIONS)(row_with(f=None), log) is False
    assert predicate(parse_expression("A / 0 = 1"), COLUMNS, FUNCTIONS)(row_with(), log) is False
    assert len(log.lines) == 2
    with pytest.raises(SqlError, match="not a condition"):
        predicate(parse_expression("A"), COLUMNS, FUNCTIONS)


def test_a_table_function_that_fails_gives_no_rows() -> None:
    def rows(text: str, **values: Any) -> Any:
        call = parse_expression(text)
        assert isinstance(call, Call)
        return table_function(call, COLUMNS, FUNCTIONS)(row_with(**values), Log())

    assert rows("EXPLODE(N)") == [1, 2, 3]
    assert rows("EXPLODE(N)", n=None) == []
    assert rows("EXPLODE(FAIL(N))") == []


def test_a_compiled_function_can_be_sent_elsewhere() -> None:
    text = "STRUCT(A := E + 1.5, B := CAST(S AS DATE), C := TYPES(A), D := S LIKE 'a', E := A IN (1, 2), F := L = L)"
    compiled = value(parse_expression(text), COLUMNS, FUNCTIONS)
    again = pickle.loads(pickle.dumps(compiled))
    assert again(row_with(), Log()) == compiled(row_with(), Log())
    assert again.source == compiled.source


def test_a_traceback_shows_generated_lines() -> None:
    shown: list[str] = []

    class Tracing(Log):
        def failed(self, what: str, error: BaseException, row: Sequence[Any] | None = None) -> None:
            shown.extend(traceback.format_exception(error))

    value(parse_expression("FAIL(A)"), COLUMNS, FUNCTIONS)(row_with(), Tracing())
    assert "t1 = k0(c0)" in "".join(shown)


def test_equal_numbers_of_different_types_stay_apart() -> None:
    assert str(evaluated("ARRAY[1.0, 1.00][1]")) == "1.00"
    assert evaluated("CAST(1.0 AS STRING) + CAST(1.00 AS STRING)") == "1.01.00"


@pytest.mark.parametrize(
    "text",
    [
        " AND ".join(["(A = 7 OR FAIL(F))"] * 150),
        "(" * 90 + "A" + " + 1)" * 90,
        "CASE " + " ".join(f"WHEN A = {at} THEN {at}" for at in range(100, 250)) + " ELSE 1 END",
        "IFNULL(" * 90 + "A" + ", 1)" * 90,
        "A" + " + 1" * 199,
        "- " * 90 + "A",
        "CAST(" * 90 + "A" + " AS INT)" * 90,
        "ARRAY[" * 60 + "A / 0" + "]" * 60,
        "CASE WHEN A = 1 THEN 0 ELSE " * 60 + "A" + " END" * 60,
        "".join(f"TRANSFORM(N, X{at} => " for at in range(25)) + "A" + ")" * 25,
    ],
)
def test_deep_and_long_expressions_compile(text: str) -> None:
    assert evaluated(text, n=[1]) is not None


def test_conditions_that_differ_by_a_text_have_the_same_code() -> None:
    one, other = (predicate(parse_expression(f"S = '{text}'"), COLUMNS, Registry()) for text in ("text", "other"))
    row = list(ROW.values())
    assert one.source == other.source
    assert one(row, None) is True
    assert other(row, None) is False


@pytest.mark.parametrize(
    ("text", "row", "cause"),
    [
        ("a + b", [1, None], "an operand is null"),
        ("a * 2 - b", [1, None], "an operand is null"),
        ("-b", [1, None], "an operand is null"),
        ("CAST(b AS STRING) LIKE '1%'", [1, None], "an operand is null"),
        ("a / 3.0", [10, 1], "the exact result has more digits than its type"),
        ("a / 0", [10, 1], "division by zero"),
        ("a / 0.0", [10, 1], "division by zero"),
    ],
)
def test_what_fails_is_told_in_the_words_of_sql(text: str, row: list[Any], cause: str) -> None:
    told: list[Failure] = []
    columns = (Column("A", INTEGER), Column("B", INTEGER))
    assert value(parse_expression(text), columns, builtin())(row, ProcessingLog(told.append).logger("Q")) is None
    assert [failure.cause for failure in told] == [cause]


def test_what_fails_in_a_function_of_a_user_is_told_in_its_own_words() -> None:
    @scalar("PLUS", "(INTEGER a, INTEGER b) -> INTEGER")
    def plus(a: int, b: int) -> int:
        return a + b

    told: list[Failure] = []
    columns = (Column("A", INTEGER), Column("B", INTEGER))
    function = value(parse_expression("PLUS(a, b)"), columns, builtin().extended(plus))
    assert function([1, None], ProcessingLog(told.append).logger("Q")) is None
    assert told[0].cause.startswith("TypeError: unsupported operand")
