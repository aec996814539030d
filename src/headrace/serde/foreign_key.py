"""Bytes of the foreign-key join: subscriptions, responses, and the keys of the subscription store.

The left table subscribes to rows of the right one, which responds. Both messages travel over internal topics in the
same format as Kafka Streams writes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import IntEnum
from typing import TYPE_CHECKING, Any, NamedTuple

from headrace.errors import SerializationError
from headrace.serde.defaults import SerdeSettings, resolve_key_serde, resolve_value_serde

if TYPE_CHECKING:
    from headrace.serde import Serde

_NO_HASH = 0x80
_HASH_SIZE = 16
_SUBSCRIPTION_VERSION = 1
_RESPONSE_VERSION = 0


class Instruction(IntEnum):
    """What the right side does with a subscription."""

    DELETE_KEY_NO_PROPAGATE = 0
    """Forget it; no response."""
    DELETE_KEY_AND_PROPAGATE = 1
    """Forget it; respond with null."""
    PROPAGATE_NULL_IF_NO_FK_VAL_AVAILABLE = 2
    """Keep it; respond with the row, or with null where there is none."""
    PROPAGATE_ONLY_IF_FK_VAL_AVAILABLE = 3
    """Keep it; respond if there is a row."""


class Subscription(NamedTuple):
    """A left row asks for a right row. ``hash`` is that of the left value at that time; None for a deletion."""

    hash: bytes | None
    instruction: Instruction
    primary_key: Any
    primary_partition: int | None
    """The partition of the left row; None from a version of Kafka Streams that did not send it."""


class Response(NamedTuple):
    """The right side's answer. ``primary_partition`` says where it goes and is not part of the bytes."""

    hash: bytes | None
    foreign_value: Any
    primary_partition: int | None = None


class CombinedKey(NamedTuple):
    """The key of a subscription in the store of the right side."""

    foreign_key: Any
    primary_key: Any


@dataclass(frozen=True, slots=True)
class SubscriptionSerde:
    """Subscriptions: version and hash flag, instruction, hash, primary key, partition."""

    topic: str
    """The subscription topic, without the application's prefix."""
    primary_key_serde: Serde[Any] | None
    primary_key_topic: str = ""

    def with_defaults(self, config: SerdeSettings, is_key: bool) -> SubscriptionSerde:
        return replace(
            self,
            primary_key_serde=resolve_key_serde(self.primary_key_serde, config),
            primary_key_topic=primary_key_topic(f"{config.application_id}-{self.topic}"),
        )

    def serialize(self, topic: str, value: Subscription | None) -> bytes | None:
        if value is None:
            return None
        assert self.primary_key_serde is not None
        key = self.primary_key_serde.serialize(self.primary_key_topic, value.primary_key) or b""
        if value.primary_partition is None:
            return _head(0, value.hash, value.instruction) + key
        partition = value.primary_partition.to_bytes(4, "big", signed=True)
        return _head(_SUBSCRIPTION_VERSION, value.hash, value.instruction) + key + partition

    def deserialize(self, topic: str, data: bytes | None) -> Subscription | None:
        if data is None:
            return None
        assert self.primary_key_serde is not None
        version = _version(data, _SUBSCRIPTION_VERSION)
        hashed, start = _hash_at(data, 2)
        end = len(data) - 4 if version else len(data)
        return Subscription(
            hashed,
            Instruction(data[1]),
            self.primary_key_serde.deserialize(self.primary_key_topic, data[start:end]),
            int.from_bytes(data[end:], "big", signed=True) if version else None,
        )


@dataclass(frozen=True, slots=True)
class ResponseSerde:
    """Responses: version and hash flag, hash, the right value (nothing for null)."""

    value_serde: Serde[Any] | None

    def with_defaults(self, config: SerdeSettings, is_key: bool) -> ResponseSerde:
        return ResponseSerde(resolve_value_serde(self.value_serde, config))

    def serialize(self, topic: str, value: Response | None) -> bytes | None:
        if value is None:
            return None
        assert self.value_serde is not None
        foreign = None if value.foreign_value is None else self.value_serde.serialize(topic, value.foreign_value)
        return _head(_RESPONSE_VERSION, value.hash) + (foreign or b"")

    def deserialize(self, topic: str, data: bytes | None) -> Response | None:
        if data is None:
            return None
        assert self.value_serde is not None
        _version(data, _RESPONSE_VERSION)
        hashed, start = _hash_at(data, 1)
        # An empty value cannot be told from none in this format.
        foreign = self.value_serde.deserialize(topic, data[start:]) if len(data) > start else None
        return Response(hashed, foreign)


@dataclass(frozen=True, slots=True)
class CombinedKeySchema:
    """Keys of the subscription store: length of the foreign key, foreign key, primary key."""

    topic: str
    """The subscription topic, with the application's prefix once it is known."""
    foreign_key_serde: Serde[Any] | None
    primary_key_serde: Serde[Any] | None

    def resolved(self, config: SerdeSettings) -> CombinedKeySchema:
        return CombinedKeySchema(
            f"{config.application_id}-{self.topic}",
            resolve_key_serde(self.foreign_key_serde, config),
            resolve_key_serde(self.primary_key_serde, config),
        )

    def prefix(self, foreign_key: Any) -> bytes:
        """What the keys of all subscriptions to ``foreign_key`` start with."""
        assert self.foreign_key_serde is not None
        key = self.foreign_key_serde.serialize(foreign_key_topic(self.topic), foreign_key) or b""
        return len(key).to_bytes(4, "big") + key

    def to_bytes(self, key: CombinedKey) -> bytes:
        assert self.primary_key_serde is not None
        primary = self.primary_key_serde.serialize(primary_key_topic(self.topic), key.primary_key) or b""
        return self.prefix(key.foreign_key) + primary

    def from_bytes(self, data: bytes) -> CombinedKey:
        assert self.foreign_key_serde is not None
        assert self.primary_key_serde is not None
        end = 4 + int.from_bytes(data[:4], "big")
        return CombinedKey(
            self.foreign_key_serde.deserialize(foreign_key_topic(self.topic), data[4:end]),
            self.primary_key_serde.deserialize(primary_key_topic(self.topic), data[end:]),
        )


def primary_key_topic(subscription_topic: str) -> str:
    """The topic name that the primary key's serde sees inside messages."""
    return subscription_topic + "-pk"


def foreign_key_topic(subscription_topic: str) -> str:
    """The topic name that the foreign key's serde sees inside messages."""
    return subscription_topic + "-fk"


def value_hash_topic(subscription_topic: str) -> str:
    """The topic name that the left value's serde sees when the value is hashed."""
    return subscription_topic + "-vh"


def _head(version: int, hashed: bytes | None, *rest: int) -> bytes:
    if hashed is None:
        return bytes((version | _NO_HASH, *rest))
    return bytes((version, *rest)) + hashed


def _version(data: bytes, newest: int) -> int:
    version = data[0] & ~_NO_HASH
    if version > newest:
        message = f"a foreign-key join message has version {version}; this release reads up to {newest}"
        raise SerializationError(message)
    return version


def _hash_at(data: bytes, start: int) -> tuple[bytes | None, int]:
    if data[0] & _NO_HASH:
        return None, start
    return data[start : start + _HASH_SIZE], start + _HASH_SIZE
