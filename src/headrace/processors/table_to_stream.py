"""From a table to the stream of its changes: only the new value travels on, None for a deletion."""

from __future__ import annotations

from typing import Any

from headrace.processors.api import NodeContext, Processor
from headrace.records import Change, Record


class TableToStream(Processor):
    """Unwraps each change."""

    def init(self, context: NodeContext) -> None:
        """Bind what every record needs."""
        self._forward = context.forward

    def process(self, record: Record[Any, Change]) -> None:
        """Send the new value on."""
        self._forward(record.with_value(record.value.new))
