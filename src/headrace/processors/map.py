"""Gives records a new key, or a new key and value: ``KStream.map``, ``select_key`` and ``group_by``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from headrace.processors.results import as_pair
from headrace.processors.stateless import Fusible, Stateless
from headrace.records import Record


@dataclass
class Map(Stateless):
    """Forward each record as the pair that ``mapper(key, value)`` returns."""

    mapper: Callable[[Any, Any], tuple[Any, Any]]

    def process(self, record: Record[Any, Any]) -> None:
        key, value = as_pair(self.mapper(record.key, record.value), "map", self.mapper)
        self._forward(Record(key, value, record.timestamp, record.headers))

    @property
    def fusible(self) -> Fusible:
        return Fusible("map", self.mapper)


@dataclass
class SelectKey(Stateless):
    """Forward each record under the key that ``mapper(key, value)`` returns."""

    mapper: Callable[[Any, Any], Any]

    def process(self, record: Record[Any, Any]) -> None:
        value = record.value
        self._forward(Record(self.mapper(record.key, value), value, record.timestamp, record.headers))

    @property
    def fusible(self) -> Fusible:
        return Fusible("select_key", self.mapper)
