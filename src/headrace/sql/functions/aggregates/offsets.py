"""The first and the last values, by the order in which rows come.

Each value is kept with a number that grows: sessions that are merged know by it which value came first.
"""

from __future__ import annotations

import time
from typing import Any, TypeAlias

from headrace.sql.errors import SqlError
from headrace.sql.functions.declare import aggregate

Entry: TypeAlias = tuple[int, Any]
"""SEQ and VAL."""
_ONE = ("(T value) -> T", "(T value, BOOLEAN ignore_nulls const) -> T")
_SEVERAL = (
    "(T value, INTEGER n const) -> ARRAY<T>",
    "(T value, INTEGER n const, BOOLEAN ignore_nulls const) -> ARRAY<T>",
)
_ENTRY = "STRUCT<SEQ BIGINT, VAL T>"


class _Sequence:
    """Numbers that grow, also after a restart: they follow the clock."""

    def __init__(self) -> None:
        self._last = 0

    def next(self) -> int:
        self._last = max(self._last + 1, time.time_ns())
        return self._last


_SEQUENCE = _Sequence()


def _entry(value: Any) -> Entry:
    return _SEQUENCE.next(), value


class _One:
    def __init__(self, ignore_nulls: bool = True) -> None:
        self._ignores_nulls = ignore_nulls

    def result(self, state: Entry | None) -> Any:
        return None if state is None else state[1]


@aggregate("EARLIEST_BY_OFFSET", *_ONE, stored_as=_ENTRY, description="The first value.")
class Earliest(_One):
    """Null until there is a value."""

    def initial(self) -> Entry | None:
        return None

    def add(self, value: Any, state: Entry | None) -> Entry | None:
        if state is not None or (value is None and self._ignores_nulls):
            return state
        return _entry(value)

    def merge(self, left: Entry | None, right: Entry | None) -> Entry | None:
        if left is None or right is None:
            return left or right
        return left if left[0] < right[0] else right


@aggregate("LATEST_BY_OFFSET", *_ONE, stored_as=_ENTRY, description="The last value.")
class Latest(_One):
    """Null until there is a value."""

    def initial(self) -> Entry:
        return _entry(None)

    def add(self, value: Any, state: Entry) -> Entry:
        return state if value is None and self._ignores_nulls else _entry(value)

    def merge(self, left: Entry, right: Entry) -> Entry:
        return left if self._rank(left) >= self._rank(right) else right

    def _rank(self, entry: Entry) -> tuple[bool, int]:
        if not self._ignores_nulls:
            return True, entry[0]
        return (False, 0) if entry[1] is None else (True, entry[0])


class _Several:
    def __init__(self, n: int, ignore_nulls: bool = True) -> None:
        if n < 1:
            raise SqlError("call.literal", f"the number of values must be 1 or more, not {n}")
        self._count = n
        self._ignores_nulls = ignore_nulls

    def initial(self) -> list[Entry]:
        return []

    def result(self, entries: list[Entry]) -> list[Any]:
        return [value for _, value in entries]

    def merge(self, left: list[Entry], right: list[Entry]) -> list[Entry]:
        """The oldest of both; ksqlDB does so for the latest values, too."""
        return sorted([*left, *right], key=lambda entry: entry[0])[: self._count]


@aggregate("EARLIEST_BY_OFFSET", *_SEVERAL, stored_as=f"ARRAY<{_ENTRY}>", description="The first n values.")
class EarliestN(_Several):
    """From the oldest to the newest."""

    def add(self, value: Any, entries: list[Entry]) -> list[Entry]:
        if (value is None and self._ignores_nulls) or len(entries) >= self._count:
            return entries
        return [*entries, _entry(value)]


@aggregate("LATEST_BY_OFFSET", *_SEVERAL, stored_as=f"ARRAY<{_ENTRY}>", description="The last n values.")
class LatestN(_Several):
    """From the oldest to the newest."""

    def add(self, value: Any, entries: list[Entry]) -> list[Entry]:
        if value is None and self._ignores_nulls:
            return entries
        return [*entries, _entry(value)][-self._count :]
