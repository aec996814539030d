"""KAFKA: one column, as Kafka's own serialisers write it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace import serde as serdes
from headrace.serde.contract import Serde
from headrace.sql.formats.contract import Codec, Nothing
from headrace.sql.schema import Column
from headrace.sql.tree.types import BIGINT, BYTES, DOUBLE, INTEGER, STRING, SqlType

SERDES: dict[SqlType, Serde[Any]] = {
    INTEGER: serdes.integer(),
    BIGINT: serdes.long(),
    DOUBLE: serdes.double(),
    STRING: serdes.string(),
    BYTES: serdes.bytes(),
}
"""What KAFKA can carry, and how."""


class KafkaCodec:
    """A row of one column. A null in it is a null record."""

    def __init__(self, serde: Serde[Any]) -> None:
        self._serialize, self._deserialize = serde.serialize, serde.deserialize

    def write(self, topic: str, row: Sequence[Any]) -> bytes | None:
        (value,) = row
        return self._serialize(topic, value)

    def read(self, topic: str, data: bytes) -> list[Any] | None:
        return [self._deserialize(topic, data)]


def kafka_codec(columns: Sequence[Column]) -> Codec:
    """Of one column, or of none."""
    return KafkaCodec(SERDES[columns[0].type]) if columns else Nothing()
