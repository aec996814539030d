"""The least and the greatest of values."""

from __future__ import annotations

from typing import Any

from headrace.sql.functions.declare import aggregate, type_of_first
from headrace.sql.functions.natural import order

_NAMES = ("INTEGER", "BIGINT", "DOUBLE", "STRING", "BYTES", "DATE", "TIME", "TIMESTAMP", "DECIMAL")
_SIGNATURES = tuple(f"({name} value) -> {name}" for name in _NAMES)


@aggregate("MIN", *_SIGNATURES, stored_as=type_of_first, returns=type_of_first, description="The least value.")
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


@aggregate("MAX", *_SIGNATURES, stored_as=type_of_first, returns=type_of_first, description="The greatest value.")
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
