"""AVRO: rows as records with a schema in a registry. Needs the extra ``headrace[avro]``."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import fastavro

from headrace.serde.registry import Schema, SchemaRegistry
from headrace.sql.errors import SqlError
from headrace.sql.formats import avro_schemas, connect
from headrace.sql.formats.avro_schemas import connect_schema, parsed
from headrace.sql.formats.avro_values import native_reader, native_writer, plain
from headrace.sql.formats.carrying import AVRO_NAME
from headrace.sql.formats.connect import ConnectSchema
from headrace.sql.formats.format_info import SCHEMA_NAME, ColumnsFormat, Feature
from headrace.sql.formats.registered import RegisteredCodec
from headrace.sql.schema import Column


def own_schema(columns: Sequence[Column], format_: ColumnsFormat) -> Schema:
    """The schema that ksqlDB would register for the columns."""
    schema = connect.of_columns(columns, Feature.UNWRAP not in format_.features)
    name = format_.properties.get(SCHEMA_NAME, avro_schemas.DEFAULT_NAME)
    if not all(map(AVRO_NAME.fullmatch, name.split("."))):
        message = f"{name} cannot name an Avro schema: letters, digits and _, and no digit first"
        raise SqlError("format.name", message)
    return Schema(avro_schemas.schema_text(schema, name))


class AvroCodec(RegisteredCodec):
    """Rows as records of Avro."""

    kind = "AVRO"
    own_schema = staticmethod(own_schema)

    def _payload(self, row: Sequence[Any]) -> bytes | None:
        value = self._value(row)
        if value is None:
            return None
        schema, native = self._writer
        out = io.BytesIO()
        fastavro.schemaless_writer(out, schema, native(value))
        return out.getvalue()

    @cached_property
    def _writer(self) -> tuple[Any, Callable[[Any], Any]]:
        node, named = parsed(self._registry, self._schema)
        return fastavro.parse_schema(plain(node, named)), native_writer(node, named, self._type)

    def _reader(self, schema: Schema) -> Callable[[bytes], list[Any]]:
        node, named = parsed(self._registry, schema)
        rows = connect.reading_rows(connect_schema(node, named), self._type, self._is_wrapped, fits=True)
        written, convert = fastavro.parse_schema(plain(node, named)), native_reader(node, named)

        def read(payload: bytes) -> list[Any]:
            value = fastavro.schemaless_reader(io.BytesIO(payload), written, None)
            return rows(convert(value) if convert and value is not None else value)

        return read


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
