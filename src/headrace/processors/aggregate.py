"""Folds the values of each key into one aggregate (Java: KStreamAggregate)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from headrace.processors.aggregation import (
    Aggregation,
    Aggregator,
    Initializer,
    count_aggregator,
    count_initializer,
)
from headrace.processors.api import NodeContext, Processor
from headrace.processors.count_batches import CountBatches
from headrace.processors.materialized import ChangeForwarder, TableStore
from headrace.records import Change, Headers, Record, ValueAndTimestamp
from headrace.state.contracts import IS_LATEST, NOT_PUT


class TableUpdater(Processor):
    """Keeps one row per key in a timestamped or versioned store, and forwards what changed."""

    _forward: Callable[[Any, Any, int, Headers], None] | None
    _put_version: Callable[[Any, Any, int], int] | None

    def __init__(self, supplier: Aggregation) -> None:
        self._store_name = supplier.store_name
        self._send_old = supplier.send_old_values

    def init(self, context: NodeContext) -> None:
        """Look the store up; where it is cached, the cache forwards."""
        self.context = context
        table = TableStore(context, self._store_name)
        forwarder = ChangeForwarder(context, table.store, send_old_values=self._send_old)
        self._drop = context.drop
        self._forward = None if forwarder.caching else context.forward_parts
        self._table_store = table.store
        self._get = table.get
        self._put = table.store.put
        self._put_version = table.put if table.is_versioned else None

    def process(self, record: Record[Any, Any]) -> None:
        self.take(record.key, record.value, record.timestamp, record.headers)

    def take(self, key: Any, value: Any, timestamp: int, headers: Headers) -> None:
        raise NotImplementedError

    def _update(self, key: Any, old: Any, new: Any, timestamp: int, headers: Headers) -> None:
        valid_to = IS_LATEST
        if self._put_version is None:
            self._put(key, None if new is None else ValueAndTimestamp(new, timestamp))
        else:
            valid_to = self._put_version(key, new, timestamp)
        if self._forward is not None and valid_to != NOT_PUT:
            self._forward(key, Change(new, old if self._send_old else None, valid_to == IS_LATEST), timestamp, headers)


@dataclass
class Aggregate(Aggregation):
    initializer: Initializer
    aggregator: Aggregator

    def __call__(self) -> AggregateProcessor:
        return AggregateProcessor(self)


class AggregateProcessor(TableUpdater):
    """Folds each record into the aggregate of its key; its time is the latest of the records folded in.

    A record without key or value is dropped. An aggregate that becomes None deletes the row.
    """

    def __init__(self, supplier: Aggregate) -> None:
        super().__init__(supplier)
        self._initializer = supplier.initializer
        self._aggregator = supplier.aggregator

    def batches(self, key_serde: Any, value_serde: Any) -> CountBatches | None:
        """What takes whole batches from a source with these serdes; None where there is no such thing."""
        is_count = self._aggregator is count_aggregator and self._initializer is count_initializer
        store = self._table_store
        if not is_count or self._forward is not None or not CountBatches.fits(store, key_serde):
            return None
        return CountBatches(store, key_serde, value_serde)

    def take(self, key: Any, value: Any, timestamp: int, headers: Headers) -> None:
        if key is None or value is None:
            self._drop("null key or value")
            return
        held = self._get(key)
        # As in Kafka, the first change of a key carries the initial value as its old value.
        if held is None or (old := held.value) is None:
            old = self._initializer()
        elif held.timestamp > timestamp:
            timestamp = held.timestamp
        self._update(key, old, self._aggregator(key, value, old), timestamp, headers)
