"""Sends each record to the first branch that wants it: ``KStream.split``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from headrace.processors.api import NodeContext
from headrace.processors.stateless import Stateless
from headrace.records import Record


@dataclass
class Branch(Stateless):
    """Forward to the child of the first predicate that holds; else to the default child, where there is one.

    ``children`` has one name per predicate and, once the default branch was asked for, one more.
    """

    predicates: list[Callable[[Any, Any], Any]] = field(default_factory=list)
    children: list[str] = field(default_factory=list)

    def init(self, context: NodeContext) -> None:
        self._forward_to = context.forward
        self._routes = tuple(zip(self.predicates, self.children, strict=False))
        self._default = self.children[len(self.predicates)] if len(self.children) > len(self.predicates) else None

    def process(self, record: Record[Any, Any]) -> None:
        key, value = record.key, record.value
        for predicate, child in self._routes:
            if predicate(key, value):
                self._forward_to(record, child)
                return
        if self._default is not None:
            self._forward_to(record, self._default)
