"""Turns a record into any number of records under its key: ``KStream.flat_map_values``."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from headrace.processors.results import as_many
from headrace.processors.stateless import Fusible, Stateless
from headrace.records import Record


@dataclass
class FlatMapValues(Stateless):
    """Forward a record for each value that the mapper returns.

    The mapper is called with the value, or with key and value where ``with_key`` is set.
    """

    mapper: Callable[..., Iterable[Any]]
    with_key: bool = False

    def process(self, record: Record[Any, Any]) -> None:
        key = record.key
        values = self.mapper(key, record.value) if self.with_key else self.mapper(record.value)
        for value in as_many(values, "flat_map_values", "values", self.mapper):
            self._forward(Record(key, value, record.timestamp, record.headers))

    @property
    def fusible(self) -> Fusible:
        return Fusible("flat_map_values", self.mapper, self.with_key)
