"""Shows records to a function: ``KStream.peek`` and ``KStream.foreach``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from headrace.processors.stateless import Fusible, Stateless
from headrace.records import Record


def nothing(_key: Any, _value: Any) -> None:
    """An action without effect, where only the place of a node is wanted. It costs nothing."""


@dataclass
class Peek(Stateless):
    """Call ``action(key, value)``, then forward the record as it is."""

    action: Callable[[Any, Any], Any]

    def process(self, record: Record[Any, Any]) -> None:
        self.action(record.key, record.value)
        self._forward(record)

    @property
    def fusible(self) -> Fusible:
        return Fusible("peek", self.action)


@dataclass
class Foreach(Stateless):
    """Call ``action(key, value)`` for each record; nothing follows."""

    action: Callable[[Any, Any], Any]

    def process(self, record: Record[Any, Any]) -> None:
        self.action(record.key, record.value)

    @property
    def fusible(self) -> Fusible:
        return Fusible("peek", self.action)
