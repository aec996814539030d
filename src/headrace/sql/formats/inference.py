"""Columns that a statement leaves to the registry: those of the latest schema of the topic, or of a given one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from headrace.errors import HeadraceError, SerializationError
from headrace.serde.registry import Schema, SchemaRegistry, topic_subject
from headrace.sql.catalog.properties import OF_SOURCES, SourceProperties
from headrace.sql.catalog.sources import Source
from headrace.sql.errors import SqlError
from headrace.sql.formats import connect
from headrace.sql.formats.choosing import key_properties, named_formats, value_properties
from headrace.sql.formats.connect import ConnectField, ConnectSchema, Kind
from headrace.sql.formats.format_info import ColumnsFormat, Feature
from headrace.sql.formats.languages import language, schema_names
from headrace.sql.formats.registered import given_schema_id, registry_for
from headrace.sql.schema import Column
from headrace.sql.tree.expressions import StringLiteral
from headrace.sql.tree.statements import ColumnDefinition, CreateAs, CreateSource, Properties, Role, SourceKind
from headrace.sql.tree.types import Struct

_KINDS = {"AVRO": "AVRO", "PROTOBUF": "PROTOBUF", "JSON_SR": "JSON"}
_HEADERS = (Role.HEADERS, Role.HEADER)
_KEYS = (Role.KEY, Role.PRIMARY_KEY)


def with_registered_columns(
    statement: CreateSource, registry: SchemaRegistry | None, settings: Mapping[str, str]
) -> CreateSource:
    """The statement with the columns that it leaves to the registry; unchanged where it declares all of them."""
    properties = SourceProperties(statement.properties, OF_SOURCES)
    topic = properties.text("KAFKA_TOPIC")
    if topic is None:
        return statement
    key_format, value_format = named_formats(properties, settings)
    key = ColumnsFormat(key_format, key_properties(properties, key_format, statement.name))
    value = ColumnsFormat(value_format, value_properties(properties, value_format))
    if key_format.features == frozenset(Feature):
        key = replace(key, features=frozenset({Feature.UNWRAP}))
    if properties.flag("WRAP_SINGLE_VALUE") is False:
        value = replace(value, features=frozenset({Feature.UNWRAP}))
    parts = _Parts(statement)
    found_key = _registered(parts.keys, key, topic, registry, is_key=True)
    found_value = _registered(parts.values, value, topic, registry, is_key=False)
    return _completed(statement, parts, found_key, found_value, properties)


class _Parts:
    """The declared columns by their place."""

    def __init__(self, statement: CreateSource) -> None:
        self.headers = [each for each in statement.columns if each.role in _HEADERS]
        self.keys = [each for each in statement.columns if each.role in _KEYS]
        self.values = [each for each in statement.columns if each.role is None]


def _registered(
    declared: Sequence[ColumnDefinition],
    format_: ColumnsFormat,
    topic: str,
    registry: SchemaRegistry | None,
    *,
    is_key: bool,
) -> tuple[Schema, tuple[Column, ...]] | None:
    schema_id, side = given_schema_id(format_), "KEY" if is_key else "VALUE"
    if schema_id is not None and declared:
        message = f"{side}_SCHEMA_ID is given, and so are columns of the {side.lower()}"
        raise SqlError("format.schema-id", message, hint="Leave out the columns, or the id.")
    if not format_.format.infers or (declared and schema_id is None):
        return None
    known = registry_for(format_, registry)
    schema = _schema(known, topic, schema_id, is_key)
    return schema, _inferred_columns(schema, format_, known, is_key)


def _schema(registry: SchemaRegistry, topic: str, schema_id: int | None, is_key: bool) -> Schema:
    subject, part = topic_subject(topic, is_key, ""), "key" if is_key else "value"
    try:
        if schema_id is not None:
            return registry.schema_by_id(schema_id)
        latest = registry.latest(subject)
    except SerializationError as error:
        message = f"the schema of the {part} of topic {topic} cannot be had: {error.message}"
        raise SqlError("format.schema", message, hint=error.hint) from error
    if latest is None:
        message = f"the registry has no schema for the {part} of topic {topic}: there is no subject {subject}"
        raise SqlError("format.schema", message, hint=f"Declare the columns of the {part} in the statement.")
    return latest[1]


def registered_columns(
    schema: Schema, format_: ColumnsFormat, registry: SchemaRegistry | None, *, is_key: bool
) -> tuple[Column, ...]:
    """The columns of a schema. Their names are in upper case, unless the schema was asked for by its id."""
    part, kind = "key" if is_key else "value", _KINDS[format_.format.name]
    if schema.kind != kind:
        message = (
            f"the schema of the {part} is of kind {schema.kind}, and the format {format_.format.name} needs {kind}"
        )
        raise SqlError("format.schema", message)
    try:
        found = language(format_.format.name).connect_schema_of(schema, registry, format_)
        return _columns(found, format_, is_key)
    except SqlError:
        raise
    except (ValueError, KeyError, TypeError, HeadraceError) as error:
        message = f"the schema of the {part} has no columns that SQL knows: {error}"
        raise SqlError("format.schema", message) from error


def _columns(schema: ConnectSchema, format_: ColumnsFormat, is_key: bool) -> tuple[Column, ...]:
    if Feature.UNWRAP in format_.features:
        schema = ConnectSchema(Kind.STRUCT, fields=(ConnectField("ROWKEY" if is_key else "ROWVAL", schema),))
    if schema.kind is not Kind.STRUCT:
        message = f"the schema is that of a single value of kind {schema.kind.value}"
        raise SqlError("format.wrapping", message, hint="Write WRAP_SINGLE_VALUE=false.")
    type_ = connect.type_of(schema, is_upper_case=given_schema_id(format_) is None)
    assert isinstance(type_, Struct)
    if not type_.fields:
        raise SqlError("format.schema", "the schema has no fields of types that SQL knows")
    return tuple(Column(field.name, field.type) for field in type_.fields)


def _inferred_columns(
    schema: Schema, format_: ColumnsFormat, registry: SchemaRegistry, is_key: bool
) -> tuple[Column, ...]:
    """As ``registered_columns``, where the schema alone must say what the columns are."""
    found = registered_columns(schema, format_, registry, is_key=is_key)
    _check_one_definition(schema, format_, is_key)
    if is_key and len(found) > 1:
        raise SqlError("format.schema", "the schema of the key has several fields: declare the key columns")
    return found


def _check_one_definition(schema: Schema, format_: ColumnsFormat, is_key: bool) -> None:
    names = schema_names(schema)
    if len(names) > 1 and "fullSchemaName" not in format_.properties:
        part = "KEY" if is_key else "VALUE"
        message = f"the schema of the {part.lower()} has several messages: {', '.join(names)}"
        raise SqlError("format.schema", message, hint=f"Name one of them: {part}_SCHEMA_FULL_NAME='{names[0]}'.")


def _completed(
    statement: CreateSource,
    parts: _Parts,
    key: tuple[Schema, tuple[Column, ...]] | None,
    value: tuple[Schema, tuple[Column, ...]] | None,
    properties: SourceProperties,
) -> CreateSource:
    if key is None and value is None:
        return statement
    role = Role.PRIMARY_KEY if statement.kind is SourceKind.TABLE else Role.KEY
    keys = parts.keys if key is None else [ColumnDefinition(each.name, each.type, role) for each in key[1]]
    values = parts.values if value is None else [ColumnDefinition(each.name, each.type) for each in value[1]]
    added = statement.properties
    for side, found in (("KEY", key), ("VALUE", value)):
        if found is not None and f"{side}_SCHEMA_ID" in properties and f"{side}_SCHEMA_FULL_NAME" not in properties:
            added = _with_name(added, side, found[0])
    return replace(statement, columns=(*parts.headers, *keys, *values), properties=added)


def _with_name(properties: Properties, side: str, schema: Schema) -> Properties:
    names = schema_names(schema)
    return (*properties, (f"{side}_SCHEMA_FULL_NAME", StringLiteral(names[0]))) if names else properties


def with_schema_names(statement: CreateAs, sink: Source, registry: SchemaRegistry | None) -> CreateAs:
    """The statement with the names of the schemas whose ids it gives, which the columns of the sink must fit."""
    added = statement.properties
    for side, format_, columns in (
        ("KEY", sink.key_format, sink.schema.key),
        ("VALUE", sink.value_format, sink.schema.value),
    ):
        schema_id = given_schema_id(format_)
        if schema_id is None:
            continue
        known = registry_for(format_, registry)
        schema = _schema(known, sink.topic, schema_id, side == "KEY")
        found = _inferred_columns(schema, format_, known, side == "KEY")
        _check_columns(columns, found, side)
        added = _with_name(added, side, schema)
    return replace(statement, properties=added)


def _check_columns(columns: Sequence[Column], found: Sequence[Column], side: str) -> None:
    """Each column must be in the schema, at the same place."""
    shown = [f"`{each.name}` {each.type}" for each in found]
    changed = [
        f"`{each.name}` {each.type}"
        for at, each in enumerate(columns)
        if at >= len(found) or (found[at].name, found[at].type) != (each.name, each.type)
    ]
    if columns and changed:
        message = f"the {side.lower()} columns {', '.join(changed)} are not those of the registered schema"
        raise SqlError("format.schema-id", message, detail=f"the schema has {', '.join(shown)}")
