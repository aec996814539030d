"""A processor that keeps a table: what it computes goes into a store, then on, unless the store's cache does that."""

from __future__ import annotations

from typing import Any

from headrace.processors.api import NodeContext, Processor
from headrace.processors.materialized import ChangeForwarder, TableStore
from headrace.records import Change, Record
from headrace.state.contracts import IS_LATEST, NOT_PUT


class StoringProcessor(Processor):
    """A processor that keeps the rows it computes. Its store gives the old values."""

    def __init__(self, store_name: str, *, send_old_values: bool) -> None:
        self._store_name = store_name
        self._send_old_values = send_old_values

    def init(self, context: NodeContext) -> None:
        store = TableStore(context, self._store_name)
        self._get, self._put = store.get, store.put
        self._forward = ChangeForwarder(context, store.store, send_old_values=self._send_old_values)
        self._cached = self._forward.caching

    def _held(self, key: Any) -> Any:
        """The value the store holds, where old values are wanted."""
        row = self._get(key) if self._send_old_values else None
        return None if row is None else row.value

    def _keep(self, record: Record[Any, Any], new: Any, old: Any) -> None:
        """Store the row, then send the change on, unless the store refused the row as too old."""
        valid_to = self._put(record.key, new, record.timestamp)
        if valid_to != NOT_PUT and not self._cached:
            self._forward(record.with_value(Change(new, old, valid_to == IS_LATEST)))
