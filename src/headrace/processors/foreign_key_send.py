"""Foreign-key join, first step: a change of the left table subscribes to the right row it names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from headrace.partitioning import murmur3_128
from headrace.processors.api import NodeContext, Processor
from headrace.records import Change, Record
from headrace.serde.defaults import resolve_key_serde, resolve_value_serde
from headrace.serde.foreign_key import Instruction, Subscription, foreign_key_topic, value_hash_topic

if TYPE_CHECKING:
    from headrace.serde import Serde


@dataclass
class ForeignKeySend:
    """Supplies the processor that sends subscriptions. With ``with_key`` the extractor takes key and value."""

    extractor: Callable[..., Any]
    with_key: bool
    topic: str
    """The subscription topic, without the application's prefix."""
    foreign_key_serde: Serde[Any] | None
    value_serde: Serde[Any] | None
    left_join: bool
    use_versioned_semantics: bool = field(default=False, init=False)

    def __call__(self) -> Processor:
        return LeftForeignKeySender(self) if self.left_join else InnerForeignKeySender(self)


class ForeignKeySender(Processor):
    """What both kinds of join share: extracting foreign keys, comparing them, sending subscriptions."""

    def __init__(self, settings: ForeignKeySend) -> None:
        self._settings = settings
        self._extractor, self._with_key = settings.extractor, settings.with_key
        self._only_latest = settings.use_versioned_semantics

    def init(self, context: NodeContext) -> None:
        topic = context.internal_topic(self._settings.topic)
        self._foreign_key_topic, self._value_topic = foreign_key_topic(topic), value_hash_topic(topic)
        self._serialize_key = resolve_key_serde(self._settings.foreign_key_serde, context.config).serialize
        self._serialize_value = resolve_value_serde(self._settings.value_serde, context.config).serialize
        self._context = context
        self._forward = context.forward
        self._drop = context.drop

    def process(self, record: Record[Any, Change]) -> None:
        """Tell the right side what the change means for the subscriptions of this row."""
        if self._only_latest and not record.value.is_latest:
            self._drop("out-of-order row of a versioned table")
        else:
            self.subscribe(record)

    def subscribe(self, record: Record[Any, Change]) -> None:
        raise NotImplementedError

    def _extract(self, key: Any, value: Any) -> Any:
        if value is None:
            return None
        return self._extractor(key, value) if self._with_key else self._extractor(value)

    def _differ(self, foreign_key: Any, other: Any) -> bool:
        # Their bytes decide, because the bytes choose the partition.
        topic = self._foreign_key_topic
        return self._serialize_key(topic, foreign_key) != self._serialize_key(topic, other)

    def _hash(self, value: Any) -> bytes | None:
        data = None if value is None else self._serialize_value(self._value_topic, value)
        return None if data is None else murmur3_128(data)

    def _send(
        self, record: Record[Any, Change], foreign_key: Any, instruction: Instruction, hashed: bytes | None
    ) -> None:
        origin = self._context.record_context
        partition = -1 if origin is None else origin.partition
        subscription = Subscription(hashed, instruction, record.key, partition)
        self._forward(Record(foreign_key, subscription, record.timestamp, record.headers))


class InnerForeignKeySender(ForeignKeySender):
    """Subscriptions of an inner join: a row without a foreign key has none."""

    def subscribe(self, record: Record[Any, Change]) -> None:
        """Move the subscription along with the foreign key; a row that loses it loses its result."""
        new, old = record.value.new, record.value.old
        left = self._extract(record.key, old)
        joined = self._extract(record.key, new)
        hashed = self._hash(new) if left is not None or joined is not None else None
        if joined is None:
            if new is not None:
                self._drop("null foreign key")
            if left is not None:
                self._send(record, left, Instruction.DELETE_KEY_AND_PROPAGATE, hashed)
        elif left is not None and self._differ(joined, left):
            self._send(record, left, Instruction.DELETE_KEY_NO_PROPAGATE, hashed)
            self._send(record, joined, Instruction.PROPAGATE_NULL_IF_NO_FK_VAL_AVAILABLE, hashed)
        else:
            # The first row, or the same foreign key: without a right row there never was a result to take back.
            self._send(record, joined, Instruction.PROPAGATE_ONLY_IF_FK_VAL_AVAILABLE, hashed)


class LeftForeignKeySender(ForeignKeySender):
    """Subscriptions of a left join: every change wants a response, also one without a foreign key."""

    def subscribe(self, record: Record[Any, Change]) -> None:
        """Give up the old subscription where the foreign key changed, then ask for the new one."""
        new, old = record.value.new, record.value.old
        if new is None and old is None:
            return
        left = self._extract(record.key, old)
        joined = self._extract(record.key, new)
        hashed = self._hash(new)
        if left is not None and self._differ(joined, left):
            self._send(record, left, Instruction.DELETE_KEY_NO_PROPAGATE, hashed)
        self._send(record, joined, Instruction.PROPAGATE_NULL_IF_NO_FK_VAL_AVAILABLE, hashed)
