"""Types of DECIMAL results."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal as Number

from headrace.sql.tree.types import BIGINT, INTEGER, Decimal, SqlType

_WHOLE: dict[SqlType, Decimal] = {INTEGER: Decimal(10, 0), BIGINT: Decimal(19, 0)}
_MIN_DIVISION_SCALE = 6


def as_decimal(type_: SqlType) -> Decimal:
    """The DECIMAL that holds every INTEGER or BIGINT, or the DECIMAL itself."""
    return type_ if isinstance(type_, Decimal) else _WHOLE[type_]


def type_of_number(number: Number) -> Decimal:
    """The type of a literal: its own digits, and one before the point if there is none.

    >>> str(type_of_number(Number("0.005"))), str(type_of_number(Number("12.30")))
    ('DECIMAL(4, 3)', 'DECIMAL(4, 2)')
    """
    _, digits, exponent = number.as_tuple()
    scale = max(0, -int(exponent))
    if number.copy_abs() < 1:  # abs() rounds to 28 digits
        return Decimal(scale + 1, scale)
    return Decimal(len(digits) + max(0, int(exponent)), scale)


def wider(left: SqlType, right: SqlType) -> Decimal:
    """The DECIMAL that holds both: INTEGER, BIGINT or DECIMAL."""
    first, second = as_decimal(left), as_decimal(right)
    scale = max(first.scale, second.scale)
    return Decimal(max(first.precision - first.scale, second.precision - second.scale) + scale, scale)


def result_of(operator: str, left: Decimal, right: Decimal) -> Decimal:
    """The type of ``left operator right``."""
    return _RESULTS[operator](left, right)


def _sum(left: Decimal, right: Decimal) -> Decimal:
    both = wider(left, right)
    return Decimal(both.precision + 1, both.scale)


def _product(left: Decimal, right: Decimal) -> Decimal:
    return Decimal(left.precision + right.precision + 1, left.scale + right.scale)


def _quotient(left: Decimal, right: Decimal) -> Decimal:
    scale = max(_MIN_DIVISION_SCALE, left.scale + right.precision + 1)
    return Decimal(left.precision - left.scale + right.scale + scale, scale)


def _remainder(left: Decimal, right: Decimal) -> Decimal:
    scale = max(left.scale, right.scale)
    return Decimal(min(left.precision - left.scale, right.precision - right.scale) + scale, scale)


_RESULTS: dict[str, Callable[[Decimal, Decimal], Decimal]] = {
    "+": _sum, "-": _sum, "*": _product, "/": _quotient, "%": _remainder,
}  # fmt: skip
