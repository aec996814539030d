"""Reductions of a grouped table: like an aggregate, but the first value of a group is its start."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from headrace.errors import StreamsError
from headrace.processors.api import NodeContext, Processor
from headrace.processors.materialized import ChangeForwarder, StoreValueGetterSupplier, TableStore, ValueGetterSupplier
from headrace.records import Change, Record
from headrace.state.contracts import IS_LATEST, NOT_PUT

Reducer = Callable[[Any, Any], Any]


@dataclass
class TableReduce:
    """Supplies the processor that keeps one reduced value per group; always kept in ``store``."""

    store: Any
    """The builder of the store."""
    adder: Reducer
    subtractor: Reducer
    send_old_values: bool = field(default=False, init=False)

    def __call__(self) -> Processor:
        """A new processor."""
        return TableReduceProcessor(self)

    @property
    def stores(self) -> tuple[Any, ...]:
        """The store of the reduced values."""
        return (self.store,)

    def view(self) -> ValueGetterSupplier:
        """How others look the reduced values up."""
        return StoreValueGetterSupplier(self.store.name)

    def enable_sending_old_values(self, force_materialization: bool) -> bool:
        """Let changes carry old values; the store has them."""
        self.send_old_values = True
        return True


class TableReduceProcessor(Processor):
    """Subtracts the old value, then adds the new one; where nothing is left, the new value stands alone."""

    def __init__(self, table: TableReduce) -> None:
        self._store_name = table.store.name
        self._adder, self._subtractor = table.adder, table.subtractor
        self._send_old_values = table.send_old_values

    def init(self, context: NodeContext) -> None:
        """Look up the store and bind what every record needs."""
        store = TableStore(context, self._store_name)
        self._get, self._put = store.get, store.put
        self._forward = ChangeForwarder(context, store.store, send_old_values=self._send_old_values)
        self._cached = self._forward.caching

    def process(self, record: Record[Any, Change]) -> None:
        """Apply one change to its group."""
        key = record.key
        if key is None:
            message = f"a group of the reduction {self._store_name!r} has no key"
            raise StreamsError(message)
        new, old = record.value.new, record.value.old
        held = self._get(key)
        before = reduced = None if held is None else held.value
        touches_held = False
        if old is not None and reduced is not None:
            reduced = self._subtractor(reduced, old)
            touches_held = True
        if new is not None:
            if reduced is None:
                reduced = new
            else:
                reduced = self._adder(reduced, new)
                touches_held = True
        timestamp = max(record.timestamp, held.timestamp) if touches_held and held is not None else record.timestamp
        valid_to = self._put(key, reduced, timestamp)
        if valid_to != NOT_PUT and not self._cached:
            change = Change(reduced, before if self._send_old_values else None, valid_to == IS_LATEST)
            self._forward(Record(key, change, timestamp, record.headers))
