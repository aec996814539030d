"""Lets records pass, or not: ``KStream.filter``, ``KStream.filter_not`` and the null-key filter of repartitions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from headrace.processors.stateless import Fusible, Stateless
from headrace.records import Record


@dataclass
class Filter(Stateless):
    """Forward the records for which ``predicate(key, value)`` holds; with ``negate``, the others."""

    predicate: Callable[[Any, Any], Any]
    negate: bool = False

    def process(self, record: Record[Any, Any]) -> None:
        if (not self.predicate(record.key, record.value)) is self.negate:
            self._forward(record)

    @property
    def fusible(self) -> Fusible:
        return Fusible("filter_not" if self.negate else "filter", self.predicate)


def has_key(key: Any, value: Any) -> bool:
    """The predicate of repartitions: a fused loop asks it without a call."""
    return key is not None
