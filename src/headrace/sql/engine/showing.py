"""SHOW and LIST."""

from __future__ import annotations

from collections.abc import Callable

from headrace.sql.engine.answers import Table
from headrace.sql.engine.describing import described_source
from headrace.sql.engine.knowledge import Knowledge
from headrace.sql.errors import SqlError
from headrace.sql.settings import in_force
from headrace.sql.tree.statements import Listed, Show, SourceKind

_HIDDEN = ("_confluent", "__consumer_offsets", "__transaction_state", "default_ksql_processing_log", "_schemas")


def shown_tables(statement: Show, known: Knowledge) -> tuple[Table, ...]:
    """What the statement lists."""
    kinds = {Listed.STREAMS: SourceKind.STREAM, Listed.TABLES: SourceKind.TABLE}
    if statement.is_extended and statement.what in kinds:
        of_kind = [each for each in known.catalog.sources.values() if each.kind is kinds[statement.what]]
        return tuple(table for source in of_kind for table in described_source(source.name, known, is_extended=True))
    answer = _ANSWERS.get(statement.what)
    if answer is None:
        message = f"there are no {statement.what.value.lower()}: no Kafka Connect cluster is known"
        raise SqlError("connect.none", message)
    return (answer(known),)


def _sources(kind: SourceKind) -> Callable[[Knowledge], Table]:
    def listed(known: Knowledge) -> Table:
        rows = [
            (
                source.name,
                source.topic,
                source.key_format.format.name,
                source.value_format.format.name,
                source.windows is not None,
            )
            for source in sorted(known.catalog.sources.values(), key=lambda each: each.name)
            if source.kind is kind
        ]
        name = kind.value.capitalize()
        return Table(f"{name}s", (f"{name} Name", "Kafka Topic", "Key Format", "Value Format", "Windowed"), tuple(rows))

    return listed


def _topics(known: Knowledge) -> Table:
    rows = [row for row in _all_topics(known).rows if not str(row[0]).startswith(_HIDDEN)]
    return Table("Topics", ("Kafka Topic", "Partitions"), tuple(rows))


def _all_topics(known: Knowledge) -> Table:
    rows = [(name, known.topics.partitions(name)) for name in sorted(known.topics.names())]
    return Table("Topics", ("Kafka Topic", "Partitions"), tuple(rows))


def _queries(known: Knowledge) -> Table:
    rows = []
    for query in known.queries.values():
        sink = None if query.plan.sink is None else known.catalog.sources.get(query.plan.sink)
        topic = None if sink is None else sink.topic
        rows.append((query.id, "PERSISTENT", known.running.state(query), query.plan.sink, topic, query.statement_text))
    columns = ("Query ID", "Query Type", "Status", "Sink Name", "Sink Kafka Topic", "Query String")
    return Table("Queries", columns, tuple(rows))


def _properties(known: Knowledge) -> Table:
    own = known.session.settings
    found = sorted(in_force(known.settings, own).items())
    rows = tuple((name, "SESSION" if name in own else "SERVER", value) for name, value in found)
    return Table("Properties", ("Property", "Scope", "Effective Value"), rows)


def _functions(known: Knowledge) -> Table:
    rows = tuple((name, kind.value) for name, kind in known.functions.names.items())
    return Table("Functions", ("Function Name", "Kind"), rows)


def _types(known: Knowledge) -> Table:
    rows = tuple((name, str(type_)) for name, type_ in sorted(known.catalog.types.items()))
    return Table("Types", ("Type Name", "Schema"), rows)


def _variables(known: Knowledge) -> Table:
    return Table("Variables", ("Variable Name", "Value"), tuple(sorted(known.session.variables.items())))


_ANSWERS: dict[Listed, Callable[[Knowledge], Table]] = {
    Listed.STREAMS: _sources(SourceKind.STREAM),
    Listed.TABLES: _sources(SourceKind.TABLE),
    Listed.TOPICS: _topics,
    Listed.ALL_TOPICS: _all_topics,
    Listed.QUERIES: _queries,
    Listed.PROPERTIES: _properties,
    Listed.FUNCTIONS: _functions,
    Listed.TYPES: _types,
    Listed.VARIABLES: _variables,
}
