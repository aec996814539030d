"""Sums of numbers, and of the numbers in lists. INTEGER and BIGINT wrap around, DECIMAL must not overflow."""

from __future__ import annotations

import decimal
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, Generic, TypeVar

from headrace.sql.functions.declare import aggregate, type_of_first
from headrace.sql.types.numbers import wrap32, wrap64

N = TypeVar("N", int, float, Decimal)


class _Sum(Generic[N]):
    zero: N

    def initial(self) -> N:
        return self.zero

    def add(self, value: N | None, total: N) -> N:
        return total if value is None else self._fitting(total + value)

    def undo(self, value: N | None, total: N) -> N:
        return total if value is None else self._fitting(total - value)

    def merge(self, left: N, right: N) -> N:
        return self._fitting(left + right)

    def _fitting(self, total: N) -> N:
        return total


@aggregate("SUM", "(INTEGER value) -> INTEGER", stored_as="INTEGER", description="The sum of the values.")
class SumOfIntegers(_Sum[int]):
    """Wraps around in 32 bits."""

    zero = 0

    def _fitting(self, total: int) -> int:
        return wrap32(total)


@aggregate("SUM", "(BIGINT value) -> BIGINT", stored_as="BIGINT", description="The sum of the values.")
class SumOfBigints(_Sum[int]):
    """Wraps around in 64 bits."""

    zero = 0

    def _fitting(self, total: int) -> int:
        return wrap64(total)


@aggregate("SUM", "(DOUBLE value) -> DOUBLE", stored_as="DOUBLE", description="The sum of the values.")
class SumOfDoubles(_Sum[float]):
    """Adds in the order of rows."""

    zero = 0.0


@aggregate(
    "SUM",
    "(DECIMAL value) -> DECIMAL",
    stored_as=type_of_first,
    returns=type_of_first,
    typed=True,
    description="The sum.",
)
class SumOfDecimals(_Sum[Decimal]):
    """Has the type of the column: a sum that does not fit is an error."""

    zero = Decimal(0)

    def __init__(self, *, types: Sequence[Any]) -> None:
        self._type = types[0]
        self._context = decimal.Context(prec=self._type.precision, rounding=decimal.ROUND_HALF_UP)

    def add(self, value: Decimal | None, total: Decimal) -> Decimal:
        if value is None:
            return total
        found = self._context.add(total, value)
        # Not abs(), which rounds to 28 digits.
        if found.copy_abs() >= Decimal(10) ** (self._type.precision - self._type.scale):
            message = f"the sum of {total:f} and {value:f} does not fit into {self._type}"
            raise OverflowError(message)
        return found

    def undo(self, value: Decimal | None, total: Decimal) -> Decimal:
        return total if value is None else self._context.subtract(total, value)

    def merge(self, left: Decimal, right: Decimal) -> Decimal:
        return self._context.add(left, right)


class _SumOfLists(Generic[N]):
    """Sums the elements of lists; nulls among them do not count."""

    numbers: _Sum[N]

    def initial(self) -> N:
        return self.numbers.initial()

    def add(self, values: list[N | None] | None, total: N) -> N:
        return total if values is None else self.numbers.add(self._sum(values), total)

    def undo(self, values: list[N | None] | None, total: N) -> N:
        return total if values is None else self.numbers.undo(self._sum(values), total)

    def merge(self, left: N, right: N) -> N:
        return self.numbers.merge(left, right)

    def _sum(self, values: list[N | None]) -> N:
        total = self.numbers.initial()
        for value in values:
            total = self.numbers.add(value, total)
        return total


@aggregate(
    "SUM_LIST", "(ARRAY<INTEGER> values) -> INTEGER", stored_as="INTEGER", description="The sum of all elements."
)
class SumOfIntegerLists(_SumOfLists[int]):
    """Wraps around in 32 bits."""

    numbers = SumOfIntegers()


@aggregate("SUM_LIST", "(ARRAY<BIGINT> values) -> BIGINT", stored_as="BIGINT", description="The sum of all elements.")
class SumOfBigintLists(_SumOfLists[int]):
    """Wraps around in 64 bits."""

    numbers = SumOfBigints()


@aggregate("SUM_LIST", "(ARRAY<DOUBLE> values) -> DOUBLE", stored_as="DOUBLE", description="The sum of all elements.")
class SumOfDoubleLists(_SumOfLists[float]):
    """Adds in the order of rows."""

    numbers = SumOfDoubles()
