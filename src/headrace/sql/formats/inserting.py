"""The formats that INSERT VALUES writes in: with the schemas that a topic has, so that its records stay alike."""

from __future__ import annotations

from dataclasses import replace

from headrace.errors import SerializationError
from headrace.serde.registry import Schema, SchemaRegistry, topic_subject
from headrace.sql.catalog.sources import Source
from headrace.sql.errors import SqlError
from headrace.sql.formats.format_info import PROTOBUF, SCHEMA_ID, ColumnsFormat
from headrace.sql.formats.inference import registered_columns
from headrace.sql.formats.registered import given_schema_id, registry_for
from headrace.sql.formats.registering import own_schema


def inserting_formats(source: Source, registry: SchemaRegistry | None) -> tuple[ColumnsFormat, ColumnsFormat]:
    """Of key and value. Keys must have the columns of the registered schema: equal keys have equal bytes."""
    return _key_format(source, registry), _value_format(source, registry)


def _key_format(source: Source, registry: SchemaRegistry | None) -> ColumnsFormat:
    format_, columns = source.key_format, source.schema.key
    if not format_.format.infers or not columns:
        return format_
    known = registry_for(format_, registry)
    latest = _latest(known, source, is_key=True)
    if latest is None:
        message = f"the registry has no schema for the keys of topic {source.topic}"
        raise SqlError("insert.schema", message)
    by_name = replace(format_, properties={k: v for k, v in format_.properties.items() if k != SCHEMA_ID})
    schemas = (own_schema(columns, by_name), latest[1])
    new, old = (registered_columns(schema, by_name, known, is_key=True) for schema in schemas)
    if new != old:
        message = f"the keys of topic {source.topic} have a schema that rows of {source.name} would replace"
        detail = f"registered {', '.join(map(str, old))}; new {', '.join(map(str, new))}"
        raise SqlError("insert.schema", message, detail=detail)
    return format_ if given_schema_id(format_) is not None else _with_id(format_, latest[0])


def _value_format(source: Source, registry: SchemaRegistry | None) -> ColumnsFormat:
    """Messages of Protobuf are those of the registered file, whose fields may have other numbers."""
    format_ = source.value_format
    if format_.format != PROTOBUF or given_schema_id(format_) is not None:
        return format_
    latest = _latest(registry_for(format_, registry), source, is_key=False)
    return format_ if latest is None else _with_id(format_, latest[0])


def _with_id(format_: ColumnsFormat, schema_id: int) -> ColumnsFormat:
    return replace(format_, properties={**format_.properties, SCHEMA_ID: str(schema_id)})


def _latest(registry: SchemaRegistry, source: Source, *, is_key: bool) -> tuple[int, Schema] | None:
    try:
        return registry.latest(topic_subject(source.topic, is_key, ""))
    except SerializationError as error:
        message = f"the schemas of topic {source.topic} cannot be had: {error.message}"
        raise SqlError("insert.schema", message, hint=error.hint) from error
