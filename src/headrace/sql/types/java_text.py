"""Values as Java writes them: numbers, collections, structs."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from headrace.sql.tree import types
from headrace.sql.types.java_doubles import digits_of
from headrace.sql.types.java_maps import hash_order
from headrace.sql.types.times import civil, clock


def double_text(value: float) -> str:
    """The text of a DOUBLE: plain from 0.001 to below ten million, with an exponent otherwise.

    >>> double_text(1e10), double_text(0.001), double_text(5e-324)
    ('1.0E10', '0.001', '4.9E-324')
    """
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0:
        return "-0.0" if math.copysign(1, value) < 0 else "0.0"
    sign = "-" if value < 0 else ""
    digits, exponent = _digits(abs(value))
    if -3 <= exponent < 7:
        return sign + _plain(digits, exponent)
    return f"{sign}{digits[0]}.{digits[1:] or '0'}E{exponent}"


def _digits(value: float) -> tuple[str, int]:
    """Significant digits and the power of ten of the first one."""
    if not 1e-3 <= value < 1e7:
        return digits_of(value)
    # Here Java's digits are the fewest that read back as the same number, which are those of repr.
    whole, _, fraction = repr(value).partition(".")
    if whole != "0":
        return (whole + fraction).rstrip("0"), len(whole) - 1
    digits = fraction.lstrip("0")
    return digits, len(digits) - len(fraction) - 1


def _plain(digits: str, exponent: int) -> str:
    if exponent < 0:
        return f"0.{'0' * (-exponent - 1)}{digits}"
    whole, fraction = digits[: exponent + 1].ljust(exponent + 1, "0"), digits[exponent + 1 :]
    return f"{whole}.{fraction or '0'}"


def decimal_text(value: Decimal) -> str:
    """A DECIMAL inside of something else: an exponent when there are many zeros or a negative scale.

    >>> decimal_text(Decimal("1.10")), decimal_text(Decimal("1E+3")), decimal_text(Decimal("0.00000001"))
    ('1.10', '1E+3', '1E-8')
    """
    # Python and Java share the rule: plain if the scale is not negative and the exponent at least -6.
    return str(value)


def text_of(value: Any, type_: types.SqlType | None) -> str:
    """The text of a value of a type: what CAST to STRING gives for what is not null.

    >>> text_of([1, None], types.Array(types.INTEGER))
    '[1, null]'
    >>> text_of({"a": 1.0}, types.Map(types.STRING, types.DOUBLE))
    '{a=1.0}'
    """
    if value is None:
        return "null"
    if isinstance(type_, types.Array):
        return f"[{', '.join(text_of(item, type_.item) for item in value)}]"
    if isinstance(type_, types.Map):
        return _map_text(value, type_)
    if isinstance(type_, types.Struct):
        return _struct_text(value, type_)
    if isinstance(type_, types.Decimal):
        return decimal_text(value)
    return _PRIMITIVES[type_](value) if type_ in _PRIMITIVES else str(value)


def _map_text(value: dict[Any, Any], type_: types.Map) -> str:
    entries = (f"{text_of(key, type_.key)}={text_of(item, type_.value)}" for key, item in hash_order(value))
    return f"{{{', '.join(entries)}}}"


def _struct_text(value: tuple[Any, ...], type_: types.Struct) -> str:
    fields = zip(type_.fields, value, strict=True)
    shown = (f"{field.name}={text_of(item, field.type)}" for field, item in fields if item is not None)
    return f"Struct{{{','.join(shown)}}}"


def _bytes_text(value: bytes) -> str:
    return f"java.nio.HeapByteBuffer[pos=0 lim={len(value)} cap={len(value)}]"


def _timestamp_text(value: int) -> str:
    days, ms = divmod(value, 86_400_000)
    year, month, day = civil(days)
    hour, minute, second, nanos = clock(ms * 1_000_000)
    fraction = f"{nanos:09}".rstrip("0") or "0"
    return f"{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}.{fraction}"


def _date_text(value: int) -> str:
    year, month, day = civil(value)
    return f"{year:04}-{month:02}-{day:02}"


def _time_text(value: int) -> str:
    hour, minute, second, _ = clock(value * 1_000_000)
    return f"{hour:02}:{minute:02}:{second:02}"


_PRIMITIVES: dict[types.SqlType | None, Callable[[Any], str]] = {
    types.BOOLEAN: lambda value: "true" if value else "false",
    types.DOUBLE: double_text,
    types.BYTES: _bytes_text,
    types.DATE: _date_text,
    types.TIME: _time_text,
    types.TIMESTAMP: _timestamp_text,
}
"""How primitives look inside of collections: dates as java.sql prints them."""
