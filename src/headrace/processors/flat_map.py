"""Turns a record into any number of records: ``KStream.flat_map``."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from headrace.processors.results import as_many, as_pair
from headrace.processors.stateless import Fusible, Stateless
from headrace.records import Record


@dataclass
class FlatMap(Stateless):
    """Forward each pair that ``mapper(key, value)`` returns, as a record with the time of its origin."""

    mapper: Callable[[Any, Any], Iterable[tuple[Any, Any]]]

    def process(self, record: Record[Any, Any]) -> None:
        pairs = self.mapper(record.key, record.value)
        for pair in as_many(pairs, "flat_map", "pairs", self.mapper):
            key, value = as_pair(pair, "flat_map", self.mapper)
            self._forward(Record(key, value, record.timestamp, record.headers))

    @property
    def fusible(self) -> Fusible:
        return Fusible("flat_map", self.mapper)
