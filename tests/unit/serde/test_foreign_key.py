"""Bytes of foreign-key joins, as Kafka Streams 4.3 wrote them."""

from __future__ import annotations

import base64

import pytest

from headrace import serde
from headrace.errors import SerializationError
from headrace.partitioning import murmur3_128
from headrace.serde.foreign_key import (
    CombinedKey,
    CombinedKeySchema,
    Instruction,
    Response,
    ResponseSerde,
    Subscription,
    SubscriptionSerde,
)

SUBSCRIPTIONS = SubscriptionSerde("topic", serde.string())
RESPONSES = ResponseSerde(serde.string())


def test_a_subscription_has_the_bytes_of_kafka_streams() -> None:
    data = base64.b64decode("AQOYR1MjYmKgPZXALQyWo2TyQQAAAAA=")
    subscription = Subscription(murmur3_128(b"z,1"), Instruction.PROPAGATE_ONLY_IF_FK_VAL_AVAILABLE, "A", 0)
    assert SUBSCRIPTIONS.serialize("", subscription) == data
    assert SUBSCRIPTIONS.deserialize("", data) == subscription


def test_a_subscription_of_a_deleted_row_has_no_hash() -> None:
    subscription = Subscription(None, Instruction.DELETE_KEY_AND_PROPAGATE, "key", 258)
    data = SUBSCRIPTIONS.serialize("", subscription)
    assert data == b"\x81\x01key\x00\x00\x01\x02"
    assert SUBSCRIPTIONS.deserialize("", data) == subscription


def test_reads_and_keeps_subscriptions_of_the_format_without_a_partition() -> None:
    data = b"\x80\x02key"
    subscription = SUBSCRIPTIONS.deserialize("", data)
    assert subscription == Subscription(None, Instruction.PROPAGATE_NULL_IF_NO_FK_VAL_AVAILABLE, "key", None)
    assert SUBSCRIPTIONS.serialize("", subscription) == data


@pytest.mark.parametrize(
    ("response", "data"),
    [
        (Response(b"h" * 16, "v"), b"\x00" + b"h" * 16 + b"v"),
        (Response(b"h" * 16, None), b"\x00" + b"h" * 16),
        (Response(None, None), b"\x80"),
    ],
)
def test_a_response_is_a_hash_and_a_value(response: Response, data: bytes) -> None:
    assert RESPONSES.serialize("t", response) == data
    assert RESPONSES.deserialize("t", data) == response


def test_refuses_a_version_it_does_not_know() -> None:
    with pytest.raises(SerializationError, match="version 2"):
        SUBSCRIPTIONS.deserialize("", b"\x02\x01key")


def test_a_combined_key_starts_with_the_length_of_the_foreign_key() -> None:
    schema = CombinedKeySchema("topic", serde.string(), serde.long())
    data = schema.to_bytes(CombinedKey("fk", 1))
    assert data == b"\x00\x00\x00\x02fk" + b"\x00" * 7 + b"\x01"
    assert schema.from_bytes(data) == CombinedKey("fk", 1)
    assert data.startswith(schema.prefix("fk"))
