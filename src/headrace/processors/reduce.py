"""Combines the values of each key into one of the same type (Java: KStreamReduce)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from headrace.processors.aggregate import TableUpdater
from headrace.processors.aggregation import Aggregation, Reducer
from headrace.records import Headers


@dataclass
class Reduce(Aggregation):
    reducer: Reducer

    def __call__(self) -> ReduceProcessor:
        return ReduceProcessor(self)


class ReduceProcessor(TableUpdater):
    """Reduces each record into the row of its key; the first value is the first row.

    A record without key or value is dropped. A result of None deletes the row.
    """

    def __init__(self, supplier: Reduce) -> None:
        super().__init__(supplier)
        self._reducer = supplier.reducer

    def take(self, key: Any, value: Any, timestamp: int, headers: Headers) -> None:
        if key is None or value is None:
            self._drop("null key or value")
            return
        held = self._get(key)
        if held is None or held.value is None:
            self._update(key, None, value, timestamp, headers)
            return
        old = held.value
        self._update(key, old, self._reducer(old, value), max(timestamp, held.timestamp), headers)
