"""What formats with a registry share: which schema rows are written with, and under which id a topic has it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.errors import SerializationError
from headrace.serde.registry import Schema, SchemaRegistry, topic_subject
from headrace.sql.errors import SqlError
from headrace.sql.formats.format_info import SCHEMA_ID, ColumnsFormat


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


class WriterSchema:
    """The schema of what is written. It is registered for a topic when its first row is written."""

    def __init__(self, registry: SchemaRegistry, is_key: bool, schema: Schema, schema_id: int | None) -> None:
        self.schema = schema
        self._registry = registry
        self._is_key = is_key
        self._given_id = schema_id
        self._ids: dict[str, int] = {}

    def id_for(self, topic: str) -> int:
        """The id of the schema: the given one, or what the registry says."""
        if self._given_id is not None:
            return self._given_id
        if topic not in self._ids:
            self._ids[topic] = self._registry.register(topic_subject(topic, self._is_key, ""), self.schema)
        return self._ids[topic]


class ReadersById:
    """Readers of what was written with each schema, made when they are first needed."""

    def __init__(self, registry: SchemaRegistry, kind: str, make: Callable[[Schema], Any]) -> None:
        self._registry = registry
        self._kind = kind
        self._make = make
        self._readers: dict[int, Any] = {}

    def __getitem__(self, schema_id: int) -> Any:
        found = self._readers.get(schema_id)
        if found is None:
            schema = self._registry.schema_by_id(schema_id)
            if schema.kind != self._kind:
                message = f"expected a record with a schema of kind {self._kind}, found {schema.kind} (id {schema_id})"
                raise SerializationError(message)
            found = self._readers[schema_id] = self._make(schema)
        return found
