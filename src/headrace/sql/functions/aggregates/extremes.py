"""The least and the greatest of values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.sql.functions.declare import aggregate
from headrace.sql.functions.natural import order
from headrace.sql.tree.types import SqlType

_NAMES = ("INTEGER", "BIGINT", "DOUBLE", "STRING", "BYTES", "DATE", "TIME", "TIMESTAMP", "DECIMAL")
_SIGNATURES = tuple(f"({name} value) -> {name}" for name in _NAMES)


def _first(given: Sequence[SqlType | None]) -> SqlType:
    assert given[0] is not None
    return given[0]


@aggregate("MIN", *_SIGNATURES, stored_as=_first, returns=_first, description="The least value.")
class Min:
    """Null until there is a value."""

    def initial(self) -> Any:
        return None

    def add(self, value: Any, least: Any) -> Any:
        if value is None or least is None:
            return least if value is None else value
        return value if order(value) < order(least) else least

    def merge(self, left: Any, right: Any) -> Any:
        return self.add(left, right)


@aggregate("MAX", *_SIGNATURES, stored_as=_first, returns=_first, description="The greatest value.")
class Max:
    """Null until there is a value."""

    def initial(self) -> Any:
        return None

    def add(self, value: Any, greatest: Any) -> Any:
        if value is None or greatest is None:
            return greatest if value is None else value
        return value if order(value) > order(greatest) else greatest

    def merge(self, left: Any, right: Any) -> Any:
        return self.add(left, right)
