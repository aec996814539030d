"""Topics that are there before the statements of a case."""

from __future__ import annotations

from collections.abc import Iterator

from headrace.sql.catalog.properties import OF_SOURCES, SourceProperties
from headrace.sql.errors import SqlError
from headrace.sql.tree.statements import CreateAs, CreateSource, Parsed
from tests.ksql.cases import Case

_DECLARED_PARTITIONS = 4
"""Of a topic that a statement declares, where nothing else is said."""


def declared_partitions(case: Case, statements: list[Parsed]) -> Iterator[tuple[str, int]]:
    """How many partitions topics have that a case or its statements declare; the last word counts."""
    for parsed in statements:
        if isinstance(parsed.statement, CreateSource) and parsed.statement.columns:
            for topic, number in _partitions(parsed.statement):
                yield topic, number or _DECLARED_PARTITIONS
    for topic in case.node.get("topics") or ():
        if isinstance(topic, dict):
            yield topic["name"], topic.get("partitions") or 1


def said_partitions(statements: list[Parsed]) -> Iterator[tuple[str, int]]:
    """How many partitions statements ask for; in cases this is neither checked nor done."""
    for parsed in statements:
        if isinstance(parsed.statement, CreateSource | CreateAs):
            for topic, number in _partitions(parsed.statement):
                if number is not None:
                    yield topic or parsed.statement.name, number


def _partitions(statement: CreateSource | CreateAs) -> Iterator[tuple[str, int | None]]:
    try:
        properties = SourceProperties(statement.properties, OF_SOURCES)
        yield properties.text("KAFKA_TOPIC") or "", properties.whole("PARTITIONS")
    except SqlError:
        return  # The statement says so itself.
