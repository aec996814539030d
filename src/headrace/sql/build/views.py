"""What is between steps while a topology is built: a stream, table or group, and what its rows are."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from headrace.dsl.grouped_stream import KGroupedStream
from headrace.dsl.grouped_table import KGroupedTable
from headrace.dsl.kstream import KStream
from headrace.dsl.ktable import KTable
from headrace.sql.catalog.sources import WindowedKeys
from headrace.sql.schema import Schema


@dataclass(frozen=True, slots=True)
class StreamView:
    """A stream of rows; with ``windows`` its keys are windowed."""

    stream: KStream[Any, Any]
    schema: Schema
    windows: WindowedKeys | None = None

    def then(self, stream: KStream[Any, Any], schema: Schema | None = None) -> StreamView:
        """The view after another operation."""
        return replace(self, stream=stream, schema=schema or self.schema)


@dataclass(frozen=True, slots=True)
class TableView:
    """A table of rows. Where it ``is_kept``, there is a store of these rows or of those that they are made of."""

    table: KTable[Any, Any]
    schema: Schema
    windows: WindowedKeys | None = None
    is_kept: bool = True

    def then(self, table: KTable[Any, Any], schema: Schema | None = None) -> TableView:
        """The view after another operation."""
        return replace(self, table=table, schema=schema or self.schema)


@dataclass(frozen=True, slots=True)
class StreamGroupView:
    """A grouped stream."""

    group: KGroupedStream[Any, Any]
    schema: Schema


@dataclass(frozen=True, slots=True)
class TableGroupView:
    """A grouped table."""

    group: KGroupedTable[Any, Any]
    schema: Schema


View: TypeAlias = StreamView | TableView | StreamGroupView | TableGroupView
