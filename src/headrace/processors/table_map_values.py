"""A table with the values of another one mapped; deletions pass as they are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from headrace.processors.api import NodeContext, Processor
from headrace.processors.derived_table import DerivedTable, DerivedValueGetter
from headrace.processors.materialized import ValueGetter
from headrace.processors.storing import StoringProcessor
from headrace.records import Change, Record, ValueAndTimestamp


@dataclass
class TableMapValues(DerivedTable):
    """Map each value: ``mapper(value)``, or ``mapper(key, value)`` with ``with_key``."""

    mapper: Callable[..., Any]
    with_key: bool

    def __call__(self) -> Processor:
        if self.store is None:
            return PassingTableMapValues(self)
        return StoringTableMapValues(self)

    def getter(self, parent: ValueGetter) -> ValueGetter:
        return MappingGetter(parent, self)


class PassingTableMapValues(Processor):
    """Maps the new value and, where they are wanted, the old one."""

    def __init__(self, table: TableMapValues) -> None:
        self._mapper, self._with_key = table.mapper, table.with_key
        self._send_old_values = table.send_old_values

    def init(self, context: NodeContext) -> None:
        self._forward = context.forward

    def process(self, record: Record[Any, Change]) -> None:
        change = record.value
        new, old, is_latest = change.new, change.old, change.is_latest
        if new is not None:
            new = self._mapper(record.key, new) if self._with_key else self._mapper(new)
        if not self._send_old_values:
            old = None
        elif old is not None:
            old = self._mapper(record.key, old) if self._with_key else self._mapper(old)
        self._forward(record.with_value(Change(new, old, is_latest)))


class StoringTableMapValues(StoringProcessor):
    """Maps the new value and keeps it."""

    def __init__(self, table: TableMapValues) -> None:
        assert table.store is not None
        super().__init__(table.store.name, send_old_values=table.send_old_values)
        self._mapper, self._with_key = table.mapper, table.with_key

    def process(self, record: Record[Any, Change]) -> None:
        new = record.value.new
        if new is not None:
            new = self._mapper(record.key, new) if self._with_key else self._mapper(new)
        self._keep(record, new, self._held(record.key))


class MappingGetter(DerivedValueGetter):
    """Looks up a row and maps it."""

    def __init__(self, parent: ValueGetter, table: TableMapValues) -> None:
        super().__init__(parent)
        self._mapper, self._with_key = table.mapper, table.with_key

    def compute(self, key: Any, row: ValueAndTimestamp | None) -> ValueAndTimestamp | None:
        """The mapped row; none where the mapper gives None."""
        if row is None:
            return None
        value = self._mapper(key, row.value) if self._with_key else self._mapper(row.value)
        return ValueAndTimestamp.make(value, row.timestamp, row.headers)
