"""Numbers: rounding, powers, logarithms, trigonometry. Infinity and NaN come out where Python would raise."""

from __future__ import annotations

import decimal
import math
import random
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from headrace.sql.errors import SqlError
from headrace.sql.functions.declare import scalar, type_of_first
from headrace.sql.functions.natural import order
from headrace.sql.tree import types
from headrace.sql.tree.types import SqlType
from headrace.sql.types.arithmetic import double_quotient
from headrace.sql.types.decimals import wider
from headrace.sql.types.java_text import double_text
from headrace.sql.types.numbers import wrap32, wrap64

_ROOM = decimal.Context(prec=decimal.MAX_PREC)
_LONG_MAX = 2**63 - 1
_OF_ONE = ("(INTEGER value) -> DOUBLE", "(BIGINT value) -> DOUBLE", "(DOUBLE value) -> DOUBLE")


def _whole_part(given: tuple[SqlType | None, ...]) -> SqlType:
    type_ = type_of_first(given)
    assert isinstance(type_, types.Decimal)
    if type_.precision == type_.scale:
        raise SqlError("call.no-overload", f"{type_} has no digits before the point to round to")
    return types.Decimal(type_.precision - type_.scale, 0)


def _widest(given: tuple[SqlType | None, ...]) -> SqlType:
    known = [type_ for type_ in given if type_ is not None]
    widest = known[0]
    for type_ in known[1:]:
        widest = wider(widest, type_)
    return widest


# Absolute value, sign, rounding


@scalar("ABS", "(INTEGER value) -> INTEGER", description="The absolute value.")
def absolute_integer(value: int | None) -> int | None:
    return None if value is None else wrap32(abs(value))


@scalar("ABS", "(BIGINT value) -> BIGINT", description="The absolute value.")
def absolute_bigint(value: int | None) -> int | None:
    return None if value is None else wrap64(abs(value))


@scalar("ABS", "(DOUBLE value) -> DOUBLE", description="The absolute value.")
def absolute_double(value: float | None) -> float | None:
    return None if value is None else abs(value)


@scalar("ABS", "(DECIMAL value) -> DECIMAL", returns=type_of_first, description="The absolute value.")
def absolute_decimal(value: Decimal | None) -> Decimal | None:
    return None if value is None else value.copy_abs()


@scalar("SIGN", *(text.replace("-> DOUBLE", "-> INTEGER") for text in _OF_ONE), description="-1, 0 or 1.")
def sign(value: float | None) -> int | None:
    return None if value is None else (value > 0) - (value < 0)


@scalar("CEIL", "(INTEGER value) -> INTEGER", "(BIGINT value) -> BIGINT", description="The next whole number above.")
@scalar("FLOOR", "(INTEGER value) -> INTEGER", "(BIGINT value) -> BIGINT", description="The next whole number below.")
def unchanged(value: int | None) -> int | None:
    return value


def _whole_double(value: float, round_: Callable[[float], int]) -> float:
    # What is not finite, or too large to have a fraction, is whole already; a zero keeps its sign.
    return value if not math.isfinite(value) else math.copysign(float(round_(value)), value)


@scalar("CEIL", "(DOUBLE value) -> DOUBLE", description="The next whole number above.")
def ceil_double(value: float | None) -> float | None:
    return None if value is None else _whole_double(value, math.ceil)


@scalar("FLOOR", "(DOUBLE value) -> DOUBLE", description="The next whole number below.")
def floor_double(value: float | None) -> float | None:
    return None if value is None else _whole_double(value, math.floor)


@scalar("CEIL", "(DECIMAL value) -> DECIMAL", returns=type_of_first, description="The next whole number above.")
def ceil_decimal(value: Decimal | None) -> Decimal | None:
    return None if value is None else _at_places(value, 0, decimal.ROUND_CEILING)


@scalar("FLOOR", "(DECIMAL value) -> DECIMAL", returns=type_of_first, description="The next whole number below.")
def floor_decimal(value: Decimal | None) -> Decimal | None:
    return None if value is None else _at_places(value, 0, decimal.ROUND_FLOOR)


def _at_places(value: Decimal, places: int, rounding: str) -> Decimal:
    """Rounded to so many digits after the point, with the scale that the value had."""
    unit = Decimal((0, (1,), int(value.as_tuple().exponent)))
    rounded = _to_places(value, places, rounding)
    return rounded.quantize(unit, context=_ROOM)


def _to_places(value: Decimal, places: int, rounding: str) -> Decimal:
    found = value
    if places < -int(value.as_tuple().exponent):
        found = value.quantize(Decimal((0, (1,), -places)), rounding=rounding, context=_ROOM)
    return found or found.copy_abs()  # Java's decimals have one zero only.


def _half_up(value: Decimal) -> str:
    """Ties go up, to the positive side."""
    return decimal.ROUND_HALF_UP if value > 0 else decimal.ROUND_HALF_DOWN


@scalar("ROUND", "(INTEGER value) -> BIGINT", "(BIGINT value) -> BIGINT", description="The nearest whole number.")
def round_whole(value: int | None) -> int:
    return _required(value)


@scalar("ROUND", "(DOUBLE value) -> BIGINT", description="The nearest whole number; ties go up.")
def round_double(value: float | None) -> int | None:
    if value is None or not math.isfinite(value):
        return None if value is None else _saturated(value)
    below = math.floor(value)
    return _saturated(below + (value - below >= 0.5))


@scalar("ROUND", "(DECIMAL value) -> DECIMAL", returns=_whole_part, description="The nearest whole number; ties go up.")
def round_decimal(value: Decimal | None) -> Decimal | None:
    return None if value is None else _to_places(value, 0, _half_up(value))


@scalar("ROUND", "(DOUBLE value, INTEGER places) -> DOUBLE", description="The nearest with so many decimal places.")
def round_double_to(value: float | None, places: int | None) -> float | None:
    if value is None or places is None:
        return None
    exact = _decimal_of(value)
    return float(_to_places(exact, places, _half_up(exact)))


@scalar(
    "ROUND",
    "(DECIMAL value, INTEGER places) -> DECIMAL",
    returns=type_of_first,
    description="The nearest with so many places.",
)
def round_decimal_to(value: Decimal | None, places: int | None) -> Decimal | None:
    return None if value is None or places is None else _at_places(value, places, _half_up(value))


@scalar("TRUNC", "(INTEGER value) -> BIGINT", "(BIGINT value) -> BIGINT", description="The whole number toward zero.")
def trunc_whole(value: int | None) -> int | None:
    return value


@scalar("TRUNC", "(DOUBLE value) -> BIGINT", description="The whole number toward zero.")
def trunc_double(value: float | None) -> int | None:
    return None if value is None else _saturated(value)


@scalar("TRUNC", "(DECIMAL value) -> DECIMAL", returns=_whole_part, description="The whole number toward zero.")
def trunc_decimal(value: Decimal | None) -> Decimal | None:
    return None if value is None else _to_places(value, 0, decimal.ROUND_DOWN)


@scalar("TRUNC", "(DOUBLE value, INTEGER places) -> DOUBLE", description="So many decimal places, the others cut off.")
def trunc_double_to(value: float | None, places: int | None) -> float | None:
    if value is None or places is None:
        return None
    return float(_to_places(_decimal_of(value), places, decimal.ROUND_DOWN))


@scalar(
    "TRUNC", "(DECIMAL value, INTEGER places) -> DECIMAL", returns=type_of_first, description="So many decimal places."
)
def trunc_decimal_to(value: Decimal | None, places: int | None) -> Decimal | None:
    return None if value is None or places is None else _at_places(value, places, decimal.ROUND_DOWN)


def _saturated(value: float) -> int:
    """Toward zero, no further than 64 bits go; NaN is 0."""
    if math.isnan(value):
        return 0
    if math.isinf(value):
        return _LONG_MAX if value > 0 else -_LONG_MAX - 1
    return max(-_LONG_MAX - 1, min(_LONG_MAX, int(value)))


def _decimal_of(value: float) -> Decimal:
    if not math.isfinite(value):
        message = f"{value} has no digits to round"
        raise ValueError(message)
    return Decimal(double_text(value))


def _required(value: int | None) -> int:
    if value is None:
        raise ValueError("an argument that must not be null is null")
    return value


# Greatest and least


_COMPARABLE = tuple(
    f"({name} value, {name}... others) -> {name}"
    for name in ("INTEGER", "BIGINT", "DOUBLE", "STRING", "BYTES", "DATE", "TIME", "TIMESTAMP")
)


@scalar("GREATEST", *_COMPARABLE, description="The greatest of the values that are not null.")
@scalar("GREATEST", "(DECIMAL value, DECIMAL... others) -> DECIMAL", returns=_widest)
def greatest(*values: Any) -> Any:
    return max((value for value in values if value is not None), key=order, default=None)


@scalar("LEAST", *_COMPARABLE, description="The least of the values that are not null.")
@scalar("LEAST", "(DECIMAL value, DECIMAL... others) -> DECIMAL", returns=_widest)
def least(*values: Any) -> Any:
    return min((value for value in values if value is not None), key=order, default=None)


# Powers and logarithms


@scalar("SQRT", *_OF_ONE, description="The square root.")
def square_root(value: float | None) -> float | None:
    if value is None:
        return None
    return math.sqrt(value) if value >= 0 else math.nan


def _cube_root(value: float) -> float:
    root = math.copysign(abs(value) ** (1 / 3), value)
    return root - (root * root * root - value) / (3 * root * root)  # one step of Newton's for the last digit


_CUBE_ROOT: Callable[[float], float] = getattr(math, "cbrt", _cube_root)  # Python has it from 3.11 on


@scalar("CBRT", *_OF_ONE, description="The cube root.")
def cube_root(value: float | None) -> float | None:
    if value is None or value == 0 or not math.isfinite(value):
        return None if value is None else float(value)
    return _CUBE_ROOT(float(value))


@scalar("EXP", *_OF_ONE, description="e to the power of the value.")
def exponential(value: float | None) -> float | None:
    if value is None:
        return None
    try:
        return math.exp(value)
    except OverflowError:
        return math.inf


@scalar("LN", *_OF_ONE, description="The natural logarithm.")
@scalar("LOG", *_OF_ONE, description="The natural logarithm.")
def logarithm(value: float | None) -> float | None:
    if value is None:
        return None
    if value > 0:
        return math.log(value)
    return -math.inf if value == 0 else math.nan


_OF_TWO = (
    "(INTEGER {0}, INTEGER {1}) -> DOUBLE",
    "(BIGINT {0}, BIGINT {1}) -> DOUBLE",
    "(DOUBLE {0}, DOUBLE {1}) -> DOUBLE",
)


@scalar("LOG", *(text.format("base", "value") for text in _OF_TWO), description="The logarithm to a base.")
def logarithm_to(base: float | None, value: float | None) -> float | None:
    if base is None or value is None:
        return None
    if base <= 0 or base == 1:
        return math.nan
    return double_quotient(logarithm(value) or 0.0, logarithm(base) or 0.0)


@scalar("POWER", *(text.format("base", "exponent") for text in _OF_TWO), description="The base to a power.")
def power(base: float | None, exponent: float | None) -> float | None:
    if base is None or exponent is None:
        return None
    base, exponent = float(base), float(exponent)
    if math.isnan(exponent) or (abs(base) == 1 and math.isinf(exponent)):
        return math.nan  # C says 1
    is_odd = math.isfinite(exponent) and math.fmod(exponent, 2) in (1.0, -1.0)
    try:
        return math.pow(base, exponent)
    except OverflowError:
        return -math.inf if base < 0 and is_odd else math.inf
    except ValueError:
        if base != 0:
            return math.nan
        return math.copysign(math.inf, base) if is_odd else math.inf


# Trigonometry


def _computed(body: Callable[[float], float], value: float | None) -> float | None:
    """NaN where there is no answer, infinity where it is too large."""
    if value is None:
        return None
    try:
        return body(value)
    except ValueError:
        return math.nan
    except OverflowError:
        return math.inf


@scalar("SIN", *_OF_ONE, description="The sine of an angle in radians.")
def sine(value: float | None) -> float | None:
    return _computed(math.sin, value)


@scalar("COS", *_OF_ONE, description="The cosine of an angle in radians.")
def cosine(value: float | None) -> float | None:
    return _computed(math.cos, value)


@scalar("TAN", *_OF_ONE, description="The tangent of an angle in radians.")
def tangent(value: float | None) -> float | None:
    return _computed(math.tan, value)


@scalar("COT", *_OF_ONE, description="The cotangent of an angle in radians.")
def cotangent(value: float | None) -> float | None:
    found = tangent(value)
    return None if found is None else double_quotient(1.0, found)


@scalar("ASIN", *_OF_ONE, description="The angle of a sine, in radians.")
def arc_sine(value: float | None) -> float | None:
    return _computed(math.asin, value)


@scalar("ACOS", *_OF_ONE, description="The angle of a cosine, in radians.")
def arc_cosine(value: float | None) -> float | None:
    return _computed(math.acos, value)


@scalar("ATAN", *_OF_ONE, description="The angle of a tangent, in radians.")
def arc_tangent(value: float | None) -> float | None:
    return _computed(math.atan, value)


@scalar("SINH", *_OF_ONE, description="The hyperbolic sine.")
def hyperbolic_sine(value: float | None) -> float | None:
    found = _computed(math.sinh, value)
    return -math.inf if found == math.inf and value is not None and value < 0 else found


@scalar("COSH", *_OF_ONE, description="The hyperbolic cosine.")
def hyperbolic_cosine(value: float | None) -> float | None:
    return _computed(math.cosh, value)


@scalar("TANH", *_OF_ONE, description="The hyperbolic tangent.")
def hyperbolic_tangent(value: float | None) -> float | None:
    return _computed(math.tanh, value)


@scalar("DEGREES", *_OF_ONE, description="Radians as degrees.")
def degrees(value: float | None) -> float | None:
    return _computed(math.degrees, value)


@scalar("RADIANS", *_OF_ONE, description="Degrees as radians.")
def radians(value: float | None) -> float | None:
    return _computed(math.radians, value)


@scalar("ATAN2", *(text.format("y", "x") for text in _OF_TWO), description="The angle of a point, in radians.")
def arc_tangent_of_point(y: float | None, x: float | None) -> float | None:
    return None if x is None or y is None else math.atan2(y, x)


@scalar("PI", "() -> DOUBLE", description="The ratio of a circle's circumference to its diameter.")
def pi() -> float:
    return math.pi


@scalar("RANDOM", "() -> DOUBLE", description="A random number from 0 to below 1.")
def random_number() -> float:
    return random.random()
