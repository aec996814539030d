"""CAST: for each pair of types the function that makes a value of the one a value of the other."""

from __future__ import annotations

import base64
import binascii
import decimal
import math
from collections.abc import Callable
from decimal import Decimal
from functools import cache, partial
from typing import Any, TypeAlias

from headrace.sql.tree import types as t
from headrace.sql.tree.types import SqlType
from headrace.sql.types.booleans import is_true_text
from headrace.sql.types.coercion import kind_of
from headrace.sql.types.java_text import double_text, text_of
from headrace.sql.types.numbers import (
    MILLIS_OF_DAY,
    parse_decimal,
    parse_double,
    parse_whole,
    rounded,
    wrap32,
    wrap64,
)
from headrace.sql.types.times import date_text, parse_date, parse_time, parse_timestamp, time_text, timestamp_text
from headrace.sql.types.trimming import trimmed

Cast: TypeAlias = Callable[[Any], Any]
"""Takes a value that is not null. It fails with a ValueError or an ArithmeticError."""
_INT_RANGE, _LONG_RANGE = (-(1 << 31), (1 << 31) - 1), (-(1 << 63), (1 << 63) - 1)


class CastError(ValueError):
    """There is no such cast."""


@cache
def cast_of(from_: SqlType, to: SqlType) -> Cast:
    """The cast from one type to another; ``CastError`` where there is none.

    >>> cast_of(t.STRING, t.INTEGER)(" 12 "), cast_of(t.Decimal(3, 1), t.BIGINT)(Decimal("-1.9"))
    (12, -1)
    """
    if from_ == to:
        return same
    match from_, to:
        case t.Array(item), t.Array(other):
            return partial(_each, _nullable(item, other))
        case t.Map(), t.Map():
            return partial(_entries, _nullable(from_.key, to.key), _nullable(from_.value, to.value))
        case t.Struct(), t.Struct():
            return _struct(from_, to)
        case t.Array() | t.Map() | t.Struct(), t.Primitive("STRING"):
            return partial(_text, from_)
        case _, t.Decimal():
            if (maker := _TO_DECIMAL.get(kind_of(from_))) is not None:
                return partial(maker, to)
    found = _CASTS.get((kind_of(from_), kind_of(to)))
    if found is None:
        message = f"there is no CAST of {from_} to {to}"
        raise CastError(message)
    return found


def same(value: Any) -> Any:
    """The value itself."""
    return value


def _nullable(from_: SqlType, to: SqlType) -> Cast:
    return partial(_unless_null, cast_of(from_, to))


def _unless_null(cast: Cast, value: Any) -> Any:
    return None if value is None else cast(value)


def _each(cast: Cast, values: list[Any]) -> list[Any]:
    return [cast(value) for value in values]


def _entries(key_cast: Cast, value_cast: Cast, entries: dict[Any, Any]) -> dict[Any, Any]:
    return {key_cast(key): value_cast(value) for key, value in entries.items()}


def _struct(from_: t.Struct, to: t.Struct) -> Cast:
    """Fields go by their names; what is not in ``from_`` is null."""
    places = {field.name: index for index, field in enumerate(from_.fields)}
    parts = [
        (places[field.name], _nullable(from_.fields[places[field.name]].type, field.type))
        if field.name in places
        else (None, same)
        for field in to.fields
    ]
    return partial(_fields, tuple(parts))


def _fields(parts: tuple[tuple[int | None, Cast], ...], values: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(None if index is None else cast(values[index]) for index, cast in parts)


def _text(type_: SqlType, value: Any) -> str:
    return text_of(value, type_)


def _whole_to_decimal(type_: t.Decimal, value: int) -> Decimal:
    return rounded(Decimal(value), type_)


def _double_to_decimal(type_: t.Decimal, value: float) -> Decimal:
    if not math.isfinite(value):
        message = f"{double_text(value)} is no DECIMAL"
        raise ValueError(message)
    # Every digit of the binary number counts, but only as many as the type has.
    context = decimal.Context(prec=type_.precision, rounding=decimal.ROUND_HALF_UP)
    return rounded(context.create_decimal_from_float(value), type_)


def _text_to_decimal(type_: t.Decimal, value: str) -> Decimal:
    return rounded(parse_decimal(trimmed(value)), type_)


def _decimal_to_decimal(type_: t.Decimal, value: Decimal) -> Decimal:
    _, digits, exponent = value.as_tuple()
    return value if (len(digits), -int(exponent)) == (type_.precision, type_.scale) else rounded(value, type_)


def _double_to_whole(limits: tuple[int, int], value: float) -> int:
    if math.isnan(value):
        return 0
    low, high = limits
    return low if value <= low else high if value >= high else int(value)


def _text_to_double(value: str) -> float:
    number = parse_double(value)
    if not math.isfinite(number):
        message = f"{value!r} is no number"
        raise ValueError(message)
    return number


def bytes_from_text(text: str) -> bytes:
    """Base 64, with or without padding at the end."""
    padding = -len(text) % 4 if "=" not in text else 0
    try:
        return base64.b64decode(text + "=" * padding, validate=True)
    except binascii.Error as error:
        message = f"{text!r} is not base 64: {error}"
        raise ValueError(message) from error


def _after_trim(parse: Callable[[str], Any]) -> Cast:
    return lambda text: parse(trimmed(text))


_TO_DECIMAL: dict[str, Callable[[t.Decimal, Any], Decimal]] = {
    "INTEGER": _whole_to_decimal,
    "BIGINT": _whole_to_decimal,
    "DOUBLE": _double_to_decimal,
    "DECIMAL": _decimal_to_decimal,
    "STRING": _text_to_decimal,
}
_CASTS: dict[tuple[str, str], Cast] = {
    ("BOOLEAN", "STRING"): lambda value: "true" if value else "false",
    ("INTEGER", "BIGINT"): same,
    ("INTEGER", "DOUBLE"): float,
    ("INTEGER", "STRING"): str,
    ("BIGINT", "INTEGER"): wrap32,
    ("BIGINT", "DOUBLE"): float,
    ("BIGINT", "STRING"): str,
    ("DECIMAL", "INTEGER"): lambda value: wrap32(int(value)),
    ("DECIMAL", "BIGINT"): lambda value: wrap64(int(value)),
    ("DECIMAL", "DOUBLE"): float,
    ("DECIMAL", "STRING"): lambda value: format(value, "f"),
    ("DOUBLE", "INTEGER"): partial(_double_to_whole, _INT_RANGE),
    ("DOUBLE", "BIGINT"): partial(_double_to_whole, _LONG_RANGE),
    ("DOUBLE", "STRING"): double_text,
    ("STRING", "BOOLEAN"): _after_trim(is_true_text),
    ("STRING", "INTEGER"): _after_trim(lambda text: parse_whole(text, 32)),
    ("STRING", "BIGINT"): _after_trim(lambda text: parse_whole(text, 64)),
    ("STRING", "DOUBLE"): _text_to_double,
    ("STRING", "TIMESTAMP"): _after_trim(parse_timestamp),
    ("STRING", "TIME"): _after_trim(parse_time),
    ("STRING", "DATE"): _after_trim(parse_date),
    ("STRING", "BYTES"): _after_trim(bytes_from_text),
    ("TIMESTAMP", "STRING"): timestamp_text,
    ("TIMESTAMP", "TIME"): lambda value: value % MILLIS_OF_DAY,
    ("TIMESTAMP", "DATE"): lambda value: value // MILLIS_OF_DAY,
    ("DATE", "TIMESTAMP"): lambda value: value * MILLIS_OF_DAY,
    ("DATE", "STRING"): date_text,
    ("TIME", "STRING"): time_text,
}
