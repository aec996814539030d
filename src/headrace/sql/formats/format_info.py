"""What each format is: its name, what it can carry, and what may be said about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

DELIMITER, SCHEMA_ID, SCHEMA_NAME = "delimiter", "schemaId", "fullSchemaName"
NULLABLE, UNWRAP_PRIMITIVES = "nullableRepresentation", "unwrapPrimitives"


class Feature(Enum):
    """How a single column is written: as a record with one field, or bare."""

    WRAP = "WRAP_SINGLES"
    UNWRAP = "UNWRAP_SINGLES"


@dataclass(frozen=True, slots=True)
class Format:
    """A format and its abilities; ``infers`` means that a registry knows its schemas."""

    name: str
    infers: bool = False
    features: frozenset[Feature] = frozenset(Feature)
    properties: frozenset[str] = frozenset()


_ONLY_UNWRAPPED, _ONLY_WRAPPED = frozenset({Feature.UNWRAP}), frozenset({Feature.WRAP})
NONE = Format("NONE", features=frozenset())
KAFKA = Format("KAFKA", features=_ONLY_UNWRAPPED)
DELIMITED = Format("DELIMITED", features=_ONLY_UNWRAPPED, properties=frozenset({DELIMITER}))
JSON = Format("JSON")
JSON_SR = Format("JSON_SR", infers=True, properties=frozenset({SCHEMA_ID, SCHEMA_NAME}))
AVRO = Format("AVRO", infers=True, properties=frozenset({SCHEMA_ID, SCHEMA_NAME}))
PROTOBUF = Format(
    "PROTOBUF",
    infers=True,
    features=_ONLY_WRAPPED,
    properties=frozenset({SCHEMA_ID, SCHEMA_NAME, NULLABLE, UNWRAP_PRIMITIVES}),
)
PROTOBUF_NOSR = Format("PROTOBUF_NOSR", properties=frozenset({NULLABLE}))
FORMATS = {found.name: found for found in (NONE, KAFKA, DELIMITED, JSON, JSON_SR, AVRO, PROTOBUF, PROTOBUF_NOSR)}


@dataclass(frozen=True, slots=True)
class ColumnsFormat:
    """The format of a key or a value, with what was said about it."""

    format: Format
    properties: Mapping[str, str] = field(default_factory=dict)
    features: frozenset[Feature] = frozenset()
