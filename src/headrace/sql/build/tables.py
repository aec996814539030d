"""Operations on tables of rows."""

from __future__ import annotations

from functools import partial
from typing import Any

from headrace.sql.build.context import BuildContext
from headrace.sql.build.processors import TableRows
from headrace.sql.build.rekeying import group_key, new_key
from headrace.sql.build.rows import GroupedRow, Passing, Projected, Row, is_there
from headrace.sql.build.views import TableGroupView, TableView
from headrace.sql.compile import predicate, projection
from headrace.sql.planning import steps as s


def select(step: s.TableSelect, below: TableView, context: BuildContext) -> TableView:
    """Other columns; what is not kept anywhere yet is kept here."""
    schema = context.schema(step, below.schema)
    expressions = [each.expression for each in step.select_expressions]
    project = Projected(projection(expressions, below.schema.value, context.functions), context.logger(step))
    where: dict[str, Any] = {"name": step.name} if below.is_kept else {"store": f"{step.name}-Last"}
    serdes = context.serdes(schema, step.internal_formats, below.windows)
    table = below.table.transform_values(partial(TableRows, project), **where, **serdes)
    return TableView(table, schema, below.windows)


def filtered(step: s.TableFilter, below: TableView, context: BuildContext) -> TableView:
    """Only rows that pass; one that does not any more is deleted."""
    passing = Passing(predicate(step.filter_expression, below.schema.value, context.functions), context.logger(step))
    table = (
        below.table.transform_values(partial(TableRows, passing), name=f"{step.name}-ApplyPredicate")
        .filter(is_there, name=f"{step.name}-Filter")
        .map_values(_same, name=f"{step.name}-PostProcess")
    )
    return below.then(table)


def select_key(step: s.TableSelectKey, below: TableView, context: BuildContext) -> TableView:
    """Another key, kept in a store of its own."""
    schema = context.schema(step, below.schema)
    rekeyed = below.table.to_stream().map(new_key(step, below.schema, context), name=f"{step.name}-SelectKey-Mapper")
    serdes = context.serdes(schema, step.internal_formats, below.windows)
    table = rekeyed.to_table(name=f"{step.name}-SelectKey", store=f"{step.name}-Materialize", **serdes)
    return TableView(table, schema, below.windows)


def group_by(step: s.TableGroupBy, below: TableView, context: BuildContext) -> TableGroupView:
    """Grouped by other columns."""
    schema = context.schema(step, below.schema)
    group = below.table.filter(is_there).group_by(
        GroupedRow(group_key(step, below.schema, context)),
        name=step.name,
        **context.serdes(schema, step.internal_formats),
    )
    return TableGroupView(group, schema)


def _same(row: Row) -> Row:
    return row
