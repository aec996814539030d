"""The average of numbers."""

from __future__ import annotations

from typing import Any, TypeAlias

from headrace.sql.functions.aggregates.sums import SumOfBigints, SumOfDoubles, SumOfIntegers
from headrace.sql.functions.declare import aggregate

State: TypeAlias = tuple[Any, int]
"""SUM and COUNT."""


class _Average:
    sums: SumOfIntegers | SumOfBigints | SumOfDoubles

    def initial(self) -> State:
        return self.sums.initial(), 0

    def add(self, value: Any, state: State) -> State:
        return state if value is None else (self.sums.add(value, state[0]), state[1] + 1)

    def undo(self, value: Any, state: State) -> State:
        return state if value is None else (self.sums.undo(value, state[0]), state[1] - 1)

    def merge(self, left: State, right: State) -> State:
        return self.sums.merge(left[0], right[0]), left[1] + right[1]

    def result(self, state: State) -> float:
        total, count = state
        return total / count if count else 0.0


@aggregate(
    "AVG", "(INTEGER value) -> DOUBLE", stored_as="STRUCT<SUM INTEGER, COUNT BIGINT>", description="The average."
)
class AverageOfIntegers(_Average):
    """The sum is kept in 32 bits and wraps around."""

    sums = SumOfIntegers()


@aggregate("AVG", "(BIGINT value) -> DOUBLE", stored_as="STRUCT<SUM BIGINT, COUNT BIGINT>", description="The average.")
class AverageOfBigints(_Average):
    """The sum is kept in 64 bits and wraps around."""

    sums = SumOfBigints()


@aggregate("AVG", "(DOUBLE value) -> DOUBLE", stored_as="STRUCT<SUM DOUBLE, COUNT BIGINT>", description="The average.")
class AverageOfDoubles(_Average):
    """0.0 where there is nothing to average."""

    sums = SumOfDoubles()
