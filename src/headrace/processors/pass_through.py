"""Forwards what it gets: the node of ``KStream.merge``, of a branch and of a merged join result."""

from __future__ import annotations

from typing import Any

from headrace.processors.stateless import Fusible, Stateless
from headrace.records import Record


class PassThrough(Stateless):
    def process(self, record: Record[Any, Any]) -> None:
        self._forward(record)

    @property
    def fusible(self) -> Fusible:
        return Fusible("pass", None)
