"""The time of a row: its record's, or what one of its columns says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from headrace.records import ConsumedRecord
from headrace.sql.build.context import BuildContext
from headrace.sql.build.rows import Row, plain_key
from headrace.sql.catalog.sources import TimestampColumn
from headrace.sql.planning import steps as s
from headrace.sql.schema import Part, Schema
from headrace.sql.types.time_patterns import pattern_of
from headrace.sql.types.zones import system_zone
from headrace.timestamps import EXTRACTORS, TimestampExtractor

THROW_ON_INVALID = "ksql.timestamp.throw.on.invalid"
_EXTRACTOR = ("ksql.streams.default.timestamp.extractor", "default.timestamp.extractor")


def record_time(step: s.SourceStep, context: BuildContext) -> TimestampExtractor | None:
    """Where the time of a source's records comes from; None is as the topology says."""
    if step.timestamp_column is None:
        named = next((context.settings[name] for name in _EXTRACTOR if name in context.settings), None)
        return None if named is None else EXTRACTORS.get(str(named).rpartition(".")[2])
    time = row_time(step.timestamp_column, step.source_schema)
    fails = str(context.settings.get(THROW_ON_INVALID, False)).lower() == "true"
    return ColumnTime(time, context.logger(step), fails)


def row_time(column: TimestampColumn, schema: Schema) -> RowTime:
    """What reads the column that has the time."""
    found = schema.find(column.name)
    assert found is not None
    columns = schema.key if found.part is Part.KEY else schema.value
    return RowTime(columns.index(found), found.part is Part.KEY, column.pattern)


@dataclass(frozen=True, slots=True)
class RowTime:
    """The time that a column says, in milliseconds. What says none is a ValueError."""

    at: int
    of_key: bool
    pattern: str | None

    def __call__(self, key: Any, row: Row | None) -> int:
        part = plain_key(key) if self.of_key else row
        found = None if part is None else part[self.at]
        if found is None:
            raise ValueError("the column with the time is null")
        return found if self.pattern is None else pattern_of(self.pattern).read_instant(found, system_zone())


@dataclass(frozen=True, slots=True)
class ColumnTime:
    """A timestamp extractor: a record whose row says no time is logged and dropped, or stops the query."""

    time: Callable[[Any, Row | None], int]
    log: Any
    fails: bool

    def __call__(self, record: ConsumedRecord, partition_time: int) -> int:
        try:
            return self.time(record.key, record.value)
        except Exception as error:
            self.log.failed("no time for the row that was read", error, record.value)
            if self.fails:
                raise
            return -1
