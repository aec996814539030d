"""What a query writes to: the stream or table that it makes, or one that is there."""

from __future__ import annotations

from dataclasses import replace

from headrace.sql.analysis.query import Analysis
from headrace.sql.catalog.creating import check_carried, key_features, timestamp_column, value_features
from headrace.sql.catalog.properties import SHARED, SourceProperties
from headrace.sql.catalog.sources import Source
from headrace.sql.errors import SqlError
from headrace.sql.formats import format_info as formats
from headrace.sql.formats.choosing import check_both, format_named, key_properties, value_properties
from headrace.sql.formats.format_info import ColumnsFormat
from headrace.sql.planning import steps as s
from headrace.sql.planning.aggregates import windowed_keys
from headrace.sql.planning.flow import Environment, Flow
from headrace.sql.planning.formats import check_formats, inherited_properties
from headrace.sql.planning.implicit import fits_columns
from headrace.sql.schema import Schema
from headrace.sql.tree.statements import CreateAs, SourceKind

TOPIC_PREFIX = "ksql.output.topic.name.prefix"


def new_sink(statement: CreateAs, flow: Flow, query: Analysis, environment: Environment) -> Source:
    """The stream or table that the statement makes."""
    properties = SourceProperties(statement.properties, SHARED)
    schema = flow.schema
    key = sink_key_format(statement.name, properties, query, schema, environment)
    value = _value_format(properties, query)
    value = replace(value, features=value_features(schema, value.format, properties, environment.settings))
    window = query.window
    source = Source(
        SourceKind.TABLE if flow.is_table else SourceKind.STREAM,
        statement.name,
        schema,
        properties.text("KAFKA_TOPIC") or environment.settings.get(TOPIC_PREFIX, "") + statement.name,
        replace(key, features=key_features(schema, key.format)),
        value,
        timestamp_column(properties, schema),
        query.scope.sources[0].source.windows if window is None else windowed_keys(window, query.emit),
    )
    check_carried(schema, source.key_format.format, source.value_format.format, properties)
    _check_kind(statement, source)
    return source


def sink_key_format(
    name: str, properties: SourceProperties, query: Analysis, schema: Schema, environment: Environment
) -> ColumnsFormat:
    """As it was said, else as the first source's; none without a key, and the default where there is one again."""
    check_both(properties)
    said = properties.text("FORMAT") or properties.text("KEY_FORMAT")
    if query.is_keyless:
        at = properties.at("FORMAT", "KEY_FORMAT")
        if said is not None and format_named(said, at) is not formats.NONE:
            raise SqlError("format.none", "a key format is given for a stream without key columns", offset=at)
        return ColumnsFormat(formats.NONE)
    inherited = query.scope.sources[0].source.key_format
    format_ = inherited.format if said is None else format_named(said, properties.at("FORMAT", "KEY_FORMAT"))
    if said is None and format_ is formats.NONE and schema.key:
        return environment.default_key_format
    own = key_properties(properties, format_, name)
    return ColumnsFormat(format_, inherited_properties(format_, inherited) | own)


def _value_format(properties: SourceProperties, query: Analysis) -> ColumnsFormat:
    said = properties.text("FORMAT") or properties.text("VALUE_FORMAT")
    inherited = query.scope.sources[0].source.value_format
    format_ = inherited.format if said is None else format_named(said, properties.at("FORMAT", "VALUE_FORMAT"))
    return ColumnsFormat(format_, inherited_properties(format_, inherited) | value_properties(properties, format_))


def _check_kind(statement: CreateAs, source: Source) -> None:
    if source.kind is not statement.kind:
        message = f"the query of {statement.name} makes a {source.kind.value}, not a {statement.kind.value}"
        hint = f"Write CREATE {source.kind.value} {statement.name} AS ..."
        raise SqlError("ddl.result-kind", message, hint=hint)


def written(flow: Flow, sink: Source) -> s.SinkStep:
    """The step that writes to the sink."""
    given = (s.Formats(sink.key_format, sink.value_format), sink.topic, sink.timestamp)
    if flow.is_table:
        return s.TableSink((sink.name,), flow.step, *given)
    return s.StreamSink((sink.name,), flow.step, *given)


def check_target(target: Source) -> None:
    """Refuse to insert into what takes no rows of queries."""
    name = target.name
    if target.kind is not SourceKind.STREAM:
        raise SqlError("insert.target", f"{name} is a table, and INSERT INTO ... SELECT inserts into streams")
    if target.schema.headers:
        raise SqlError("insert.target", f"{name} has header columns, so nothing can be inserted")
    if target.is_read_only:
        raise SqlError("insert.target", f"{name} is a SOURCE stream, which is read only")


def check_result(flow: Flow, target: Source) -> None:
    """Refuse rows that are not the target's."""
    if flow.is_table:
        message = f"the query makes a TABLE, and {target.name} is a {target.kind.value}"
        raise SqlError("insert.target", message)
    if not fits_columns(flow.schema, target.schema):
        message = f"the columns of the query are not those of {target.name}"
        detail = f"the query has   {flow.schema}\n{target.name} has   {target.schema}"
        raise SqlError("insert.schema", message, detail=detail)
    check_formats(flow.schema, s.Formats(target.key_format, target.value_format))
