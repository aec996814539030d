"""Aggregates of a grouped table: what leaves a group is subtracted, what joins it is added.

A reduction is one, too: it starts with nothing and takes the first value as it is (``ReducingAggregator``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from headrace.errors import StreamsError
from headrace.processors.aggregation import Aggregation, Aggregator, Initializer
from headrace.processors.api import Processor
from headrace.processors.storing import StoringProcessor
from headrace.records import Change, Record


@dataclass
class TableAggregate(Aggregation):
    initializer: Initializer
    adder: Aggregator
    subtractor: Aggregator

    def __call__(self) -> Processor:
        return TableAggregateProcessor(self)


class TableAggregateProcessor(StoringProcessor):
    """Subtracts the old value, then adds the new one. An aggregate of None has no row."""

    def __init__(self, table: TableAggregate) -> None:
        super().__init__(table.store_name, send_old_values=table.send_old_values)
        self._initializer, self._adder, self._subtractor = table.initializer, table.adder, table.subtractor

    def process(self, record: Record[Any, Change]) -> None:
        key = record.key
        if key is None:
            message = f"a group of the aggregate {self._store_name!r} has no key"
            raise StreamsError(message)
        new, old = record.value.new, record.value.old
        held = self._get(key)
        before = aggregate = None if held is None else held.value
        subtracts = old is not None and aggregate is not None
        if subtracts:
            aggregate = self._subtractor(key, old, aggregate)
        if new is not None:
            aggregate = self._adder(key, new, self._initializer() if aggregate is None else aggregate)
        if held is not None and held.timestamp > record.timestamp and (subtracts or new is not None):
            record = record.with_timestamp(held.timestamp)
        self._keep(record, aggregate, before)
