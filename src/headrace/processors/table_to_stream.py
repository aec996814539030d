"""From a table to the stream of its changes: only the new value travels on, None for a deletion."""

from __future__ import annotations

from typing import Any

from headrace.processors.stateless import Fusible, Stateless
from headrace.records import Change, Record


class TableToStream(Stateless):
    def process(self, record: Record[Any, Change]) -> None:
        self._forward(record.with_value(record.value.new))

    @property
    def fusible(self) -> Fusible:
        return Fusible("new_value", None)
