"""Aggregates of a grouped table: what leaves a group is subtracted, what joins it is added."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from headrace.errors import StreamsError
from headrace.processors.api import NodeContext, Processor
from headrace.processors.materialized import ChangeForwarder, StoreValueGetterSupplier, TableStore, ValueGetterSupplier
from headrace.records import Change, Record
from headrace.state.contracts import IS_LATEST, NOT_PUT

Aggregator = Callable[[Any, Any, Any], Any]


@dataclass
class TableAggregate:
    """Supplies the processor that keeps one aggregate per group; always kept in ``store``."""

    store: Any
    """The builder of the store."""
    initializer: Callable[[], Any]
    adder: Aggregator
    subtractor: Aggregator
    send_old_values: bool = field(default=False, init=False)

    def __call__(self) -> Processor:
        """A new processor."""
        return TableAggregateProcessor(self)

    @property
    def stores(self) -> tuple[Any, ...]:
        """The store of the aggregates."""
        return (self.store,)

    def view(self) -> ValueGetterSupplier:
        """How others look the aggregates up."""
        return StoreValueGetterSupplier(self.store.name)

    def enable_sending_old_values(self, force_materialization: bool) -> bool:
        """Let changes carry old values; the store has them."""
        self.send_old_values = True
        return True


class TableAggregateProcessor(Processor):
    """Subtracts the old value, then adds the new one. An aggregate of None has no row."""

    def __init__(self, table: TableAggregate) -> None:
        self._store_name = table.store.name
        self._initializer, self._adder, self._subtractor = table.initializer, table.adder, table.subtractor
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
            message = f"a group of the aggregate {self._store_name!r} has no key"
            raise StreamsError(message)
        new, old = record.value.new, record.value.old
        held = self._get(key)
        before = aggregate = None if held is None else held.value
        timestamp = record.timestamp
        subtracts = old is not None and aggregate is not None
        if subtracts:
            aggregate = self._subtractor(key, old, aggregate)
        if new is not None:
            aggregate = self._adder(key, new, self._initializer() if aggregate is None else aggregate)
        if held is not None and held.timestamp > timestamp and (subtracts or new is not None):
            timestamp = held.timestamp
        valid_to = self._put(key, aggregate, timestamp)
        if valid_to != NOT_PUT and not self._cached:
            change = Change(aggregate, before if self._send_old_values else None, valid_to == IS_LATEST)
            self._forward(Record(key, change, timestamp, record.headers))
