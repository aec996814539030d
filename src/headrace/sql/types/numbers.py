"""Numbers in texts as Java reads them, and what fits into a SQL type."""

from __future__ import annotations

import decimal
import re
from decimal import Decimal

from headrace.sql.tree.types import Decimal as DecimalType
from headrace.sql.types.trimming import trimmed

_WHOLE = re.compile(r"[+-]?\d+")
_DECIMAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_DOUBLE = re.compile(r"[+-]?(NaN|Infinity|((\d+\.?\d*|\.\d+)([eE][+-]?\d+)?)[fFdD]?)", re.ASCII)
_HEX_DOUBLE = re.compile(r"[+-]?0[xX]([0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][+-]?\d+[fFdD]?", re.ASCII)
_EXACT = decimal.Context(prec=decimal.MAX_PREC, traps=[decimal.Inexact, decimal.InvalidOperation])
_HALF_UP = decimal.Context(prec=decimal.MAX_PREC, rounding=decimal.ROUND_HALF_UP, traps=[decimal.InvalidOperation])
MILLIS_OF_DAY = 86_400_000


def wrap32(number: int) -> int:
    """The number that 32 bits keep of it."""
    return ((number + 0x80000000) & 0xFFFFFFFF) - 0x80000000


def wrap64(number: int) -> int:
    """The number that 64 bits keep of it."""
    return ((number + 0x8000000000000000) & 0xFFFFFFFFFFFFFFFF) - 0x8000000000000000


def parse_whole(text: str, bits: int) -> int:
    """A sign and digits that fit; anything else is a ValueError."""
    if not _WHOLE.fullmatch(text):
        message = f"{text!r} is not a whole number"
        raise ValueError(message)
    number = int(text)
    if not -(1 << bits - 1) <= number < 1 << bits - 1:
        message = f"{text} does not fit into {bits} bits"
        raise ValueError(message)
    return number


def parse_double(text: str) -> float:
    """As Java's ``Double.parseDouble``: blanks around it, a type suffix and hexadecimal are fine.

    >>> parse_double(" 1.5d "), parse_double("0x1p3")
    (1.5, 8.0)
    """
    digits = trimmed(text)
    if _DOUBLE.fullmatch(digits):
        return float(digits.rstrip("fFdD"))
    if _HEX_DOUBLE.fullmatch(digits):
        mantissa, _, exponent = digits.lower().partition("p")
        return float.fromhex(f"{mantissa}p{exponent.rstrip('fd')}")
    message = f"{text!r} is not a number"
    raise ValueError(message)


def parse_decimal(text: str) -> Decimal:
    """As Java's ``new BigDecimal``: every digit is kept, and there is no negative zero."""
    if not _DECIMAL.fullmatch(text):
        message = f"{text!r} is not a number"
        raise ValueError(message)
    number = Decimal(text)
    return number or number.copy_abs()


def fitting(value: Decimal, type_: DecimalType) -> Decimal:
    """The value with the scale of the type; a ValueError where digits would be lost."""
    check_size(value, type_)
    try:
        return at_scale(value, type_.scale)
    except decimal.DecimalException:
        message = f"{value} does not fit into {type_} without rounding"
        raise ValueError(message) from None


def at_scale(value: Decimal, scale: int) -> Decimal:
    """The value with so many digits after the point; ``decimal.Inexact`` where some would be lost."""
    return value.quantize(Decimal((0, (1,), -scale)), context=_EXACT)


def rounded(value: Decimal, type_: DecimalType) -> Decimal:
    """The value with the scale of the type, half a digit rounded up; a ValueError where it is too large before that."""
    check_size(value, type_)
    found = value.quantize(Decimal((0, (1,), -type_.scale)), context=_HALF_UP)
    return found or found.copy_abs()


def check_size(value: Decimal, type_: DecimalType) -> None:
    """A ValueError where there are more digits before the point than the type has."""
    if value and value.adjusted() >= type_.precision - type_.scale:
        message = f"{value} is too large for {type_}"
        raise ValueError(message)


def time_of_day(millis: int) -> int:
    """Milliseconds of a day; its last moment counts as well."""
    if not 0 <= millis <= MILLIS_OF_DAY:
        message = f"a TIME is from 0 to {MILLIS_OF_DAY} milliseconds, and this is {millis}"
        raise ValueError(message)
    return millis
