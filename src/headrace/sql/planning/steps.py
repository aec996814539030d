"""The steps of a query, named and cut as ksqlDB's: a tree of them is a query, its root writes the result.

Expressions are unbound: they name columns of the row that comes out of the step below. ``context`` is the name of a
step inside its query, as a path of words; the names of stores and internal topics follow from it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from headrace.sql.catalog.sources import TimestampColumn, WindowedKeys
from headrace.sql.formats.format_info import ColumnsFormat
from headrace.sql.schema import Schema
from headrace.sql.tree.expressions import Call, Expression
from headrace.sql.tree.queries import Emit, JoinKind, Selected, Window

PSEUDO_COLUMN_VERSION = 1
"""The set of pseudo columns that new sources have: ROWTIME, ROWPARTITION and ROWOFFSET."""


@dataclass(frozen=True, slots=True)
class Formats:
    """How the records of one topic or store are written."""

    key: ColumnsFormat
    value: ColumnsFormat


@dataclass(frozen=True, slots=True)
class _Step:
    context: tuple[str, ...]

    @property
    def name(self) -> str:
        """What processors and stores of this step are named after."""
        return "-".join(self.context)


# Sources


@dataclass(frozen=True, slots=True)
class StreamSource(_Step):
    """Every record of a topic."""

    topic_name: str
    formats: Formats
    source_schema: Schema
    timestamp_column: TimestampColumn | None = None
    pseudo_column_version: int = PSEUDO_COLUMN_VERSION


@dataclass(frozen=True, slots=True)
class WindowedStreamSource(_Step):
    """Every record of a topic with windowed keys."""

    topic_name: str
    formats: Formats
    window_info: WindowedKeys
    source_schema: Schema
    timestamp_column: TimestampColumn | None = None
    pseudo_column_version: int = PSEUDO_COLUMN_VERSION


@dataclass(frozen=True, slots=True)
class TableSource(_Step):
    """The latest record of each key of a topic."""

    topic_name: str
    formats: Formats
    source_schema: Schema
    state_store_formats: Formats
    timestamp_column: TimestampColumn | None = None
    pseudo_column_version: int = PSEUDO_COLUMN_VERSION


@dataclass(frozen=True, slots=True)
class WindowedTableSource(_Step):
    """The latest record of each key of a topic with windowed keys."""

    topic_name: str
    formats: Formats
    window_info: WindowedKeys
    source_schema: Schema
    timestamp_column: TimestampColumn | None = None
    pseudo_column_version: int = PSEUDO_COLUMN_VERSION


# Rows by themselves


@dataclass(frozen=True, slots=True)
class StreamSelect(_Step):
    """Other columns; ``selected_keys`` are the key columns that stay, None means all."""

    source: StreamStep
    key_column_names: tuple[str, ...]
    select_expressions: tuple[Selected, ...]
    selected_keys: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class TableSelect(_Step):
    """Other columns."""

    source: TableStep
    key_column_names: tuple[str, ...]
    select_expressions: tuple[Selected, ...]
    internal_formats: Formats


@dataclass(frozen=True, slots=True)
class StreamFilter(_Step):
    """Only rows for which the expression is true."""

    source: StreamStep
    filter_expression: Expression


@dataclass(frozen=True, slots=True)
class TableFilter(_Step):
    """Only rows for which the expression is true; one that was there before goes."""

    source: TableStep
    filter_expression: Expression


@dataclass(frozen=True, slots=True)
class StreamFlatMap(_Step):
    """Rows for a row: the columns of table functions side by side."""

    source: StreamStep
    table_functions: tuple[Call, ...]


@dataclass(frozen=True, slots=True)
class StreamSelectKey(_Step):
    """Another key."""

    source: StreamStep
    key_expression: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class TableSelectKey(_Step):
    """Another key, kept in a store of its own."""

    source: TableStep
    internal_formats: Formats
    key_expression: tuple[Expression, ...]


# Groups and aggregates


@dataclass(frozen=True, slots=True)
class StreamGroupByKey(_Step):
    """Grouped by the key that there is."""

    source: StreamStep
    internal_formats: Formats


@dataclass(frozen=True, slots=True)
class StreamGroupBy(_Step):
    """Grouped by other columns."""

    source: StreamStep
    internal_formats: Formats
    group_by_expressions: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class TableGroupBy(_Step):
    """Grouped by other columns; a row leaves its group when it changes."""

    source: TableStep
    internal_formats: Formats
    group_by_expressions: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class StreamAggregate(_Step):
    """One row for each group."""

    source: StreamGroup
    internal_formats: Formats
    non_aggregate_columns: tuple[str, ...]
    aggregation_functions: tuple[Call, ...]


@dataclass(frozen=True, slots=True)
class StreamWindowedAggregate(_Step):
    """One row for each group and window; ``emit`` is None where every change is sent."""

    source: StreamGroup
    internal_formats: Formats
    non_aggregate_columns: tuple[str, ...]
    aggregation_functions: tuple[Call, ...]
    window_expression: Window
    emit: Emit | None = None


@dataclass(frozen=True, slots=True)
class TableAggregate(_Step):
    """One row for each group of a table."""

    source: TableGroupBy
    internal_formats: Formats
    non_aggregate_columns: tuple[str, ...]
    aggregation_functions: tuple[Call, ...]


# Joins


@dataclass(frozen=True, slots=True)
class StreamStreamJoin(_Step):
    """Pairs of rows that are near each other; without grace, rows without a partner are sent at once."""

    join_type: JoinKind
    left_internal_formats: Formats
    right_internal_formats: Formats
    left_source: StreamStep
    right_source: StreamStep
    before_millis: int
    after_millis: int
    grace_millis: int | None
    key_col_name: str


@dataclass(frozen=True, slots=True)
class StreamTableJoin(_Step):
    """Each row of a stream with the row of a table."""

    join_type: JoinKind
    internal_formats: Formats
    left_source: StreamStep
    right_source: TableStep
    key_col_name: str


@dataclass(frozen=True, slots=True)
class TableTableJoin(_Step):
    """Rows of two tables with the same key."""

    join_type: JoinKind
    left_source: TableStep
    right_source: TableStep
    key_col_name: str


@dataclass(frozen=True, slots=True)
class ForeignKeyTableTableJoin(_Step):
    """Each row of the left table with the row of the right one that it names."""

    join_type: JoinKind
    left_join_expression: Expression
    formats: Formats
    left_source: TableStep
    right_source: TableStep


# Sinks


@dataclass(frozen=True, slots=True)
class StreamSink(_Step):
    """Written to a topic."""

    source: StreamStep
    formats: Formats
    topic_name: str
    timestamp_column: TimestampColumn | None = None


@dataclass(frozen=True, slots=True)
class TableSink(_Step):
    """Changes written to a topic."""

    source: TableStep
    formats: Formats
    topic_name: str
    timestamp_column: TimestampColumn | None = None


SourceStep: TypeAlias = StreamSource | WindowedStreamSource | TableSource | WindowedTableSource
StreamGroup: TypeAlias = StreamGroupByKey | StreamGroupBy
JoinStep: TypeAlias = StreamStreamJoin | StreamTableJoin | TableTableJoin | ForeignKeyTableTableJoin
StreamStep: TypeAlias = (
    StreamSource
    | WindowedStreamSource
    | StreamSelect
    | StreamFilter
    | StreamFlatMap
    | StreamSelectKey
    | StreamStreamJoin
    | StreamTableJoin
)
TableStep: TypeAlias = (
    TableSource
    | WindowedTableSource
    | TableSelect
    | TableFilter
    | TableSelectKey
    | StreamAggregate
    | StreamWindowedAggregate
    | TableAggregate
    | TableTableJoin
    | ForeignKeyTableTableJoin
)
SinkStep: TypeAlias = StreamSink | TableSink
Step: TypeAlias = StreamStep | TableStep | StreamGroup | TableGroupBy | SinkStep


def inputs(step: Step) -> tuple[Step, ...]:
    """The steps below this one, left before right."""
    match step:
        case StreamSource() | WindowedStreamSource() | TableSource() | WindowedTableSource():
            return ()
        case StreamStreamJoin() | StreamTableJoin() | TableTableJoin() | ForeignKeyTableTableJoin():
            return (step.left_source, step.right_source)
        case _:
            return (step.source,)


def walked(step: Step) -> Iterator[Step]:
    """The step and all steps below it."""
    yield step
    for below in inputs(step):
        yield from walked(below)
