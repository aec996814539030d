"""Foreign-key join, the other trigger: a change of a right row is sent to everyone who subscribed to it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from headrace import serde
from headrace.processors.api import NodeContext, Processor
from headrace.records import Change, Record
from headrace.serde.foreign_key import CombinedKeySchema, Response


@dataclass
class ForeignKeyTableJoin:
    store: Any
    """The builder of the subscription store."""
    schema: CombinedKeySchema
    use_versioned_semantics: bool = field(default=False, init=False)

    def __call__(self) -> Processor:
        return ForeignKeyTableJoiner(self)

    @property
    def stores(self) -> tuple[Any, ...]:
        return (self.store,)


class ForeignKeyTableJoiner(Processor):
    """Sends one response per subscriber, in the order of the subscribers' serialised keys."""

    def __init__(self, settings: ForeignKeyTableJoin) -> None:
        self._store_name = settings.store.name
        self._schema = settings.schema
        self._only_latest = settings.use_versioned_semantics

    def init(self, context: NodeContext) -> None:
        self._store = context.store(self._store_name)
        self._schema = self._schema.resolved(context.config)
        self._prefix_serde = serde.bytes()
        self._forward = context.forward
        self._drop = context.drop

    def process(self, record: Record[Any, Change]) -> None:
        if record.key is None:
            self._drop("null key")
        elif self._only_latest and not record.value.is_latest:
            self._drop("out-of-order row of a versioned table")
        else:
            self._respond(record)

    def _respond(self, record: Record[Any, Change]) -> None:
        with self._store.prefix_scan(self._schema.prefix(record.key), self._prefix_serde) as subscriptions:
            for data, held in subscriptions:
                subscription = held.value
                response = Response(subscription.hash, record.value.new, subscription.primary_partition)
                primary_key = self._schema.from_bytes(data).primary_key
                self._forward(Record(primary_key, response, record.timestamp, record.headers))
