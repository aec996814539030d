"""A registry for trying statements: what is registered stays here, the rest comes from the real one."""

from __future__ import annotations

from headrace.errors import SerializationError
from headrace.serde.registry import InMemorySchemaRegistry, RegisteredSchema, Schema, SchemaRegistry

_FIRST_ID = 1 << 30
"""Ids that are only tried are larger than those of any registry."""


class DrySchemaRegistry:
    """Registers nothing outside itself."""

    def __init__(self, real: SchemaRegistry) -> None:
        self._real = real
        self._tried = InMemorySchemaRegistry()
        self._known: dict[Schema, int] = {}
        self._next_id = _FIRST_ID

    def register(self, subject: str, schema: Schema) -> int:
        """The id that the schema has, or one for the trial."""
        try:
            return self.lookup(subject, schema).schema_id
        except SerializationError:
            if schema not in self._known:
                self._known[schema] = self._next_id
                self._next_id += 1
            self._tried.register_as(subject, schema, self._known[schema])
            return self._known[schema]

    def lookup(self, subject: str, schema: Schema) -> RegisteredSchema:
        """Where ``schema`` stands under ``subject``, in the trial or outside."""
        return (self._tried if self._tried.latest(subject) else self._real).lookup(subject, schema)

    def schema_by_id(self, schema_id: int) -> Schema:
        """The schema with that id."""
        if schema_id >= _FIRST_ID:
            return self._tried.schema_by_id(schema_id)
        schema = self._real.schema_by_id(schema_id)
        self._known.setdefault(schema, schema_id)
        return schema

    def schema_by_version(self, subject: str, version: int) -> Schema:
        """One version of ``subject``."""
        return (self._tried if self._tried.latest(subject) else self._real).schema_by_version(subject, version)

    def latest(self, subject: str) -> tuple[int, Schema] | None:
        """The id and the text of the latest version of ``subject``."""
        return self._tried.latest(subject) or self._real.latest(subject)
