"""How often each text occurs."""

from __future__ import annotations

from typing import TypeAlias

from headrace.sql.functions.declare import aggregate
from headrace.sql.types.java_maps import SizedMap

State: TypeAlias = dict[str, int]
_MOST_KEYS = 1000
_NULL = "null"
"""What a key that is null reads back as from a store, so that it is found again."""


@aggregate(
    "HISTOGRAM",
    "(STRING value) -> MAP<STRING, BIGINT>",
    stored_as="MAP<STRING, BIGINT>",
    description="How often each of the first 1000 values occurs.",
)
class Histogram:
    """A value that is not counted any more is not a key any more; null is counted as the text null."""

    def initial(self) -> State:
        return SizedMap()

    def add(self, value: str | None, counts: State) -> State:
        return self._with(_NULL if value is None else value, 1, counts)

    def undo(self, value: str | None, counts: State) -> State:
        key = _NULL if value is None else value
        # Not counted: it came after the first 1000.
        if key not in counts:
            return counts
        changed = SizedMap(counts)
        changed[key] -= 1
        if changed[key] < 1:
            del changed[key]
        return changed

    def merge(self, left: State, right: State) -> State:
        for value, count in right.items():
            left = self._with(value, count, left)
        return left

    def _with(self, value: str, count: int, counts: State) -> State:
        if len(counts) >= _MOST_KEYS and value not in counts:
            return counts
        changed = SizedMap(counts)
        changed[value] = changed.get(value, 0) + count
        return changed
