"""AVRO: rows as records with a schema in a registry. Needs the extra ``headrace[avro]``."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import fastavro

from headrace.serde.framing import frame, unframe
from headrace.serde.registry import Schema, SchemaRegistry
from headrace.sql.errors import SqlError
from headrace.sql.formats import avro_schemas, connect
from headrace.sql.formats.avro_schemas import Node, connect_schema, parsed
from headrace.sql.formats.avro_values import native_reader, native_writer, plain
from headrace.sql.formats.carrying import AVRO_NAME
from headrace.sql.formats.connect import ConnectSchema
from headrace.sql.formats.format_info import SCHEMA_NAME, ColumnsFormat, Feature
from headrace.sql.formats.registered import ReadersById, WriterSchema, given_schema_id, registry_for
from headrace.sql.schema import Column


class AvroCodec:
    """Rows are written with the schema of the columns, or with the one whose id the format names."""

    def __init__(
        self, columns: Sequence[Column], format_: ColumnsFormat, registry: SchemaRegistry | None, is_key: bool
    ) -> None:
        known = registry_for(format_, registry)
        self._is_wrapped = Feature.UNWRAP not in format_.features
        self._type = connect.row_type(columns, self._is_wrapped)
        schema_id = given_schema_id(format_)
        schema = own_schema(columns, format_) if schema_id is None else known.schema_by_id(schema_id)
        self._schema = WriterSchema(known, is_key, schema, schema_id)
        self._registry = known
        self._readers = ReadersById(known, "AVRO", lambda found: self._reader(*parsed(known, found)))

    def write(self, topic: str, row: Sequence[Any]) -> bytes | None:
        value: Any = row
        if not self._is_wrapped:
            (value,) = row
            if value is None:
                return None
        schema, native = self._writer
        out = io.BytesIO()
        fastavro.schemaless_writer(out, schema, native(value))
        return frame(self._schema.id_for(topic), out.getvalue())

    @cached_property
    def _writer(self) -> tuple[Any, Callable[[Any], Any]]:
        # Only when a row is written: what is only read need not fit.
        node, named = parsed(self._registry, self._schema.schema)
        return fastavro.parse_schema(plain(node, named)), native_writer(node, named, self._type)

    def read(self, topic: str, data: bytes) -> list[Any]:
        schema_id, payload = unframe(data)
        row: list[Any] = self._readers[schema_id](payload)
        return row

    def _reader(self, node: Node, named: Mapping[str, Node]) -> Callable[[bytes], list[Any]]:
        rows = connect.reading_rows(connect_schema(node, named), self._type, self._is_wrapped, fits=True)
        written, convert = fastavro.parse_schema(plain(node, named)), native_reader(node, named)

        def read(payload: bytes) -> list[Any]:
            value = fastavro.schemaless_reader(io.BytesIO(payload), written, None)
            return rows(convert(value) if convert and value is not None else value)

        return read


def own_schema(columns: Sequence[Column], format_: ColumnsFormat) -> Schema:
    """The schema that ksqlDB would register for the columns."""
    schema = connect.of_columns(columns, Feature.UNWRAP not in format_.features)
    name = format_.properties.get(SCHEMA_NAME, avro_schemas.DEFAULT_NAME)
    if not all(map(AVRO_NAME.fullmatch, name.split("."))):
        message = f"{name} cannot name an Avro schema: letters, digits and _, and no digit first"
        raise SqlError("format.name", message)
    return Schema(avro_schemas.schema_text(schema, name))


def connect_schema_of(schema: Schema, registry: SchemaRegistry | None, format_: ColumnsFormat) -> ConnectSchema:
    """What Connect makes of a registered schema."""
    return connect_schema(*parsed(registry, schema))


def names_of(schema: Schema) -> list[str]:
    """The name of the record; other types have none of their own."""
    try:
        node = json.loads(schema.text)
    except ValueError:
        return []
    if not isinstance(node, dict) or node.get("type") not in {"record", "error"} or "name" not in node:
        return []
    name, namespace = str(node["name"]), node.get("namespace")
    return [f"{namespace}.{name}" if namespace and "." not in name else name]


codec = AvroCodec
