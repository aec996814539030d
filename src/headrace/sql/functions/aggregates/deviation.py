"""How far numbers spread: the sample variance and its square root, kept up by Welford's method."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeAlias

from headrace.sql.functions.declare import aggregate
from headrace.sql.types.arithmetic import quotient
from headrace.sql.types.numbers import wrap32, wrap64

State: TypeAlias = tuple[Any, int, float]
"""SUM, COUNT and M2, the sum of the squares of differences from the average."""


def _as_is(total: float) -> float:
    return total


class _Spread:
    fitting: Callable[[Any], Any]
    zero: Any

    def initial(self) -> State:
        return self.zero, 0, 0.0

    def add(self, value: Any, state: State) -> State:
        if value is None:
            return state
        total, count, m2 = state
        delta = self._delta(value, state)
        grown = delta * delta / ((count + 1) * count) if count > 0 else 0.0
        return self.fitting(total + value), count + 1, grown + m2

    def undo(self, value: Any, state: State) -> State:
        if value is None:
            return state
        total, count, m2 = state
        delta = self._delta(value, state)
        shrunk = delta * delta / ((count - 1) * count) if count > 1 else 0.0
        return self.fitting(total - value), count - 1, m2 - shrunk

    def _delta(self, value: Any, state: State) -> float:
        total, count, _ = state
        return float(value * (count + 1) - self.fitting(total + value))

    def merge(self, left: State, right: State) -> State:
        count = left[1] + right[1]
        m2 = left[2] + right[2]
        if left[1] and right[1]:
            distance = self._mean(left) - self._mean(right)
            m2 += left[1] * right[1] * distance * distance / count
        return self.fitting(left[0] + right[0]), count, m2

    def _mean(self, state: State) -> float:
        return float(state[0] / state[1])

    def result(self, state: State) -> float:
        _, count, m2 = state
        return math.sqrt(m2 / (count - 1)) if count > 1 and m2 >= 0 else self._degenerate(count)

    def _degenerate(self, count: int) -> float:
        return 0.0 if count < 2 else math.nan


class _Variance(_Spread):
    """What STDDEV_SAMP answers: it never took the square root."""

    def _mean(self, state: State) -> float:
        # Whole numbers are divided as whole numbers here, as they always were.
        return float(quotient(state[0], state[1]) if isinstance(state[0], int) else state[0] / state[1])

    def result(self, state: State) -> float:
        _, count, m2 = state
        return m2 / (count - 1) if count > 1 else 0.0


def _stored(name: str) -> str:
    return f"STRUCT<SUM {name}, COUNT BIGINT, M2 DOUBLE>"


_DEVIATION, _VARIANCE = (
    "The standard deviation of a sample.",
    "The variance of a sample; use STDDEV_SAMPLE for its root.",
)


@aggregate("STDDEV_SAMPLE", "(INTEGER value) -> DOUBLE", stored_as=_stored("INTEGER"), description=_DEVIATION)
class DeviationOfIntegers(_Spread):
    """The sum is kept in 32 bits."""

    fitting, zero = staticmethod(wrap32), 0


@aggregate("STDDEV_SAMPLE", "(BIGINT value) -> DOUBLE", stored_as=_stored("BIGINT"), description=_DEVIATION)
class DeviationOfBigints(_Spread):
    """The sum is kept in 64 bits."""

    fitting, zero = staticmethod(wrap64), 0


@aggregate("STDDEV_SAMPLE", "(DOUBLE value) -> DOUBLE", stored_as=_stored("DOUBLE"), description=_DEVIATION)
class DeviationOfDoubles(_Spread):
    """0.0 for less than two values."""

    fitting, zero = staticmethod(_as_is), 0.0


@aggregate("STDDEV_SAMP", "(INTEGER value) -> DOUBLE", stored_as=_stored("INTEGER"), description=_VARIANCE)
class VarianceOfIntegers(_Variance):
    """The sum is kept in 32 bits."""

    fitting, zero = staticmethod(wrap32), 0


@aggregate("STDDEV_SAMP", "(BIGINT value) -> DOUBLE", stored_as=_stored("BIGINT"), description=_VARIANCE)
class VarianceOfBigints(_Variance):
    """The sum is kept in 64 bits."""

    fitting, zero = staticmethod(wrap64), 0


@aggregate("STDDEV_SAMP", "(DOUBLE value) -> DOUBLE", stored_as=_stored("DOUBLE"), description=_VARIANCE)
class VarianceOfDoubles(_Variance):
    """0.0 for less than two values."""

    fitting, zero = staticmethod(_as_is), 0.0
