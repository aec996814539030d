"""Foreign-key join, second step: the right side writes down who subscribed to which of its rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from headrace.processors.api import NodeContext, Processor
from headrace.records import Record, ValueAndTimestamp
from headrace.serde.foreign_key import CombinedKey, CombinedKeySchema, Instruction, Subscription

_DELETIONS = (Instruction.DELETE_KEY_AND_PROPAGATE, Instruction.DELETE_KEY_NO_PROPAGATE)


@dataclass
class ForeignKeyReceive:
    store: Any
    """The builder of the subscription store."""
    schema: CombinedKeySchema

    def __call__(self) -> Processor:
        return ForeignKeyReceiver(self.store.name, self.schema)

    @property
    def stores(self) -> tuple[Any, ...]:
        return (self.store,)


class ForeignKeyReceiver(Processor):
    """Keeps or forgets a subscription, then passes it on under foreign and primary key.

    A left join also sends subscriptions without a foreign key: they are answered, but not kept.
    """

    def __init__(self, store_name: str, schema: CombinedKeySchema) -> None:
        self._store_name = store_name
        self._schema = schema

    def init(self, context: NodeContext) -> None:
        self._store = context.store(self._store_name)
        self._to_bytes = self._schema.resolved(context.config).to_bytes
        self._forward = context.forward
        self._drop = context.drop

    def process(self, record: Record[Any, Subscription]) -> None:
        foreign_key, subscription = record.key, record.value
        key = CombinedKey(foreign_key, subscription.primary_key)
        if foreign_key is not None:
            self._keep(key, record)
        elif subscription.instruction != Instruction.PROPAGATE_NULL_IF_NO_FK_VAL_AVAILABLE:
            self._drop("null foreign key")
            return
        self._forward(record.with_key(key))

    def _keep(self, key: CombinedKey, record: Record[Any, Subscription]) -> None:
        data = self._to_bytes(key)
        if record.value.instruction in _DELETIONS:
            self._store.delete(data)
        else:
            self._store.put(data, ValueAndTimestamp(record.value, record.timestamp, record.headers))
