"""Joins of rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.sql.build.context import BuildContext
from headrace.sql.build.rows import ForeignKey, JoinedRows
from headrace.sql.build.views import StreamView, TableView
from headrace.sql.compile import value
from headrace.sql.planning import steps as s
from headrace.sql.planning.windows import join_windows
from headrace.sql.schema import Schema
from headrace.sql.tree.queries import JoinKind

_METHODS = {
    JoinKind.INNER: "join",
    JoinKind.LEFT: "left_join",
    JoinKind.RIGHT: "left_join",
    JoinKind.FULL: "outer_join",
}
"""A right join is a left join from the other side."""


def stream_stream(step: s.StreamStreamJoin, left: StreamView, right: StreamView, context: BuildContext) -> StreamView:
    """Two streams; without grace, rows without a partner are sent at once."""
    schema = context.schema(step, left.schema, right.schema)
    joined = _joined(left.schema, right.schema, schema, is_turned=step.join_type is JoinKind.RIGHT)
    left_serdes = context.serdes(left.schema, step.left_internal_formats, left.windows)
    right_serdes = context.serdes(right.schema, step.right_internal_formats, right.windows)
    first, second = (left.stream, left_serdes), (right.stream, right_serdes)
    if step.join_type is JoinKind.RIGHT:
        first, second = second, first
    method = getattr(first[0], _METHODS[step.join_type])
    stream = method(
        second[0],
        joined,
        join_windows(step.before_millis, step.after_millis, step.grace_millis),
        key_serde=first[1]["key_serde"],
        value_serde=first[1]["value_serde"],
        other_value_serde=second[1]["value_serde"],
        name=step.name,
    )
    return left.then(stream, schema)


def stream_table(step: s.StreamTableJoin, left: StreamView, right: TableView, context: BuildContext) -> StreamView:
    """Each row of the stream with the row of the table."""
    schema = context.schema(step, left.schema, right.schema)
    method: Callable[..., Any] = left.stream.left_join if step.join_type is JoinKind.LEFT else left.stream.join
    serdes = context.serdes(left.schema, step.internal_formats, left.windows)
    stream = method(right.table, _joined(left.schema, right.schema, schema), name=step.name, **serdes)
    return left.then(stream, schema)


def table_table(step: s.TableTableJoin, left: TableView, right: TableView, context: BuildContext) -> TableView:
    """Two tables by their keys."""
    schema = context.schema(step, left.schema, right.schema)
    is_turned = step.join_type is JoinKind.RIGHT
    joined = _joined(left.schema, right.schema, schema, is_turned=is_turned)
    first, second = (right.table, left.table) if is_turned else (left.table, right.table)
    table = getattr(first, _METHODS[step.join_type])(second, joined)
    return TableView(table, schema, left.windows, is_kept=False)


def foreign_key(
    step: s.ForeignKeyTableTableJoin, left: TableView, right: TableView, context: BuildContext
) -> TableView:
    """Each row of the left table with the row of the right one that it names."""
    schema = context.schema(step, left.schema, right.schema)
    compiled = value(step.left_join_expression, left.schema.value, context.functions)
    method: Callable[..., Any] = left.table.left_join if step.join_type is JoinKind.LEFT else left.table.join
    table = method(
        right.table,
        _joined(left.schema, right.schema, schema),
        foreign_key=ForeignKey(compiled, context.logger(step)),
        **context.serdes(schema, step.formats, left.windows),
    )
    return TableView(table, schema, left.windows, is_kept=False)


def _joined(left: Schema, right: Schema, schema: Schema, *, is_turned: bool = False) -> JoinedRows:
    added = len(schema.value) - len(left.value) - len(right.value)
    return JoinedRows(len(left.value), len(right.value), added, is_turned)
