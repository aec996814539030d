"""Values as Java writes them."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.sql.text.cursor import Cursor
from headrace.sql.text.types import type_ as read_type
from headrace.sql.types.java_text import double_text, text_of


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0.0"),
        (-0.0, "-0.0"),
        (1.0, "1.0"),
        (100.0, "100.0"),
        (123456.789, "123456.789"),
        (9999999.0, "9999999.0"),
        (1e7, "1.0E7"),
        (12345678.9, "1.23456789E7"),
        (0.001, "0.001"),
        (0.00099, "9.9E-4"),
        (1.7976931348623157e308, "1.7976931348623157E308"),
        (5e-324, "4.9E-324"),
        # More digits than needed, and others than the nearest: so did Java before version 19.
        (2.0**62, "4.6116860184273879E18"),
        (2e23, "1.9999999999999998E23"),
        (2.0819995508396935e25, "2.0819995508396934E25"),
        (2.2250738585072014e-308, "2.2250738585072014E-308"),
        (-2.5, "-2.5"),
        (math.nan, "NaN"),
        (-math.inf, "-Infinity"),
    ],
)
def test_plain_in_the_middle_and_with_an_exponent_outside(value: float, text: str) -> None:
    assert double_text(value) == text


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_the_text_reads_back_as_the_same_number(value: float) -> None:
    assert float(double_text(value)) == value


@pytest.mark.parametrize(
    ("value", "type_", "expected"),
    [
        (None, "ARRAY<INTEGER>", "null"),
        ([], "ARRAY<INTEGER>", "[]"),
        ([1, None], "ARRAY<INTEGER>", "[1, null]"),
        ([True, False], "ARRAY<BOOLEAN>", "[true, false]"),
        ([1.0, 1e10], "ARRAY<DOUBLE>", "[1.0, 1.0E10]"),
        ([Decimal("1.10"), Decimal("1E-7")], "ARRAY<DECIMAL(10, 7)>", "[1.10, 1E-7]"),
        ({"foo": 1, "bar": None}, "MAP<STRING, INTEGER>", "{bar=null, foo=1}"),
        ((1, None, "x"), "STRUCT<A INTEGER, B STRING, C STRING>", "Struct{A=1,C=x}"),
        (([(1,)],), "STRUCT<A ARRAY<STRUCT<B INTEGER>>>", "Struct{A=[Struct{B=1}]}"),
        ([0], "ARRAY<DATE>", "[1970-01-01]"),
        ([61_999], "ARRAY<TIME>", "[00:01:01]"),
        ([1_500], "ARRAY<TIMESTAMP>", "[1970-01-01 00:00:01.5]"),
        ([0], "ARRAY<TIMESTAMP>", "[1970-01-01 00:00:00.0]"),
        ([b"abc"], "ARRAY<BYTES>", "[java.nio.HeapByteBuffer[pos=0 lim=3 cap=3]]"),
    ],
)
def test_collections_are_written_as_java_writes_them(value: Any, type_: str, expected: str) -> None:
    assert text_of(value, read_type(Cursor(type_))) == expected
