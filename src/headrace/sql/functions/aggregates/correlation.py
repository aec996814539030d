"""Pearson's correlation of two columns."""

from __future__ import annotations

import math
from typing import TypeAlias

from headrace.sql.functions.declare import aggregate

State: TypeAlias = tuple[float, float, float, float, float, int]
"""X_SUM, Y_SUM, X_SQUARED_SUM, Y_SQUARED_SUM, XY_SUM and COUNT."""
Pair: TypeAlias = tuple[float | None, float | None]


@aggregate(
    "CORRELATION",
    *(f"({name} x, {name} y) -> DOUBLE" for name in ("INTEGER", "BIGINT", "DOUBLE")),
    stored_as="STRUCT<X_SUM DOUBLE, Y_SUM DOUBLE, X_SQUARED_SUM DOUBLE, Y_SQUARED_SUM DOUBLE, XY_SUM DOUBLE,"
    " COUNT BIGINT>",
    description="Pearson's correlation of two columns; NaN for less than two rows.",
)
class Correlation:
    """Rows with a null do not count."""

    def initial(self) -> State:
        return 0.0, 0.0, 0.0, 0.0, 0.0, 0

    def add(self, value: Pair, state: State) -> State:
        return self._with(value, 1, state)

    def undo(self, value: Pair, state: State) -> State:
        return self._with(value, -1, state)

    def merge(self, left: State, right: State) -> State:
        return (
            left[0] + right[0],
            left[1] + right[1],
            left[2] + right[2],
            left[3] + right[3],
            left[4] + right[4],
            left[5] + right[5],
        )

    def _with(self, value: Pair, sign: int, state: State) -> State:
        if value[0] is None or value[1] is None:
            return state
        x, y = float(value[0]), float(value[1])
        return self.merge(state, (sign * x, sign * y, sign * (x * x), sign * (y * y), sign * (x * y), sign))

    def result(self, state: State) -> float:
        x, y, x_squared, y_squared, xy, count = state
        spread = (count * x_squared - x * x) * (count * y_squared - y * y)
        together = count * xy - x * y
        if not spread > 0:
            return math.nan if together == 0 or spread != 0 else math.copysign(math.inf, together)
        return together / math.sqrt(spread)
