"""What formats with a registry share: which schema rows are written with, and under which id a topic has it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from headrace.errors import SerializationError
from headrace.serde.framing import frame, unframe
from headrace.serde.registry import Schema, SchemaRegistry, topic_subject
from headrace.sql.errors import SqlError
from headrace.sql.formats import connect
from headrace.sql.formats.format_info import SCHEMA_ID, ColumnsFormat, Feature
from headrace.sql.schema import Column


def registry_for(format_: ColumnsFormat, registry: SchemaRegistry | None) -> SchemaRegistry:
    """The registry; an error where there is none."""
    if registry is None:
        message = f"the format {format_.format.name} needs a schema registry"
        hint = "Set ksql.schema.registry.url to its address."
        raise SqlError("format.registry", message, hint=hint)
    return registry


def given_schema_id(format_: ColumnsFormat) -> int | None:
    """The id that KEY_SCHEMA_ID or VALUE_SCHEMA_ID says."""
    said = format_.properties.get(SCHEMA_ID)
    return None if said is None else int(said)


class RegisteredCodec(ABC):
    """Rows behind the id of their schema: that of the columns, or the one whose id the format names.

    It is registered for a topic when its first row is written. Readers of what was written with another are made when
    they are first needed.
    """

    kind: ClassVar[str]
    own_schema: Callable[[Sequence[Column], ColumnsFormat], Schema]

    def __init__(
        self, columns: Sequence[Column], format_: ColumnsFormat, registry: SchemaRegistry | None, is_key: bool
    ) -> None:
        self._registry = registry_for(format_, registry)
        self._format = format_
        self._is_key = is_key
        self._is_wrapped = Feature.UNWRAP not in format_.features
        self._type = connect.row_type(columns, self._is_wrapped)
        self._given_id = given_schema_id(format_)
        given = None if self._given_id is None else self._registry.schema_by_id(self._given_id)
        self._schema = self.own_schema(columns, format_) if given is None else given
        self._ids: dict[str, int] = {}
        self._readers: dict[int, Callable[[bytes], list[Any]]] = {}

    def write(self, topic: str, row: Sequence[Any]) -> bytes | None:
        payload = self._payload(row)
        return None if payload is None else frame(self._id_for(topic), payload)

    def read(self, topic: str, data: bytes) -> list[Any]:
        schema_id, payload = unframe(data)
        reader = self._readers.get(schema_id)
        if reader is None:
            reader = self._readers[schema_id] = self._reader(self._written_with(schema_id))
        return reader(payload)

    @abstractmethod
    def _payload(self, row: Sequence[Any]) -> bytes | None:
        """What is written behind the id. Only a row that is written need fit the schema."""

    @abstractmethod
    def _reader(self, schema: Schema) -> Callable[[bytes], list[Any]]:
        """What makes rows of the bytes that ``schema`` describes."""

    def _value(self, row: Sequence[Any]) -> Any:
        """What the schema is of: the row, or its only value, which may be None."""
        if self._is_wrapped:
            return row
        (value,) = row
        return value

    def _id_for(self, topic: str) -> int:
        if self._given_id is not None:
            return self._given_id
        if topic not in self._ids:
            self._ids[topic] = self._registry.register(topic_subject(topic, self._is_key, ""), self._schema)
        return self._ids[topic]

    def _written_with(self, schema_id: int) -> Schema:
        schema = self._registry.schema_by_id(schema_id)
        if schema.kind != self.kind:
            message = f"expected a record with a schema of kind {self.kind}, found {schema.kind} (id {schema_id})"
            raise SerializationError(message)
        return schema
