"""Gives records a new key, or a new key and value: ``KStream.map``, ``select_key`` and ``group_by``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from headrace.errors import OperatorTypeError
from headrace.processors.stateless import Fusible, Stateless
from headrace.records import Record


def not_a_pair(result: Any, operator: str) -> OperatorTypeError:
    """The error for a function that returned something else than key and value."""
    return OperatorTypeError(f"{operator}(): the function must return (key, value), not {result!r}")


@dataclass
class Map(Stateless):
    """Forward each record as the pair that ``mapper(key, value)`` returns."""

    mapper: Callable[[Any, Any], tuple[Any, Any]]

    def process(self, record: Record[Any, Any]) -> None:
        """Replace key and value."""
        pair = self.mapper(record.key, record.value)
        try:
            key, value = pair
        except (TypeError, ValueError):
            raise not_a_pair(pair, "map") from None
        self._forward(Record(key, value, record.timestamp, record.headers))

    @property
    def fusible(self) -> Fusible:
        """A map."""
        return Fusible("map", self.mapper)


@dataclass
class SelectKey(Stateless):
    """Forward each record under the key that ``mapper(key, value)`` returns."""

    mapper: Callable[[Any, Any], Any]

    def process(self, record: Record[Any, Any]) -> None:
        """Replace the key."""
        value = record.value
        self._forward(Record(self.mapper(record.key, value), value, record.timestamp, record.headers))

    @property
    def fusible(self) -> Fusible:
        """A change of key."""
        return Fusible("select_key", self.mapper)
