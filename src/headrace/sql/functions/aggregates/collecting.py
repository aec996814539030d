"""All values, as a list or as a set."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from headrace.sql.functions.declare import aggregate
from headrace.sql.functions.natural import identity, is_among


class _Limited:
    def __init__(self, *, settings: Mapping[str, Any] | None = None) -> None:
        limit = int((settings or {}).get("limit", -1))
        self._limit = limit if limit >= 0 else sys.maxsize

    def initial(self) -> list[Any]:
        return []


@aggregate(
    "COLLECT_LIST",
    "(T value) -> ARRAY<T>",
    stored_as="ARRAY<T>",
    configured=True,
    description="All values, nulls as well, in their order.",
)
class CollectList(_Limited):
    """Keeps as many as ``ksql.functions.collect_list.limit`` says."""

    def add(self, value: Any, values: list[Any]) -> list[Any]:
        return [*values, value] if len(values) < self._limit else values

    def undo(self, value: Any, values: list[Any]) -> list[Any]:
        """Without the last value that equals it."""
        unwanted = identity(value)
        for index in range(len(values) - 1, -1, -1):
            if identity(values[index]) == unwanted:
                return values[:index] + values[index + 1 :]
        return values

    def merge(self, left: list[Any], right: list[Any]) -> list[Any]:
        return left + right[: max(self._limit - len(left), 0)]


@aggregate(
    "COLLECT_SET",
    "(T value) -> ARRAY<T>",
    stored_as="ARRAY<T>",
    configured=True,
    description="Each value once, null as well, in their order.",
)
class CollectSet(_Limited):
    """Keeps as many as ``ksql.functions.collect_set.limit`` says."""

    def add(self, value: Any, values: list[Any]) -> list[Any]:
        if len(values) >= self._limit or is_among(value, values):
            return values
        return [*values, value]

    def merge(self, left: list[Any], right: list[Any]) -> list[Any]:
        for value in right:
            left = self.add(value, left)
        return left
