"""Turns a record into any number of records: ``KStream.flat_map``."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from headrace.errors import OperatorTypeError
from headrace.processors.map import not_a_pair
from headrace.processors.stateless import Fusible, Stateless
from headrace.records import Record


def no_pairs() -> OperatorTypeError:
    """The error for a function that returned None."""
    return OperatorTypeError(
        "flat_map(): the function must return pairs, not None", hint="Return [] where nothing is to follow."
    )


@dataclass
class FlatMap(Stateless):
    """Forward each pair that ``mapper(key, value)`` returns, as a record with the time of its origin."""

    mapper: Callable[[Any, Any], Iterable[tuple[Any, Any]]]

    def process(self, record: Record[Any, Any]) -> None:
        """Replace the record by its pairs."""
        pairs = self.mapper(record.key, record.value)
        if pairs is None:
            raise no_pairs()
        for pair in pairs:
            try:
                key, value = pair
            except (TypeError, ValueError):
                raise not_a_pair(pair, "flat_map") from None
            self._forward(Record(key, value, record.timestamp, record.headers))

    @property
    def fusible(self) -> Fusible:
        """A map to many."""
        return Fusible("flat_map", self.mapper)
