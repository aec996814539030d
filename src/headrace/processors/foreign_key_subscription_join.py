"""Foreign-key join, third step: a subscription is answered with the right row."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.processors.api import NodeContext, Processor
from headrace.processors.materialized import ValueGetterSupplier
from headrace.records import Record
from headrace.serde.foreign_key import CombinedKey, Instruction, Response, Subscription


@dataclass
class ForeignKeySubscriptionJoin:
    foreign_table: ValueGetterSupplier

    def __call__(self) -> Processor:
        return ForeignKeySubscriptionJoiner(self.foreign_table)


class ForeignKeySubscriptionJoiner(Processor):
    """Answers as the subscription's instruction says; the later of the two timestamps counts."""

    def __init__(self, foreign_table: ValueGetterSupplier) -> None:
        self._foreign_table = foreign_table.get()

    def init(self, context: NodeContext) -> None:
        self._foreign_table.init(context, as_flushed=True)
        self._forward = context.forward

    def process(self, record: Record[CombinedKey, Subscription]) -> None:
        foreign_key, primary_key = record.key
        subscription = record.value
        instruction = subscription.instruction
        row = None if foreign_key is None else self._foreign_table.get(foreign_key)
        if instruction == Instruction.DELETE_KEY_NO_PROPAGATE:
            return
        if instruction == Instruction.PROPAGATE_ONLY_IF_FK_VAL_AVAILABLE and row is None:
            return
        answer = None if row is None or instruction == Instruction.DELETE_KEY_AND_PROPAGATE else row.value
        response = Response(subscription.hash, answer, subscription.primary_partition)
        timestamp = record.timestamp if row is None else max(record.timestamp, row.timestamp)
        self._forward(Record(primary_key, response, timestamp, record.headers))

    def close(self) -> None:
        self._foreign_table.close()
