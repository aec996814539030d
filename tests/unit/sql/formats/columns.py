"""Columns of a test, written as in a statement."""

from __future__ import annotations

from headrace.sql import parse
from headrace.sql.formats.format_info import FORMATS, ColumnsFormat, Feature
from headrace.sql.schema import Column
from headrace.sql.tree.statements import CreateSource

UNWRAPPED = frozenset({Feature.UNWRAP})


def columns(text: str) -> tuple[Column, ...]:
    (parsed,) = parse(f"CREATE STREAM S ({text}) WITH (KAFKA_TOPIC='t');")
    assert isinstance(parsed.statement, CreateSource)
    return tuple(Column(each.name, each.type) for each in parsed.statement.columns)


def format_of(name: str, *, unwrapped: bool = False, **properties: str) -> ColumnsFormat:
    return ColumnsFormat(FORMATS[name], properties, UNWRAPPED if unwrapped else frozenset())
