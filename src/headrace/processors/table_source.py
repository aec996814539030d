"""The first step of a table: records become rows, kept in a store where someone needs them there."""

from __future__ import annotations

import logging
from typing import Any

from headrace.processors.api import NodeContext, Processor
from headrace.processors.materialized import ValueGetterSupplier, rows_in_store
from headrace.processors.storing import StoringProcessor
from headrace.records import Change, Record

logger = logging.getLogger(__name__)


class TableSource:
    """Supplies the processor that reads a stream of records as the changes of a table (Java: KTableSource).

    The table is kept in a store when its store was named, when something downstream looks rows up, or
    when something downstream needs old values. ``store`` is the builder of that store, ``queryable_name`` its
    name if it was named.
    """

    def __init__(self, store: Any, queryable_name: str | None) -> None:
        self.store = store
        self.store_name: str = store.name
        self.queryable_name = queryable_name
        self.send_old_values = False

    def __call__(self) -> Processor:
        if self.queryable_name is None:
            return PassingTableSource()
        return StoringTableSource(self.queryable_name, send_old_values=self.send_old_values)

    @property
    def stores(self) -> tuple[Any, ...]:
        return (self.store,) if self.materialized else ()

    @property
    def materialized(self) -> bool:
        return self.queryable_name is not None

    def materialize(self) -> None:
        """Keep the table in its store from now on."""
        self.queryable_name = self.store_name

    def view(self) -> ValueGetterSupplier:
        """How others look the table up. A table that is looked up has to be kept in a store."""
        self.materialize()
        return rows_in_store(self.store_name)

    def enable_sending_old_values(self, force_materialization: bool) -> bool:
        if not force_materialization and not self.materialized:
            return False
        self.materialize()
        self.send_old_values = True
        return True


class PassingTableSource(Processor):
    """A table without a store: every record is a change without an old value."""

    def init(self, context: NodeContext) -> None:
        self._forward = context.forward
        self._drop = context.drop

    def process(self, record: Record[Any, Any]) -> None:
        if record.key is None:
            self._drop("null key")
        else:
            self._forward(record.with_value(Change(record.value, None)))


class StoringTableSource(StoringProcessor):
    """A table kept in a store: each record replaces the row of its key, also when it is older than the row.

    A versioned store may refuse a row that lies before its history; such a row is not sent on.
    """

    def init(self, context: NodeContext) -> None:
        super().init(context)
        self._drop = context.drop

    def process(self, record: Record[Any, Any]) -> None:
        key = record.key
        if key is None:
            self._drop("null key")
            return
        held = self._get(key)
        if held is not None and record.timestamp < held.timestamp:
            self._warn_out_of_order(held.timestamp, record.timestamp)
        self._keep(record, record.value, None if held is None else held.value)

    def _warn_out_of_order(self, held_ms: int, given_ms: int) -> None:
        logger.warning(
            "out-of-order update of table %s: a row of %d ms gives way to one of %d ms",
            self._store_name,
            held_ms,
            given_ms,
        )
