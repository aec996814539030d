"""Pull queries: which store is read, which of its rows, and what they become."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from headrace.sql.analysis.clauses import calls_of
from headrace.sql.analysis.query import Analysis, analysed
from headrace.sql.catalog.catalog import Catalog
from headrace.sql.catalog.sources import Source
from headrace.sql.errors import SqlError
from headrace.sql.functions.declare import Kind
from headrace.sql.functions.registry import Registry
from headrace.sql.planning.flow import Environment, star_columns
from headrace.sql.planning.plans import QueryPlan
from headrace.sql.planning.schemas import row_schema, typed
from headrace.sql.planning.sources import check_condition
from headrace.sql.pull.stores import KeptRows, kept_rows
from headrace.sql.pull.where import Lookup, Where, evaluated
from headrace.sql.push.plan import PushPlan, planned_push
from headrace.sql.schema import PSEUDO_COLUMNS, ROWTIME, WINDOW_BOUNDS, Column, Part, Schema
from headrace.sql.tree.expressions import Column as ColumnOf
from headrace.sql.tree.expressions import Dereference, Expression
from headrace.sql.tree.queries import AllColumns, AllFields, Query, Selected, Window
from headrace.sql.tree.queries import Source as Named
from headrace.sql.tree.statements import SourceKind
from headrace.sql.tree.types import Struct
from headrace.sql.tree.walking import columns_of

_PUSH = "Write EMIT CHANGES to be told of changes as they come."
LIMIT_ENABLED = "ksql.query.pull.limit.clause.enabled"
_NOT_KEPT = frozenset(name for name in PSEUDO_COLUMNS if name != ROWTIME)


@dataclass(frozen=True, slots=True)
class PullPlan:
    """What answers a question about a table.

    ``row`` are the columns that ``condition`` and ``projection`` read: values, ROWTIME, keys, bounds of windows.
    ``columns`` are those of the answer, keys marked.
    """

    source: Source
    query_id: str
    rows: KeptRows
    lookup: Lookup
    row: Schema
    condition: Expression | None
    projection: tuple[Selected, ...]
    columns: Schema
    limit: int | None


KeptBy: TypeAlias = Callable[[QueryPlan, Registry], KeptRows | None]
"""Where a query keeps the rows of its result."""


def kept_by(plan: QueryPlan, functions: Registry) -> KeptRows | None:
    """Found out anew each time; whoever asks often remembers it."""
    return kept_rows(plan.physical_plan, functions)


def planned_pull(
    query: Query,
    catalog: Catalog,
    queries: Mapping[str, QueryPlan],
    environment: Environment,
    kept: KeptBy = kept_by,
) -> PullPlan:
    """The plan of a query on a table without EMIT; an error for one that cannot be answered."""
    _check_clauses(query, environment)
    found = analysed(query, catalog, environment.functions, is_persistent=False)
    source = found.scope.sources[0].source
    _check_columns(found)
    found_rows = _kept(source, queries, environment, kept)
    if found_rows is None:
        message = f"the table `{source.name}` keeps no rows, so it cannot be asked"
        hint = f"Make one that does: CREATE TABLE QUERYABLE_{source.name} AS SELECT * FROM {source.name};"
        raise SqlError("pull.not-queryable", message, hint=hint, offset=query.source.at)
    query_id, rows = found_rows
    row = _row(source)
    where = None if found.where is None else found.scope.in_row(found.where)
    if where is not None:
        check_condition(where, row, "WHERE", environment)
    is_windowed = source.windows is not None
    reading = Where(source.schema.key, row, is_windowed, environment.functions, environment.settings)
    projection = _projection(found, row, environment)
    return PullPlan(
        source,
        query_id,
        rows,
        reading.lookup(where),
        row,
        None if where is None else evaluated(where, row.value_types),
        projection,
        _columns(found, projection, row, environment),
        query.limit,
    )


def planned_transient(query: Query, catalog: Catalog, environment: Environment) -> PushPlan | None:
    """The plan of a query that runs to be answered: one with EMIT, or on a stream, which ends where that ends now.

    None for a question about a table: ``planned_pull`` finds where its rows are kept.
    """
    if query.emit is None:
        if catalog.source(query.source.name, query.source.at).kind is not SourceKind.STREAM:
            return None
        _check_clauses(query, environment)
        _check_columns(analysed(query, catalog, environment.functions, is_persistent=False))
    return planned_push(query, catalog, environment)


def _check_clauses(query: Query, environment: Environment) -> None:
    clauses: dict[str, Sequence[Named | Window | Expression | None]] = {
        "JOIN": [each.source for each in query.joins],
        "WINDOW": [query.window],
        "GROUP BY": query.group_by,
        "PARTITION BY": query.partition_by,
        "HAVING": [query.having],
    }
    for name, given in clauses.items():
        for at in (each.at for each in given if each is not None):
            raise SqlError("pull.clause", f"a query that is answered once cannot have {name}", hint=_PUSH, offset=at)
    if query.limit is not None and str(environment.settings.get(LIMIT_ENABLED, True)).lower() != "true":
        raise SqlError("pull.clause", f"LIMIT is switched off: {LIMIT_ENABLED} is false", offset=query.limit_at)
    if query.limit is not None and query.limit < 0:
        message = f"LIMIT {query.limit}: a number of rows is not negative"
        raise SqlError("pull.clause", message, offset=query.limit_at)
    _check_aggregates(query, environment.functions)


def _check_aggregates(query: Query, functions: Registry) -> None:
    """As in ksqlDB, where an aggregate is a GROUP BY of everything."""
    for each in (item.expression for item in query.items if isinstance(item, Selected)):
        for call in calls_of(Kind.AGGREGATE, each, functions):
            message = f"a query that is answered once cannot have aggregates, and {call.name} is one"
            hint = f"{_PUSH} A table keeps the result: CREATE TABLE ... AS SELECT ... GROUP BY ...;"
            raise SqlError("pull.clause", message, hint=hint, offset=call.at)


def _check_columns(query: Analysis) -> None:
    selected = [item.expression for item in query.items if isinstance(item, Selected)]
    for clause, expressions in (("SELECT", selected), ("WHERE", [] if query.where is None else [query.where])):
        for column in (column for each in expressions for column in columns_of(each)):
            if column.name in _NOT_KEPT:
                message = f"`{column.name}` in {clause} is not kept, so a query that is answered once cannot have it"
                raise SqlError("pull.clause", message, offset=column.at)


def _kept(
    source: Source, queries: Mapping[str, QueryPlan], environment: Environment, kept: KeptBy
) -> tuple[str, KeptRows] | None:
    """The query that makes the table, or that reads it into a store; None where no rows are kept."""
    makers = [each for each in queries.values() if each.sink == source.name and not each.is_insert]
    makers += [each for each in queries.values() if each.sink is None and each.sources == (source.name,)]
    if source.kind is SourceKind.TABLE and len(makers) == 1:
        rows = kept(makers[0], environment.functions)
        if rows is not None:
            return makers[0].query_id, rows
    return None


def _row(source: Source) -> Schema:
    whole = row_schema(source.schema, is_windowed=source.windows is not None)
    return Schema(tuple(column for column in whole if column.name not in _NOT_KEPT))


def _projection(query: Analysis, row: Schema, environment: Environment) -> tuple[Selected, ...]:
    for each in query.items if len(query.items) > 1 else ():
        if isinstance(each, AllColumns):
            raise SqlError("pull.clause", "* must be alone in a query that is answered once", offset=each.at)
    found: list[Selected] = []
    for item in query.items:
        match item:
            case AllColumns():
                found += [Selected(ColumnOf(each.name), each.name) for each in star_columns(row, None)]
            case AllFields():
                base = query.scope.in_row(item.base)
                type_ = typed(base, row, environment.functions)
                fields = type_.fields if isinstance(type_, Struct) else ()
                found += [Selected(Dereference(base, each.name), each.name) for each in fields]
            case Selected():
                found.append(Selected(query.scope.in_row(item.expression), item.alias))
    return tuple(found)


def _columns(query: Analysis, projection: tuple[Selected, ...], row: Schema, environment: Environment) -> Schema:
    """The columns of the answer: keys are marked, and headers where all columns are asked for."""
    keys = {column.name for column in row.key} | set(WINDOW_BOUNDS)
    is_everything = any(isinstance(item, AllColumns) for item in query.items)
    headers = {column.name: column for column in query.scope.sources[0].source.schema.headers if is_everything}
    found = []
    for each in projection:
        name = each.alias or ""
        part = Part.KEY if name in keys else Part.VALUE
        type_ = typed(each.expression, row, environment.functions)
        found.append(headers.get(name) or Column(name, type_, part))
    return Schema(tuple(found))
