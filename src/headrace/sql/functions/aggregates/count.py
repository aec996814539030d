"""How many rows there are."""

from __future__ import annotations

from typing import Any

from headrace.sql.functions.declare import aggregate


@aggregate("COUNT", "(T value) -> BIGINT", stored_as="BIGINT", description="The number of values that are not null.")
class Count:
    """Counts."""

    def initial(self) -> int:
        return 0

    def add(self, value: Any, count: int) -> int:
        return count + (value is not None)

    def undo(self, value: Any, count: int) -> int:
        return count - (value is not None)

    def merge(self, left: int, right: int) -> int:
        return left + right
