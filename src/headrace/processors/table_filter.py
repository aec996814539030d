"""Rows of a table that fulfil a condition; the others become deletions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from headrace.processors.api import NodeContext, Processor
from headrace.processors.derived_table import DerivedTable, DerivedValueGetter
from headrace.processors.materialized import ValueGetter
from headrace.processors.storing import StoringProcessor
from headrace.records import Change, Record, ValueAndTimestamp

Predicate = Callable[[Any, Any], Any]


@dataclass
class TableFilter(DerivedTable):
    """Keep the rows for which ``predicate(key, value)`` holds, or with ``negate`` those for which it does not.

    Where the parent can send old values, it is asked to: then a row that never passed needs no deletion.
    """

    predicate: Predicate
    negate: bool
    use_versioned_semantics: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        self.send_old_values = self.parent.enable_sending_old_values(False)

    def __call__(self) -> Processor:
        if self.store is None:
            return PassingTableFilter(self)
        return StoringTableFilter(self)

    def getter(self, parent: ValueGetter) -> ValueGetter:
        return FilteringGetter(parent, self.predicate, negate=self.negate)


class PassingTableFilter(Processor):
    """Filters changes; both the new and the old value have to pass."""

    def __init__(self, table: TableFilter) -> None:
        self._predicate, self._negate = table.predicate, table.negate
        self._send_old_values = table.send_old_values
        self._sends_all = table.use_versioned_semantics or not table.send_old_values

    def init(self, context: NodeContext) -> None:
        self._forward = context.forward

    def process(self, record: Record[Any, Change]) -> None:
        key = record.key
        change = record.value
        new, old, is_latest = change.new, change.old, change.is_latest
        if new is not None and bool(self._predicate(key, new)) is self._negate:
            new = None
        if not self._send_old_values or (old is not None and bool(self._predicate(key, old)) is self._negate):
            old = None
        if new is not None or old is not None or self._sends_all:
            self._forward(record.with_value(Change(new, old, is_latest)))


class StoringTableFilter(StoringProcessor):
    """Filters changes and keeps the rows that pass."""

    def __init__(self, table: TableFilter) -> None:
        assert table.store is not None
        super().__init__(table.store.name, send_old_values=table.send_old_values)
        self._predicate, self._negate = table.predicate, table.negate
        self._sends_all = table.use_versioned_semantics or not table.send_old_values

    def process(self, record: Record[Any, Change]) -> None:
        new = record.value.new
        if new is not None and bool(self._predicate(record.key, new)) is self._negate:
            new = None
        old = self._held(record.key)
        if new is not None or old is not None or self._sends_all:
            self._keep(record, new, old)


class FilteringGetter(DerivedValueGetter):
    """Looks up a filtered row."""

    def __init__(self, parent: ValueGetter, predicate: Predicate, *, negate: bool) -> None:
        super().__init__(parent)
        self._predicate, self._negate = predicate, negate

    def compute(self, key: Any, row: ValueAndTimestamp | None) -> ValueAndTimestamp | None:
        """The row, if it passes."""
        return None if row is None or bool(self._predicate(key, row.value)) is self._negate else row
