"""Rows of a table that fulfil a condition; the others become deletions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from headrace.processors.derived_table import DerivedTable, RowFunction


@dataclass
class TableFilter(DerivedTable):
    """Keep the rows for which ``predicate(key, value)`` holds, or with ``negate`` those for which it does not.

    Where the parent can send old values, it is asked to: then a row that never passed needs no deletion.
    """

    predicate: Callable[[Any, Any], Any]
    negate: bool
    use_versioned_semantics: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        self.send_old_values = self.parent.enable_sending_old_values(False)

    @property
    def sends_all(self) -> bool:
        return self.use_versioned_semantics or not self.send_old_values

    def function(self) -> RowFunction:
        predicate, negate = self.predicate, self.negate

        def passing(key: Any, value: Any) -> Any:
            return None if value is None or bool(predicate(key, value)) is negate else value

        return RowFunction(passing)
