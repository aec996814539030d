"""Foreign-key join, last step: the left side joins a response with its row, if the row is still the same."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headrace.partitioning import murmur3_128
from headrace.processors.api import NodeContext, Processor
from headrace.processors.materialized import ValueGetterSupplier
from headrace.records import Record
from headrace.serde.defaults import resolve_value_serde
from headrace.serde.foreign_key import Response, value_hash_topic

if TYPE_CHECKING:
    from headrace.serde import Serde


@dataclass
class ForeignKeyResolve:
    primary_table: ValueGetterSupplier
    value_serde: Serde[Any] | None
    topic: str
    """The subscription topic, without the application's prefix."""
    joiner: Callable[[Any, Any], Any]
    left_join: bool

    def __call__(self) -> Processor:
        return ForeignKeyResolver(self)


class ForeignKeyResolver(Processor):
    """Joins left row and response. A response to an earlier value of the row is stale: it is dropped and counted."""

    def __init__(self, settings: ForeignKeyResolve) -> None:
        self._settings = settings
        self._primary_table = settings.primary_table.get()
        self._joiner, self._left_join = settings.joiner, settings.left_join

    def init(self, context: NodeContext) -> None:
        self._primary_table.init(context, as_flushed=True)
        self._lookup = self._primary_table.get
        self._topic = value_hash_topic(context.internal_topic(self._settings.topic))
        self._serialize = resolve_value_serde(self._settings.value_serde, context.config).serialize
        self._forward = context.forward
        self._drop = context.drop

    def process(self, record: Record[Any, Response]) -> None:
        row = self._lookup(record.key)
        left = None if row is None else row.value
        if self._hash(left) != record.value.hash:
            self._drop("stale response of a foreign-key join")
            return
        right = record.value.foreign_value
        is_deletion = right is None and (left is None or not self._left_join)
        self._forward(record.with_value(None if is_deletion else self._joiner(left, right)))

    def _hash(self, value: Any) -> bytes | None:
        data = None if value is None else self._serialize(self._topic, value)
        return None if data is None else murmur3_128(data)

    def close(self) -> None:
        self._primary_table.close()
