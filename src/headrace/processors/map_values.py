"""Gives records a new value under the same key: ``KStream.map_values``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from headrace.processors.stateless import Fusible, Stateless
from headrace.records import Record


@dataclass
class MapValues(Stateless):
    """Forward each record with the value that ``mapper(value)`` returns."""

    mapper: Callable[[Any], Any]

    def process(self, record: Record[Any, Any]) -> None:
        self._forward(Record(record.key, self.mapper(record.value), record.timestamp, record.headers))

    @property
    def fusible(self) -> Fusible:
        return Fusible("map_values", self.mapper, with_key=False)


@dataclass
class MapValuesWithKey(Stateless):
    """Forward each record with the value that ``mapper(key, value)`` returns."""

    mapper: Callable[[Any, Any], Any]

    def process(self, record: Record[Any, Any]) -> None:
        key = record.key
        self._forward(Record(key, self.mapper(key, record.value), record.timestamp, record.headers))

    @property
    def fusible(self) -> Fusible:
        return Fusible("map_values", self.mapper)
