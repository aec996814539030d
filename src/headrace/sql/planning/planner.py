"""From an analysed query to its steps."""

from __future__ import annotations

from headrace.sql.analysis.query import Analysis
from headrace.sql.errors import SqlError
from headrace.sql.planning.aggregates import aggregated
from headrace.sql.planning.flow import Environment, Flow
from headrace.sql.planning.joins import joined
from headrace.sql.planning.projections import projected
from headrace.sql.planning.sources import check_condition, filtered, flat_mapped, partitioned, source_flow
from headrace.sql.schema import WINDOW_BOUNDS, Schema
from headrace.sql.tree.queries import Emit
from headrace.sql.tree.walking import columns_of


def result_of(query: Analysis, environment: Environment, sink: str | None = None, target: Schema | None = None) -> Flow:
    """The rows of the result: sources, joins, WHERE, PARTITION BY, table functions, then groups or the projection.

    ``sink`` is what it is written to; without one all columns are in the value. ``target`` are the columns of a sink
    that is there already.
    """
    _check_clauses(query)
    flow = joined(query, environment) if query.joins is not None else source_flow(query.scope.sources[0], "KsqlTopic")
    if query.where is not None:
        condition = query.scope.in_row(query.where)
        check_condition(condition, flow.schema, "WHERE", environment)
        flow = filtered(flow, condition, ("WhereFilter",), environment)
    if query.partition_by:
        flow = partitioned(flow, query, environment)
    if query.table_functions:
        flow = flat_mapped(flow, query, environment)
    if query.group_by:
        return aggregated(flow, query, target, sink, environment)
    return projected(flow, query, target, sink, environment)


def _check_clauses(query: Analysis) -> None:
    if query.window is not None and not query.group_by:
        raise SqlError("agg.window-needs-group", "WINDOW needs GROUP BY", offset=query.window.at)
    if query.emit is Emit.FINAL and (query.window is None or not query.group_by):
        message = "EMIT FINAL is for aggregates with a WINDOW: others are never final"
        raise SqlError("agg.emit-final", message, offset=query.emit_at)
    _check_bounds(query)
    if query.is_persistent and query.limit is not None:
        raise SqlError("pull.clause", "a query that keeps running cannot have LIMIT", offset=query.limit_at)


def _check_bounds(query: Analysis) -> None:
    """Windows that a query makes are there after its groups, not before."""
    before = (*query.group_by, *(() if query.where is None else (query.where,)))
    for column in (column for each in before for column in columns_of(each)):
        if column.source is None and column.name in WINDOW_BOUNDS:
            message = f"the window bound {column.name} is not there yet in WHERE and GROUP BY, only in SELECT"
            raise SqlError("agg.window-bounds", message, offset=column.at)
