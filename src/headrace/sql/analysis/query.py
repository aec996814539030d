"""A query whose names are all known: what the planner makes steps of."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.sql.analysis.clauses import calls_of, check_clauses
from headrace.sql.analysis.joins import Joined, join_tree
from headrace.sql.analysis.projection import check_names, named_items
from headrace.sql.analysis.scope import Scope, scope_of
from headrace.sql.analysis.table_functions import table_functions
from headrace.sql.catalog.catalog import Catalog
from headrace.sql.errors import SqlError
from headrace.sql.formats.format_info import KAFKA
from headrace.sql.functions.declare import Kind
from headrace.sql.functions.registry import Registry
from headrace.sql.tree.expressions import Call, Expression, IntegerLiteral, NullLiteral
from headrace.sql.tree.queries import AllColumns, AllFields, Emit, Join, Query, Selected, SelectItem, Window
from headrace.sql.tree.statements import SourceKind
from headrace.sql.tree.walking import columns_of


@dataclass(frozen=True, slots=True)
class Analysis:
    """A query in its parts. Columns have their sources; ``scope.in_row`` gives the names that they have in rows."""

    scope: Scope
    items: tuple[SelectItem, ...]
    joins: Joined | None
    where: Expression | None
    group_by: tuple[Expression, ...]
    partition_by: tuple[Expression, ...]
    having: Expression | None
    window: Window | None
    emit: Emit | None
    emit_at: int
    limit: int | None
    limit_at: int
    table_functions: tuple[Call, ...]
    is_persistent: bool

    @property
    def selected_at(self) -> int:
        """Where the projection begins."""
        match self.items[0]:
            case Selected(expression=first) | AllFields(base=first) | (AllColumns() as first):
                return first.at

    @property
    def is_keyless(self) -> bool:
        """PARTITION BY NULL."""
        return any(isinstance(each, NullLiteral) for each in self.partition_by)


EVERYTHING = IntegerLiteral(1)
"""What a query without GROUP BY groups by, if it has aggregates."""


def analysed(query: Query, catalog: Catalog, functions: Registry, *, is_persistent: bool) -> Analysis:
    """The query with the source of each name; an error for what it cannot mean."""
    scope = scope_of(query, catalog)
    _check_aliases(query, scope)
    check_clauses(query, functions)
    items = named_items(query.items, scope)
    joins = tuple(Join(each.kind, each.source, scope.qualified(each.condition), each.within) for each in query.joins)
    where, having = _qualified(scope, query.where), _qualified(scope, query.having)
    group_by = tuple(map(scope.qualified, query.group_by))
    partition_by = tuple(map(scope.qualified, query.partition_by))
    tree = join_tree(scope, joins) if joins else None
    check_names(items, is_persistent=is_persistent)
    group_by = group_by or _implied_group(items, functions)
    called = table_functions(items, functions, is_grouped=bool(group_by))
    found = Analysis(
        scope,
        items,
        tree,
        where,
        group_by,
        partition_by,
        having,
        query.window,
        query.emit,
        query.emit_at,
        query.limit,
        query.limit_at,
        called,
        is_persistent,
    )
    _check_columns(found)
    _check_sources(found)
    return found


def _check_aliases(query: Query, scope: Scope) -> None:
    """What stands before a point is a source of this query, whatever stands behind it."""
    selected = (
        item.expression if isinstance(item, Selected) else item.base
        for item in query.items
        if not isinstance(item, AllColumns)
    )
    clauses = (
        query.where,
        query.having,
        *query.group_by,
        *query.partition_by,
        *(join.condition for join in query.joins),
    )
    for expression in (*selected, *clauses):
        for column in () if expression is None else columns_of(expression):
            if column.source is not None:
                scope.aliased(column.source, column.at)


def _qualified(scope: Scope, expression: Expression | None) -> Expression | None:
    return None if expression is None else scope.qualified(expression)


def _implied_group(items: tuple[SelectItem, ...], functions: Registry) -> tuple[Expression, ...]:
    selected = (item.expression for item in items if isinstance(item, Selected))
    return (EVERYTHING,) if any(any(calls_of(Kind.AGGREGATE, each, functions)) for each in selected) else ()


def _check_columns(query: Analysis) -> None:
    """Every column is one of a source; only a projection may name the key that a join makes up."""
    clauses = {
        "WHERE": (query.where,),
        "GROUP BY": query.group_by,
        "PARTITION BY": query.partition_by,
        "HAVING": (query.having,),
    }
    for clause, expressions in clauses.items():
        for expression in expressions:
            if expression is not None:
                query.scope.sources_of(expression, clause)
    for item in query.items:
        if isinstance(item, Selected):
            query.scope.sources_of(item.expression, "SELECT", synthetic=not query.group_by)
        elif isinstance(item, AllFields):
            query.scope.sources_of(item.base, "SELECT")


def _check_sources(query: Analysis) -> None:
    sources = query.scope.sources
    kafka = [each for each in sources if each.source.value_format.format is KAFKA]
    operation = "JOIN" if query.joins is not None else "GROUP BY" if query.group_by else None
    if kafka and operation:
        names = ", ".join(each.alias for each in kafka)
        message = f"{names} has values in the format KAFKA, which cannot be used with {operation}"
        hint = "Copy it to another format first: CREATE STREAM ... WITH (VALUE_FORMAT='JSON') AS SELECT * FROM ..."
        raise SqlError("format.not-with", message, hint=hint, offset=kafka[0].at)
    tables = [each for each in sources if each.source.kind is SourceKind.TABLE]
    windowed = next((each for each in tables if each.source.windows is not None), None)
    if query.is_persistent and windowed is not None:
        message = "a windowed source that is a table cannot be read by a query that keeps running"
        raise SqlError("join.windows", message, offset=windowed.at)
    if query.table_functions and sources[0] in tables:
        name = query.table_functions[0].name
        message = f"the table function {name} cannot be used on a table, and {sources[0].alias} is one"
        raise SqlError("agg.table-function", message, offset=query.table_functions[0].at)
