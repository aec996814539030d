"""DESCRIBE: sources and functions."""

from __future__ import annotations

from typing import Any

from headrace.sql.catalog.sources import Source
from headrace.sql.engine.answers import Table
from headrace.sql.engine.knowledge import Knowledge
from headrace.sql.engine.ports import PersistentQuery
from headrace.sql.errors import SqlError
from headrace.sql.formats.format_info import ColumnsFormat
from headrace.sql.schema import WINDOW_BOUNDS, Column, Part, type_text
from headrace.sql.tree.statements import Describe, Described, SourceKind

_KINDS = {Described.STREAMS: SourceKind.STREAM, Described.TABLES: SourceKind.TABLE}


def described_tables(statement: Describe, known: Knowledge) -> tuple[Table, ...]:
    """What the statement asks about."""
    match statement.what:
        case Described.FUNCTION:
            return described_function(statement.name or "", known)
        case Described.STREAMS | Described.TABLES as what:
            of_kind = [each.name for each in known.catalog.sources.values() if each.kind is _KINDS[what]]
            tables = (described_source(name, known, is_extended=statement.is_extended) for name in of_kind)
            return tuple(table for found in tables for table in found)
        case Described.CONNECTOR:
            message = f"there is no connector {statement.name}: no Kafka Connect cluster is known"
            raise SqlError("connect.none", message)
        case _:
            return described_source(statement.name or "", known, is_extended=statement.is_extended)


def described_source(name: str, known: Knowledge, *, is_extended: bool) -> tuple[Table, ...]:
    """The columns of a source; if ``is_extended``, also how it is written and who reads and writes it."""
    source = known.catalog.source(name)
    columns = Table(source.name, ("Field", "Type"), tuple(_fields(source)))
    if not is_extended:
        return (columns,)
    facts = Table(f"About {source.name}", ("Property", "Value"), tuple(_facts(source, known)))
    queries = [
        *(("reads from", query) for query in known.readers(source.name)),
        *(("writes to", query) for query in known.writers(source.name)),
    ]
    rows = tuple((query.id, f"{what} {source.name}", query.statement_text) for what, query in queries)
    return columns, facts, Table(f"Queries of {source.name}", ("Query ID", "What", "Statement"), rows)


def _fields(source: Source) -> list[tuple[str, str]]:
    found = [(column.name, f"{type_text(column.type)}{_role(column, source)}") for column in source.schema.key]
    if source.windows is not None:
        found += [(name, f"{type_} (window bound)") for name, type_ in WINDOW_BOUNDS.items()]
    others = (*source.schema.value, *source.schema.headers)
    return found + [(column.name, f"{type_text(column.type)}{_role(column, source)}") for column in others]


def _role(column: Column, source: Source) -> str:
    if column.part is Part.KEY:
        return " (primary key)" if source.kind is SourceKind.TABLE else " (key)"
    if column.part is Part.HEADERS:
        return " (headers)" if column.header is None else f" (header('{column.header}'))"
    return ""


def _facts(source: Source, known: Knowledge) -> list[tuple[str, Any]]:
    windows, timestamp = source.windows, source.timestamp
    size = "" if windows is None or windows.size_ms is None else f" of {windows.size_ms} ms"
    pattern = "" if timestamp is None or timestamp.pattern is None else f", read as {timestamp.pattern}"
    return [
        ("Type", f"{'SOURCE ' if source.is_read_only else ''}{source.kind.value}"),
        ("Kafka topic", f"{source.topic} (partitions: {known.topics.partitions(source.topic)})"),
        ("Key format", _format(source.key_format)),
        ("Value format", _format(source.value_format)),
        ("Timestamp column", None if timestamp is None else f"{timestamp.name}{pattern}"),
        ("Windows", None if windows is None else f"{windows.kind.value}{size}"),
    ]


def _format(given: ColumnsFormat) -> str:
    said = [f"{name}={value}" for name, value in sorted(given.properties.items())]
    said += sorted(feature.value for feature in given.features)
    return given.format.name + (f" ({', '.join(said)})" if said else "")


def described_function(name: str, known: Knowledge) -> tuple[Table, ...]:
    """Every way to call a function."""
    kind = known.functions.kind(name)
    overloads = known.functions.overloads(name)
    rows = tuple((f"{each.name}{each.signature}", each.description or None) for each in overloads)
    return (Table(f"{name.upper()}, {kind.value}", ("Signature", "Description"), rows),)


def query_facts(query: PersistentQuery, known: Knowledge) -> list[tuple[str, Any]]:
    """What is known of a running query."""
    return [
        ("Query ID", query.id),
        ("Status", known.running.state(query)),
        ("Sources", ", ".join(query.plan.sources)),
        ("Sink", query.plan.sink),
        ("Statement", query.statement_text),
    ]
