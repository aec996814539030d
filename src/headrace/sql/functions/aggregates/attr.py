"""The one value that all rows have."""

from __future__ import annotations

from typing import Any, TypeAlias

from headrace.sql.functions.declare import aggregate
from headrace.sql.functions.natural import identity

State: TypeAlias = list[tuple[Any, int]]
"""VALUE and COUNT of each value."""


@aggregate(
    "ATTR",
    "(T value) -> T",
    stored_as="ARRAY<STRUCT<VALUE T, COUNT INTEGER>>",
    description="The value if all rows have the same one, else null.",
)
class Attr:
    """Null is a value, too."""

    def initial(self) -> State:
        return []

    def add(self, value: Any, state: State) -> State:
        return self._with(value, 1, state)

    def undo(self, value: Any, state: State) -> State:
        return self._with(value, -1, state)

    def merge(self, left: State, right: State) -> State:
        for value, count in right:
            left = self._with(value, count, left)
        return left

    def result(self, state: State) -> Any:
        present = [value for value, count in state if count > 0]
        return present[0] if len(present) == 1 else None

    def _with(self, value: Any, count: int, state: State) -> State:
        wanted = identity(value)
        for index, (known, times) in enumerate(state):
            if identity(known) == wanted:
                return [*state[:index], (known, max(0, times + count)), *state[index + 1 :]]
        return [*state, (value, count)] if count > 0 else state
