"""Schemas of new streams and tables, registered when these are made."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.errors import SerializationError
from headrace.serde.registry import Schema, SchemaRegistry, topic_subject
from headrace.sql.catalog.sources import Source
from headrace.sql.errors import SqlError
from headrace.sql.formats.format_info import ColumnsFormat
from headrace.sql.formats.languages import language
from headrace.sql.formats.registered import given_schema_id, registry_for
from headrace.sql.schema import Column


def register_schemas(source: Source, registry: SchemaRegistry | None, *, is_sink: bool) -> None:
    """Register the schemas of key and value, where their formats have any.

    A topic that is only declared keeps the schema it has; what a query makes gets its own. A schema that was given by
    its id must stay the one with that id.
    """
    for format_, columns, is_key in (
        (source.key_format, source.schema.key, True),
        (source.value_format, source.schema.value, False),
    ):
        if format_.format.infers:
            _register(source, format_, columns, registry_for(format_, registry), is_key, is_sink)


def _register(
    source: Source,
    format_: ColumnsFormat,
    columns: Sequence[Column],
    registry: SchemaRegistry,
    is_key: bool,
    is_sink: bool,
) -> None:
    subject, schema_id = topic_subject(source.topic, is_key, ""), given_schema_id(format_)
    if schema_id is None and not is_sink and _is_known(registry, subject):
        return
    try:
        schema = own_schema(columns, format_) if schema_id is None else registry.schema_by_id(schema_id)
        registered_id = registry.register(subject, schema)
    except SerializationError as error:
        message = f"the schema for {subject} cannot be registered: {error.message}"
        raise SqlError("format.schema", message, detail=error.detail, hint=error.hint) from error
    if schema_id is not None and registered_id != schema_id:
        message = f"the schema with id {schema_id} has id {registered_id} under the subject {subject}"
        raise SqlError("format.schema-id", message)


def _is_known(registry: SchemaRegistry, subject: str) -> bool:
    try:
        return registry.latest(subject) is not None
    except SerializationError as error:
        message = f"the registry cannot be asked for {subject}: {error.message}"
        raise SqlError("format.schema", message, hint=error.hint) from error


def own_schema(columns: Sequence[Column], format_: ColumnsFormat) -> Schema:
    """The schema that ksqlDB registers for columns; an error where the format's language has none for them."""
    try:
        return language(format_.format.name).own_schema(columns, format_)
    except ValueError as error:
        message = f"the format {format_.format.name} cannot carry these columns: {error}"
        raise SqlError("format.type", message) from error
