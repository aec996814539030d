"""A table with the values of another one mapped; deletions pass as they are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from headrace.processors.derived_table import DerivedTable, RowFunction


@dataclass
class TableMapValues(DerivedTable):
    """Map each value: ``mapper(value)``, or ``mapper(key, value)`` with ``with_key``."""

    mapper: Callable[..., Any]
    with_key: bool

    def function(self) -> RowFunction:
        mapper = self.mapper
        if self.with_key:
            return RowFunction(lambda key, value: None if value is None else mapper(key, value))
        return RowFunction(lambda key, value: None if value is None else mapper(value))
