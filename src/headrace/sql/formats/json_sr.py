"""JSON_SR: rows as JSON with a schema in a registry."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import orjson

from headrace.serde.framing import frame, unframe
from headrace.serde.registry import Schema, SchemaRegistry
from headrace.sql.formats import connect, json_schemas
from headrace.sql.formats.connect import ConnectSchema
from headrace.sql.formats.format_info import ColumnsFormat, Feature
from headrace.sql.formats.json_sr_values import Convert, node_reader, node_writer
from headrace.sql.formats.json_values import NeedsExactNumbers, read_exactly
from headrace.sql.formats.json_writing import dumped
from headrace.sql.formats.registered import ReadersById, WriterSchema, given_schema_id, registry_for
from headrace.sql.schema import Column


class JsonSchemaCodec:
    """Rows are written with the schema of the columns, or with the one whose id the format names."""

    def __init__(
        self, columns: Sequence[Column], format_: ColumnsFormat, registry: SchemaRegistry | None, is_key: bool
    ) -> None:
        known = registry_for(format_, registry)
        self._is_wrapped = Feature.UNWRAP not in format_.features
        self._type = connect.row_type(columns, self._is_wrapped)
        self._registry = known
        self._format = format_
        schema_id = given_schema_id(format_)
        schema = own_schema(columns, format_) if schema_id is None else known.schema_by_id(schema_id)
        self._schema = WriterSchema(known, is_key, schema, schema_id)
        self._readers = ReadersById(known, "JSON", self._reader)

    @cached_property
    def _writer(self) -> Convert:
        # Only when a row is written: what is only read need not fit.
        return node_writer(connect_schema_of(self._schema.schema, self._registry, self._format), self._type)

    def write(self, topic: str, row: Sequence[Any]) -> bytes | None:
        value: Any = row
        if not self._is_wrapped:
            (value,) = row
            if value is None:
                return None
        return frame(self._schema.id_for(topic), dumped(self._writer(value)))

    def read(self, topic: str, data: bytes) -> list[Any]:
        schema_id, payload = unframe(data)
        row: list[Any] = self._readers[schema_id](payload)
        return row

    def _reader(self, schema: Schema) -> Callable[[bytes], list[Any]]:
        found = connect_schema_of(schema, self._registry, self._format)
        rows = connect.reading_rows(found, self._type, self._is_wrapped)
        convert = node_reader(found)

        def read(payload: bytes) -> list[Any]:
            try:
                node = orjson.loads(payload)
                return rows(None if node is None else convert(node))
            except (NeedsExactNumbers, orjson.JSONDecodeError):
                node = read_exactly(payload)
                return rows(None if node is None else convert(node))

        return read


def own_schema(columns: Sequence[Column], format_: ColumnsFormat) -> Schema:
    """The schema that ksqlDB would register for the columns."""
    schema = connect.of_columns(columns, Feature.UNWRAP not in format_.features)
    return Schema(json_schemas.schema_text(schema), "JSON")


def connect_schema_of(schema: Schema, registry: SchemaRegistry | None, format_: ColumnsFormat) -> ConnectSchema:
    """What Connect makes of a registered schema."""
    others = {}
    for reference in schema.references:
        assert registry is not None, "only a registry knows references"
        others[reference.name] = json.loads(registry.schema_by_version(reference.subject, reference.version).text)
    return json_schemas.connect_schema(schema.text, others)


def names_of(schema: Schema) -> list[str]:
    """JSON schemas have no names of messages."""
    return []


codec = JsonSchemaCodec
