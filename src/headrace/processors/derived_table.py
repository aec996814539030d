"""Tables computed row by row from another table: what filter, map_values and transform_values share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from headrace.processors.api import NodeContext, Processor
from headrace.processors.materialized import TableSupplier, ValueGetterSupplier, rows_in_store
from headrace.processors.storing import StoringProcessor
from headrace.records import NO_HEADERS, NO_TIMESTAMP, Change, Record, RecordContext, ValueAndTimestamp


class RowFunction:
    """Computes the value of a row from that of the parent's row; each processor and each getter has its own."""

    sees_context = False
    """Whether it can see which record is being processed."""

    def __init__(self, compute: Callable[[Any, Any], Any]) -> None:
        self.compute = compute
        """``(key, value)``; None is a row that is not there, before and after."""

    def init(self, context: NodeContext) -> None: ...

    def close(self) -> None: ...


@dataclass
class DerivedTable(ABC):
    """The supplier of a table that is computed from ``parent``, and kept only where ``store`` is given.

    A table that is not kept is looked up by computing the row of its parent again.
    """

    parent: TableSupplier
    store: Any | None
    """The builder of the store, or None."""
    send_old_values: bool = field(default=False, init=False)

    def __call__(self) -> Processor:
        return PassingRows(self) if self.store is None else StoringRows(self, self.store.name)

    @property
    def stores(self) -> tuple[Any, ...]:
        return () if self.store is None else (self.store,)

    @property
    def sends_all(self) -> bool:
        """Whether also changes from no row to no row are sent on."""
        return True

    def view(self) -> ValueGetterSupplier:
        if self.store is not None:
            return rows_in_store(self.store.name)
        rows = self.parent.view()
        return ValueGetterSupplier(rows.store_names, partial(DerivedValueGetter, rows, self))

    def enable_sending_old_values(self, force_materialization: bool) -> bool:
        """Let changes carry old values, from the own store or from the parent."""
        if self.store is not None or self.parent.enable_sending_old_values(force_materialization):
            self.send_old_values = True
        return self.send_old_values

    @abstractmethod
    def function(self) -> RowFunction: ...


class PassingRows(Processor):
    """Computes the new value and, where they are wanted, the old one."""

    def __init__(self, table: DerivedTable) -> None:
        self._function = table.function()
        self._send_old_values, self._sends_all = table.send_old_values, table.sends_all

    def init(self, context: NodeContext) -> None:
        self._function.init(context)
        self._compute, self._forward = self._function.compute, context.forward

    def process(self, record: Record[Any, Change]) -> None:
        change = record.value
        new = self._compute(record.key, change.new)
        old = self._compute(record.key, change.old) if self._send_old_values else None
        if self._sends_all or new is not None or old is not None:
            self._forward(record.with_value(Change(new, old, change.is_latest)))

    def close(self) -> None:
        self._function.close()


class StoringRows(StoringProcessor):
    """Computes the new value and keeps it; the store knows the old one."""

    def __init__(self, table: DerivedTable, store_name: str) -> None:
        super().__init__(store_name, send_old_values=table.send_old_values)
        self._function, self._sends_all = table.function(), table.sends_all

    def init(self, context: NodeContext) -> None:
        self._function.init(context)
        self._compute = self._function.compute
        super().init(context)

    def process(self, record: Record[Any, Change]) -> None:
        new, old = self._compute(record.key, record.value.new), self._held(record.key)
        if self._sends_all or new is not None or old is not None:
            self._keep(record, new, old)

    def close(self) -> None:
        self._function.close()


class DerivedValueGetter:
    """Looks up the parent's row and computes this table's from it."""

    def __init__(self, parent: ValueGetterSupplier, table: DerivedTable) -> None:
        self._parent, self._function = parent.get(), table.function()

    def init(self, context: NodeContext, *, as_flushed: bool = False) -> None:
        self._parent.init(context, as_flushed=as_flushed)
        self._context = context
        self._function.init(context)

    def get(self, key: Any) -> ValueAndTimestamp | None:
        return self._computed(key, self._parent.get(key))

    def get_as_of(self, key: Any, timestamp: int) -> ValueAndTimestamp | None:
        return self._computed(key, self._parent.get_as_of(key, timestamp))

    @property
    def is_versioned(self) -> bool:
        return self._parent.is_versioned

    def close(self) -> None:
        self._parent.close()
        self._function.close()

    def _computed(self, key: Any, row: ValueAndTimestamp | None) -> ValueAndTimestamp | None:
        value, timestamp, headers = (
            (None, NO_TIMESTAMP, NO_HEADERS) if row is None else (row.value, row.timestamp, row.headers)
        )
        if not self._function.sees_context:
            return ValueAndTimestamp.make(self._function.compute(key, value), timestamp, headers)
        # It sees the row as the record being processed; where that once came from is not known any more.
        current, self._context.record_context = (
            self._context.record_context,
            RecordContext(timestamp, -1, -1, None, headers),
        )
        value = self._function.compute(key, value)
        self._context.record_context = current
        return ValueAndTimestamp.make(value, timestamp, headers)
