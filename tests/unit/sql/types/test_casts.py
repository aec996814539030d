from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import pytest

from headrace.sql.text.parser import parse_columns
from headrace.sql.tree.types import SqlType
from headrace.sql.types.casts import CastError, cast_of
from headrace.sql.types.literals import literal_as


def type_named(text: str) -> SqlType:
    return parse_columns(f"C {text}")[0].type


def cast(value: Any, from_: str, to: str) -> Any:
    return cast_of(type_named(from_), type_named(to))(value)


@pytest.mark.parametrize(
    ("value", "from_", "to", "expected"),
    [
        (True, "BOOLEAN", "STRING", "true"),
        (2**31, "BIGINT", "INT", -(2**31)),
        (5, "INT", "DOUBLE", 5.0),
        (5, "INT", "DECIMAL(4, 2)", Decimal("5.00")),
        (1e300, "DOUBLE", "INT", 2**31 - 1),
        (-1e300, "DOUBLE", "BIGINT", -(2**63)),
        (math.nan, "DOUBLE", "BIGINT", 0),
        (-1.9, "DOUBLE", "INT", -1),
        (0.1, "DOUBLE", "DECIMAL(3, 2)", Decimal("0.10")),
        (2.345, "DOUBLE", "DECIMAL(4, 2)", Decimal("2.35")),
        (1e10, "DOUBLE", "STRING", "1.0E10"),
        (Decimal("4294967297.9"), "DECIMAL(11, 1)", "INT", 1),
        (Decimal("-1.25"), "DECIMAL(3, 2)", "DECIMAL(3, 1)", Decimal("-1.3")),
        (Decimal("9.99"), "DECIMAL(3, 2)", "DECIMAL(2, 1)", Decimal("10.0")),
        (Decimal("1E+3"), "DECIMAL(4, 0)", "STRING", "1000"),
        (" Ye ", "STRING", "BOOLEAN", True),
        ("maybe", "STRING", "BOOLEAN", False),
        ("\t+12 ", "STRING", "INT", 12),
        ("-9223372036854775808", "STRING", "BIGINT", -(2**63)),
        (" 1.5d", "STRING", "DOUBLE", 1.5),
        ("1.235", "STRING", "DECIMAL(4, 2)", Decimal("1.24")),
        ("-0.001", "STRING", "DECIMAL(4, 2)", Decimal("0.00")),
        ("2020-05", "STRING", "DATE", 18383),
        ("01:02", "STRING", "TIME", 3_720_000),
        ("1970-01-01T00:00:01", "STRING", "TIMESTAMP", 1000),
        ("YWI", "STRING", "BYTES", b"ab"),
        (-1, "TIMESTAMP", "TIME", 86_399_999),
        (-1, "TIMESTAMP", "DATE", -1),
        (1, "DATE", "TIMESTAMP", 86_400_000),
        (0, "TIMESTAMP", "STRING", "1970-01-01T00:00:00.000"),
        ([1, None], "ARRAY<INT>", "ARRAY<STRING>", ["1", None]),
        ([1, None], "ARRAY<INT>", "STRING", "[1, null]"),
        ({"1": 1}, "MAP<STRING, INT>", "MAP<INT, DOUBLE>", {1: 1.0}),
        ((1, "b"), "STRUCT<A INT, B STRING>", "STRUCT<B STRING, C INT, A BIGINT>", ("b", None, 1)),
    ],
)
def test_a_cast_makes_a_value_of_the_other_type(value: Any, from_: str, to: str, expected: Any) -> None:
    found = cast(value, from_, to)
    assert (found, str(found), type(found)) == (expected, str(expected), type(expected))


@pytest.mark.parametrize(
    ("value", "from_", "to"),
    [
        (1000, "INT", "DECIMAL(4, 2)"),
        (Decimal("10.0"), "DECIMAL(3, 1)", "DECIMAL(3, 2)"),
        (math.nan, "DOUBLE", "DECIMAL(3, 2)"),
        ("1_000", "STRING", "INT"),
        ("2147483648", "STRING", "INT"),
        ("", "STRING", "BIGINT"),
        ("NaN", "STRING", "DOUBLE"),
        ("1e400", "STRING", "DOUBLE"),
        ("1e999999999", "STRING", "DECIMAL(4, 2)"),
        ("2020-13", "STRING", "DATE"),
        ("a-", "STRING", "BYTES"),
    ],
)
def test_a_value_that_does_not_fit_fails(value: Any, from_: str, to: str) -> None:
    with pytest.raises((ValueError, ArithmeticError)):
        cast(value, from_, to)


@pytest.mark.parametrize(
    ("from_", "to"),
    [
        ("BOOLEAN", "INT"),
        ("INT", "BOOLEAN"),
        ("INT", "TIMESTAMP"),
        ("BYTES", "STRING"),
        ("TIME", "DATE"),
        ("ARRAY<BOOLEAN>", "ARRAY<INT>"),
        ("MAP<STRING, DATE>", "MAP<STRING, TIME>"),
        ("STRUCT<A INT>", "STRUCT<A BOOLEAN>"),
        ("ARRAY<INT>", "MAP<STRING, INT>"),
        ("INT", "ARRAY<INT>"),
    ],
)
def test_there_are_casts_that_are_not(from_: str, to: str) -> None:
    with pytest.raises(CastError, match="there is no CAST"):
        cast_of(type_named(from_), type_named(to))


@pytest.mark.parametrize(
    ("value", "from_", "to", "expected"),
    [
        ("1.5", "STRING", "DECIMAL(4, 2)", Decimal("1.50")),
        (1, "INT", "DECIMAL(4, 2)", Decimal("1.00")),
        (1, "INT", "STRING", "1"),
        (Decimal("1.50"), "DECIMAL(3, 2)", "STRING", "1.50"),
        (" no ", "STRING", "BOOLEAN", False),
        (None, "STRING", "INT", None),
        ((2,), "STRUCT<A INT>", "STRUCT<A DOUBLE, B INT>", (2.0, None)),
        (["1"], "ARRAY<STRING>", "ARRAY<INT>", [1]),
        ({"a": 1}, "MAP<STRING, INT>", "MAP<STRING, BIGINT>", {"a": 1}),
    ],
)
def test_a_literal_is_taken_freely(value: Any, from_: str, to: str, expected: Any) -> None:
    found = literal_as(value, type_named(from_), type_named(to))
    assert (found, str(found)) == (expected, str(expected))


@pytest.mark.parametrize(
    ("value", "from_", "to", "strict"),
    [
        ("1.555", "STRING", "DECIMAL(4, 2)", False),
        ("maybe", "STRING", "BOOLEAN", False),
        (1, "BIGINT", "INT", False),
        (1.5, "DOUBLE", "DECIMAL(4, 2)", False),
        ("1", "STRING", "INT", True),
        (1, "INT", "STRING", True),
    ],
)
def test_a_literal_is_neither_rounded_nor_cut(value: Any, from_: str, to: str, strict: bool) -> None:
    with pytest.raises(ValueError):
        literal_as(value, type_named(from_), type_named(to), strict=strict)
