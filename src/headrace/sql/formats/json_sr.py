"""JSON_SR: rows as JSON with a schema in a registry."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import orjson

from headrace.serde.registry import Schema, SchemaRegistry
from headrace.sql.formats import connect, json_schemas
from headrace.sql.formats.connect import ConnectSchema
from headrace.sql.formats.format_info import ColumnsFormat, Feature
from headrace.sql.formats.json_sr_values import Convert, node_reader, node_writer
from headrace.sql.formats.json_values import NeedsExactNumbers, read_exactly
from headrace.sql.formats.json_writing import dumped
from headrace.sql.formats.registered import RegisteredCodec
from headrace.sql.schema import Column


def own_schema(columns: Sequence[Column], format_: ColumnsFormat) -> Schema:
    """The schema that ksqlDB would register for the columns."""
    schema = connect.of_columns(columns, Feature.UNWRAP not in format_.features)
    return Schema(json_schemas.schema_text(schema), "JSON")


class JsonSchemaCodec(RegisteredCodec):
    """Rows as documents of JSON."""

    kind = "JSON"
    own_schema = staticmethod(own_schema)

    @cached_property
    def _writer(self) -> Convert:
        return node_writer(connect_schema_of(self._schema, self._registry, self._format), self._type)

    def _payload(self, row: Sequence[Any]) -> bytes | None:
        value = self._value(row)
        return None if value is None else dumped(self._writer(value))

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
