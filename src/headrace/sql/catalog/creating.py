"""CREATE STREAM and CREATE TABLE over a topic: the source that a statement declares."""

from __future__ import annotations

import re
from collections.abc import Mapping

from headrace.sql.catalog.catalog import Catalog
from headrace.sql.catalog.properties import OF_SOURCES, SourceProperties
from headrace.sql.catalog.replacing import ExistsError, check_kind, refusal_of
from headrace.sql.catalog.sources import Source, TimestampColumn, WindowedKeys
from headrace.sql.errors import SqlError, mistakes_at
from headrace.sql.formats.carrying import check_columns, check_key_types, check_wrapping
from headrace.sql.formats.choosing import WRAP_VALUES, key_properties, named_formats, value_properties
from headrace.sql.formats.format_info import ColumnsFormat, Feature, Format
from headrace.sql.schema import ALL_HEADERS, RESERVED_COLUMNS, Column, Part, Schema
from headrace.sql.tree.queries import WindowKind
from headrace.sql.tree.statements import ColumnDefinition, CreateSource, Role, SourceKind
from headrace.sql.tree.types import BIGINT, BYTES, STRING, TIMESTAMP
from headrace.sql.types.time_patterns import pattern_of

_SOURCE_NAME = re.compile(r"[A-Za-z0-9_-]+")
PARTS = {
    None: Part.VALUE,
    Role.KEY: Part.KEY,
    Role.PRIMARY_KEY: Part.KEY,
    Role.HEADERS: Part.HEADERS,
    Role.HEADER: Part.HEADERS,
}


def declared_source(statement: CreateSource, catalog: Catalog, settings: Mapping[str, str]) -> Source:
    """The source that the statement declares, with all its columns written down in it."""
    _check_name(statement.name)
    _check_new(statement, catalog)
    properties = SourceProperties(statement.properties, OF_SOURCES)
    topic = properties.text("KAFKA_TOPIC")
    if topic is None:
        raise SqlError("ddl.topic", "the KAFKA_TOPIC is missing", hint="Write WITH (KAFKA_TOPIC='...').")
    key, value = named_formats(properties, settings)
    key_said, value_said = key_properties(properties, key, statement.name), value_properties(properties, value)
    windows = _windows(properties)
    schema = _schema(statement, catalog)
    _check_schema(statement, schema, windows)
    check_carried(schema, key, value, properties)
    return Source(
        statement.kind,
        statement.name,
        schema,
        topic,
        ColumnsFormat(key, key_said, key_features(schema, key)),
        ColumnsFormat(value, value_said, value_features(schema, value, properties, settings)),
        timestamp_column(properties, schema),
        windows,
        statement.is_read_only,
    )


def check_carried(schema: Schema, key: Format, value: Format, properties: SourceProperties) -> None:
    """Refuse columns that these formats cannot write, and say which property chooses another one."""
    check_key_types(schema.key)
    for part, columns, format_ in (("key", schema.key, key), ("value", schema.value, value)):
        said = "FORMAT" if "FORMAT" in properties else f"{part.upper()}_FORMAT"
        with mistakes_at(properties.at(said)):
            check_columns(columns, format_, f"Give the {part} another format: WITH ({said}='JSON').")


def key_features(schema: Schema, format_: Format) -> frozenset[Feature]:
    """A key of one column is written bare by formats that could also wrap it."""
    is_choice = format_.features == frozenset(Feature)
    return frozenset({Feature.UNWRAP}) if len(schema.key) == 1 and is_choice else frozenset()


def value_features(
    schema: Schema, format_: Format, properties: SourceProperties, settings: Mapping[str, str]
) -> frozenset[Feature]:
    """A value of one column is wrapped unless the statement or the settings say otherwise."""
    wrap = properties.flag("WRAP_SINGLE_VALUE")
    if wrap is not None:
        check_wrapping(schema.value, format_, wrap, properties.at("WRAP_SINGLE_VALUE"))
    elif len(schema.value) == 1 and WRAP_VALUES in settings:
        wrap = str(settings[WRAP_VALUES]).lower() == "true"
    feature = Feature.WRAP if wrap else Feature.UNWRAP
    return frozenset() if wrap is None or feature not in format_.features else frozenset({feature})


def timestamp_column(properties: SourceProperties, schema: Schema) -> TimestampColumn | None:
    """The column that TIMESTAMP names."""
    said, pattern = properties.text("TIMESTAMP"), properties.text("TIMESTAMP_FORMAT")
    if said is None:
        if pattern is not None:
            message = "TIMESTAMP_FORMAT is given without TIMESTAMP"
            raise SqlError("type.timestamp-column", message, offset=properties.at("TIMESTAMP_FORMAT"))
        return None
    name = said[1:-1] if said[:1] == said[-1:] == "`" else said.upper()
    column = schema.find(name)
    if column is None:
        message = f"the TIMESTAMP column `{name}` does not exist"
        raise SqlError("name.column", message, offset=properties.at("TIMESTAMP"))
    if column.type not in (BIGINT, TIMESTAMP, STRING):
        message = f"the TIMESTAMP column `{name}` is of type {column.type}, not BIGINT, TIMESTAMP or STRING"
        raise SqlError("type.timestamp-column", message, offset=properties.at("TIMESTAMP"))
    if (column.type == STRING) != (pattern is not None):
        message = (
            f"the TIMESTAMP column `{name}` is of type {column.type}: TIMESTAMP_FORMAT goes with STRING, and only so"
        )
        raise SqlError("type.timestamp-column", message, offset=properties.at("TIMESTAMP"))
    _check_pattern(pattern, properties.at("TIMESTAMP_FORMAT"))
    return TimestampColumn(name, pattern)


def _check_pattern(pattern: str | None, at: int | None) -> None:
    """Refuse a TIMESTAMP_FORMAT that no text is read by: each row would be lost."""
    try:
        if pattern is not None:
            pattern_of(pattern)
    except ValueError as error:
        message = f"the TIMESTAMP_FORMAT {pattern!r} is no pattern of a time: {error}"
        raise SqlError("type.timestamp-column", message, offset=at) from error


def _check_name(name: str) -> None:
    if not _SOURCE_NAME.fullmatch(name):
        message = f"`{name}` cannot name a stream or table: letters, digits, _ and - only"
        raise SqlError("ddl.name", message)


def _check_new(statement: CreateSource, catalog: Catalog) -> None:
    old = catalog.sources.get(statement.name)
    if statement.or_replace and (statement.is_read_only or (old is not None and old.is_read_only)):
        message = f"{statement.name} is a SOURCE {statement.kind.value}, and these cannot be replaced"
        raise SqlError("ddl.source-is-read-only", message)
    if old is not None and not statement.or_replace:
        raise ExistsError(old, refusal_of(lambda: check_kind(statement.name, old.kind, statement.kind)))


def _windows(properties: SourceProperties) -> WindowedKeys | None:
    kind, size_ms = properties.window_kind(), properties.duration_ms("WINDOW_SIZE")
    if kind is WindowKind.SESSION and size_ms is not None:
        raise SqlError("ddl.window-size", "SESSION windows have no WINDOW_SIZE", offset=properties.at("WINDOW_SIZE"))
    if kind not in {None, WindowKind.SESSION} and size_ms is None:
        hint = "Write WINDOW_SIZE='30 SECONDS'."
        raise SqlError("ddl.window-size", "the WINDOW_SIZE is missing", hint=hint, offset=properties.at("WINDOW_TYPE"))
    if kind is None and size_ms is not None:
        message = "WINDOW_SIZE is given without WINDOW_TYPE"
        raise SqlError("ddl.window-size", message, offset=properties.at("WINDOW_SIZE"))
    return None if kind is None else WindowedKeys(kind, size_ms)


def _schema(statement: CreateSource, catalog: Catalog) -> Schema:
    columns = []
    seen: set[str] = set()
    for definition in statement.columns:
        if definition.name in RESERVED_COLUMNS:
            message = f"`{definition.name}` is a reserved name: every source has such a column, or may have one"
            raise SqlError("ddl.reserved-name", message, offset=definition.at)
        if definition.name in seen:
            message = f"there are two columns `{definition.name}`"
            raise SqlError("name.duplicate", message, offset=definition.at)
        seen.add(definition.name)
        columns.append(_column(definition, statement.kind, catalog))
    return Schema(tuple(columns))


def _column(definition: ColumnDefinition, kind: SourceKind, catalog: Catalog) -> Column:
    name, type_ = definition.name, catalog.resolved(definition.type)
    wanted = Role.PRIMARY_KEY if kind is SourceKind.TABLE else Role.KEY
    if definition.role in {Role.KEY, Role.PRIMARY_KEY} and definition.role is not wanted:
        message = f"the column `{name}` is a {definition.role.value} of a {kind.value}: write {wanted.value}"
        raise SqlError("ddl.key-word", message, offset=definition.at)
    expected = {Role.HEADERS: ALL_HEADERS, Role.HEADER: BYTES}.get(definition.role) if definition.role else None
    if expected is not None and type_ != expected:
        message = f"the header column `{name}` is of type {type_}, not {expected}"
        raise SqlError("ddl.header-type", message, offset=definition.at)
    return Column(name, type_, PARTS[definition.role], definition.header)


def _check_schema(statement: CreateSource, schema: Schema, windows: WindowedKeys | None) -> None:
    if statement.kind is SourceKind.TABLE and not schema.key:
        message = "a table needs a PRIMARY KEY"
        raise SqlError("ddl.table-needs-key", message, hint="Write one: ID INTEGER PRIMARY KEY.")
    if windows is not None and not schema.key:
        raise SqlError("ddl.windowed-needs-key", "a source with windowed keys needs a KEY column")
    if not schema.value and not schema.key:
        raise SqlError("ddl.no-columns", "no columns are given", hint="Only formats with a registry know them.")
