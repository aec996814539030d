"""Functions of numbers."""

from __future__ import annotations

import math
from decimal import Decimal as Exact
from typing import Any

import pytest

from headrace.sql.errors import SqlError
from headrace.sql.tree.types import Decimal
from tests.unit.sql.functions.calling import FAILS, Cases, answer, check, chosen, listed

NAN, INF = math.nan, math.inf
NULL: tuple[Any, ...] = (None,)
NULL_ONE = [((None,), None)]
NULL_TWO = [((None, 1), None), ((1, None), None), ((None, None), None)]


def of_one(name: str, *pairs: tuple[float, float]) -> Cases:
    """The three overloads of a function of one number: the whole numbers go to INTEGER and BIGINT."""
    whole = [((value,), expected) for value, expected in pairs if isinstance(value, int)]
    return {
        f"{name}(INTEGER)": [*whole, *NULL_ONE],
        f"{name}(BIGINT)": [*whole, *NULL_ONE],
        f"{name}(DOUBLE)": [*(((float(value),), expected) for value, expected in pairs), *NULL_ONE],
    }


CASES: Cases = {
    "ABS(INTEGER)": [((-5,), 5), ((5,), 5), ((-(2**31),), -(2**31)), (NULL, None)],
    "ABS(BIGINT)": [((-5,), 5), ((-(2**63),), -(2**63)), (NULL, None)],
    "ABS(DOUBLE)": [((-5.5,), 5.5), ((-0.0,), 0.0), ((-INF,), INF), ((NAN,), NAN), (NULL, None)],
    "ABS(DECIMAL(4, 2))": [((Exact("-1.50"),), Exact("1.50")), ((Exact("1.5"),), Exact("1.5")), (NULL, None)],
    "CEIL(INTEGER)": [((-5,), -5), (NULL, None)],
    "CEIL(BIGINT)": [((5,), 5), (NULL, None)],
    "CEIL(DOUBLE)": [((1.1,), 2.0), ((-1.1,), -1.0), ((-0.5,), -0.0), ((1e300,), 1e300), ((INF,), INF), (NULL, None)],
    "CEIL(DECIMAL(4, 2))": [((Exact("1.10"),), Exact("2.00")), ((Exact("-1.10"),), Exact("-1.00")), (NULL, None)],
    "FLOOR(INTEGER)": [((-5,), -5), (NULL, None)],
    "FLOOR(BIGINT)": [((5,), 5), (NULL, None)],
    "FLOOR(DOUBLE)": [((1.9,), 1.0), ((-1.1,), -2.0), ((-0.0,), -0.0), ((NAN,), NAN), (NULL, None)],
    "FLOOR(DECIMAL(4, 2))": [((Exact("1.90"),), Exact("1.00")), ((Exact("-1.10"),), Exact("-2.00")), (NULL, None)],
    "ROUND(INTEGER)": [((7,), 7), (NULL, FAILS)],
    "ROUND(BIGINT)": [((-7,), -7), (NULL, FAILS)],
    "ROUND(DOUBLE)": [
        ((1.1,), 1),
        ((1.5,), 2),
        ((-1.5,), -1),
        ((-1.6,), -2),
        ((0.49999999999999994,), 0),
        ((1e300,), 2**63 - 1),
        ((-1e300,), -(2**63)),
        ((NAN,), 0),
        ((INF,), 2**63 - 1),
        (NULL, None),
    ],
    "ROUND(DECIMAL(4, 2))": [
        ((Exact("1.50"),), Exact("2")),
        ((Exact("-1.50"),), Exact("-1")),
        ((Exact("-1.51"),), Exact("-2")),
        (NULL, None),
    ],
    "ROUND(DOUBLE, INTEGER)": [
        ((1.123, 2), 1.12),
        ((1.125, 2), 1.13),
        ((-1.125, 2), -1.12),
        ((1234.5, -2), 1200.0),
        ((0.1, 30), 0.1),
        ((-0.0, 30), 0.0),
        ((NAN, 2), FAILS),
        ((None, 2), None),
        ((1.5, None), None),
    ],
    "ROUND(DECIMAL(6, 3), INTEGER)": [
        ((Exact("12.345"), 2), Exact("12.350")),
        ((Exact("-12.345"), 2), Exact("-12.340")),
        ((Exact("12.345"), 5), Exact("12.345")),
        ((Exact("155.000"), -1), Exact("160.000")),
        ((Exact("12.345"), 0), Exact("12.000")),
        ((None, 2), None),
        ((Exact("1.000"), None), None),
    ],
    "TRUNC(INTEGER)": [((7,), 7), (NULL, None)],
    "TRUNC(BIGINT)": [((-7,), -7), (NULL, None)],
    "TRUNC(DOUBLE)": [((1.9,), 1), ((-1.9,), -1), ((NAN,), 0), ((1e300,), 2**63 - 1), (NULL, None)],
    "TRUNC(DECIMAL(4, 2))": [((Exact("1.99"),), Exact("1")), ((Exact("-1.99"),), Exact("-1")), (NULL, None)],
    "TRUNC(DOUBLE, INTEGER)": [
        ((1.129, 2), 1.12),
        ((-1.129, 2), -1.12),
        ((1299.0, -2), 1200.0),
        ((-0.0, 2), 0.0),
        ((None, 1), None),
        ((1.5, None), None),
    ],
    "TRUNC(DECIMAL(6, 3), INTEGER)": [
        ((Exact("1.129"), 2), Exact("1.120")),
        ((Exact("-1.129"), 0), Exact("-1.000")),
        ((None, 1), None),
        ((Exact("1.129"), None), None),
    ],
    "SIGN(INTEGER)": [((-9,), -1), ((0,), 0), ((9,), 1), (NULL, None)],
    "SIGN(BIGINT)": [((-(2**40),), -1), ((0,), 0), (NULL, None)],
    "SIGN(DOUBLE)": [((-0.5,), -1), ((0.0,), 0), ((NAN,), 0), ((INF,), 1), (NULL, None)],
    **of_one("SQRT", (4, 2.0), (0, 0.0), (-1, NAN), (2.25, 1.5), (INF, INF)),
    **of_one("CBRT", (27, 3.0), (-27, -3.0), (0, 0.0), (0.001, 0.1), (-INF, -INF)),
    **of_one("EXP", (0, 1.0), (1, math.e), (-1, 1 / math.e), (1000, INF), (-1000, 0.0)),
    **of_one("LN", (1, 0.0), (0, -INF), (-1, NAN), (math.e, 1.0), (INF, INF)),
    **of_one("LOG", (1, 0.0), (10, 2.302585092994046), (0, -INF), (-1, NAN)),
    **of_one("SIN", (0, 0.0), (1, 0.8414709848078965), (INF, NAN)),
    **of_one("COS", (0, 1.0), (1, 0.5403023058681398), (INF, NAN)),
    **of_one("TAN", (0, 0.0), (1, 1.5574077246549023), (INF, NAN)),
    **of_one("COT", (0, INF), (1, 0.6420926159343306), (-0.0, -INF)),
    **of_one("ASIN", (0, 0.0), (1, math.pi / 2), (2, NAN), (0.5, 0.5235987755982989)),
    **of_one("ACOS", (1, 0.0), (-1, math.pi), (2, NAN), (0.5, 1.0471975511965979)),
    **of_one("ATAN", (0, 0.0), (1, math.pi / 4), (INF, math.pi / 2)),
    **of_one("SINH", (0, 0.0), (1, 1.1752011936438014), (1000, INF), (-1000, -INF)),
    **of_one("COSH", (0, 1.0), (1, 1.543080634815244), (-1000, INF)),
    **of_one("TANH", (0, 0.0), (1, 0.7615941559557649), (1000, 1.0), (-1000, -1.0)),
    **of_one("DEGREES", (0, 0.0), (1, 57.29577951308232), (math.pi, 180.0)),
    **of_one("RADIANS", (0, 0.0), (180, math.pi), (-90, -math.pi / 2)),
    "LOG(INTEGER, INTEGER)": [((2, 8), 3.0), ((1, 8), NAN), ((0, 8), NAN), ((-1, 8), NAN), ((2, 0), -INF), *NULL_TWO],
    "LOG(BIGINT, BIGINT)": [((10, 1000), 2.9999999999999996), *NULL_TWO],
    "LOG(DOUBLE, DOUBLE)": [((0.5, 8.0), -3.0), ((2.0, -1.0), NAN), *NULL_TWO],
    "POWER(INTEGER, INTEGER)": [((2, 10), 1024.0), ((0, -1), INF), ((0, 0), 1.0), *NULL_TWO],
    "POWER(BIGINT, BIGINT)": [((10, 400), INF), ((-10, 401), -INF), *NULL_TWO],
    "POWER(DOUBLE, DOUBLE)": [
        ((-8.0, 0.5), NAN),
        ((-0.0, -1.0), -INF),
        ((-0.0, -2.0), INF),
        ((1.0, INF), NAN),
        ((1.0, NAN), NAN),
        ((NAN, 0.0), 1.0),
        *NULL_TWO,
    ],
    "ATAN2(INTEGER, INTEGER)": [((1, 1), math.pi / 4), ((0, -1), math.pi), *NULL_TWO],
    "ATAN2(BIGINT, BIGINT)": [((-1, -1), -3 * math.pi / 4), *NULL_TWO],
    "ATAN2(DOUBLE, DOUBLE)": [((1.0, 0.0), math.pi / 2), ((-0.0, -1.0), -math.pi), *NULL_TWO],
    "PI()": [((), math.pi)],
    "GREATEST(INTEGER, INTEGER)": [((1, 2), 2), ((None, 2), 2), ((None, None), None)],
    "GREATEST(BIGINT, BIGINT, BIGINT)": [((1, 2**40, 3), 2**40), ((None, None, None), None)],
    "GREATEST(DOUBLE, DOUBLE)": [((1.0, NAN), NAN), ((-0.0, 0.0), 0.0), ((None, -1.5), -1.5), ((None, None), None)],
    "GREATEST(STRING, STRING)": [(("b", "a"), "b"), (("\U0001f600", "￿"), "￿"), ((None, None), None)],
    "GREATEST(BYTES, BYTES)": [((b"\x80", b"\x01"), b"\x01"), ((b"a", b"ab"), b"ab"), ((None, None), None)],
    "GREATEST(DATE, DATE)": [((1, 2), 2), ((None, None), None)],
    "GREATEST(TIME, TIME)": [((1, 2), 2), ((None, None), None)],
    "GREATEST(TIMESTAMP, TIMESTAMP)": [((-1, -2), -1), ((None, None), None)],
    "GREATEST(DECIMAL(3, 1), DECIMAL(5, 3))": [((Exact("2.5"), Exact("2.499")), Exact("2.5")), ((None, None), None)],
    "LEAST(INTEGER, INTEGER)": [((1, 2), 1), ((None, 2), 2), ((None, None), None)],
    "LEAST(BIGINT, BIGINT, BIGINT)": [((1, 2**40, 3), 1), ((None, None, None), None)],
    "LEAST(DOUBLE, DOUBLE)": [((1.0, NAN), 1.0), ((0.0, -0.0), -0.0), ((None, None), None)],
    "LEAST(STRING, STRING)": [(("b", "a"), "a"), ((None, None), None)],
    "LEAST(BYTES, BYTES)": [((b"\x80", b"\x01"), b"\x80"), ((None, None), None)],
    "LEAST(DATE, DATE)": [((1, 2), 1), ((None, None), None)],
    "LEAST(TIME, TIME)": [((1, 2), 1), ((None, None), None)],
    "LEAST(TIMESTAMP, TIMESTAMP)": [((-1, -2), -2), ((None, None), None)],
    "LEAST(DECIMAL(3, 1), DECIMAL(5, 3))": [((Exact("2.5"), Exact("2.499")), Exact("2.499")), ((None, None), None)],
}


@pytest.mark.parametrize(("call", "arguments", "expected"), listed(CASES))
def test_it_answers_what_java_does(call: str, arguments: tuple[Any, ...], expected: Any) -> None:
    check(call, arguments, expected)


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("ABS(DECIMAL(4, 2))", Decimal(4, 2)),
        ("CEIL(DECIMAL(4, 2))", Decimal(4, 2)),
        ("ROUND(DECIMAL(33, 16))", Decimal(17, 0)),
        ("ROUND(DECIMAL(33, 16), INTEGER)", Decimal(33, 16)),
        ("TRUNC(DECIMAL(4, 2))", Decimal(2, 0)),
        ("GREATEST(DECIMAL(3, 1), DECIMAL(5, 3), DECIMAL(10, 0))", Decimal(13, 3)),
        ("LEAST(DECIMAL(3, 1), DECIMAL(3, 2))", Decimal(4, 2)),
    ],
)
def test_a_decimal_has_the_type_of_the_result(call: str, expected: Decimal) -> None:
    assert chosen(call).result == expected


def test_a_decimal_without_whole_digits_is_not_rounded_to_a_whole_number() -> None:
    with pytest.raises(SqlError, match=r"DECIMAL\(3, 3\) has no digits before the point"):
        _ = chosen("ROUND(DECIMAL(3, 3))").result


def test_random_numbers_are_from_zero_to_below_one_and_differ() -> None:
    found = [answer("RANDOM()", ()) for _ in range(100)]
    assert all(0 <= value < 1 for value in found)
    assert len(set(found)) > 90
