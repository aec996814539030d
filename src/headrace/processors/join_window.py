"""Keeps one side of a windowed join, so that later records of the other side find it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from headrace.processors.api import NodeContext, Processor
from headrace.records import Record, ValueAndTimestamp
from headrace.state.kinds import WINDOW


@dataclass(frozen=True)
class JoinWindow:
    """Supplies the processors of one side; ``store`` is the builder of its window store."""

    store: Any

    @property
    def stores(self) -> tuple[Any, ...]:
        return (self.store,)

    def __call__(self) -> JoinWindowProcessor:
        return JoinWindowProcessor(self.store.name)


class JoinWindowProcessor(Processor):
    """Forward each record to the join, then store it: a record never meets itself."""

    def __init__(self, store_name: str) -> None:
        self._store_name = store_name

    def init(self, context: NodeContext) -> None:
        self._forward = context.forward
        store = context.store(self._store_name)
        self._put = store.put
        self._is_plain = store.kind == WINDOW

    def process(self, record: Record[Any, Any]) -> None:
        """Join, then store. A record without a key can never be found again, so it is not stored."""
        self._forward(record)
        if record.key is None:
            return
        value, timestamp = record.value, record.timestamp
        if not self._is_plain:
            value = ValueAndTimestamp.make(value, timestamp, record.headers)
        self._put(record.key, value, timestamp)
