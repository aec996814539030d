"""Which clauses can have aggregates and table functions: the others see one row, and need one value for it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from headrace.sql.errors import SqlError
from headrace.sql.functions.declare import Kind
from headrace.sql.functions.registry import Registry
from headrace.sql.tree.expressions import Call, Expression
from headrace.sql.tree.queries import Query
from headrace.sql.tree.walking import parts

_REFUSED = {
    Kind.AGGREGATE: ("agg.nested", "aggregates", "They stand in SELECT and HAVING of a query with GROUP BY."),
    Kind.TABLE: ("agg.table-function", "table functions", "They stand in SELECT of a query on a stream."),
}


def calls_of(kind: Kind, expression: Expression, functions: Registry) -> Iterator[Call]:
    """The calls of functions of a kind; an error for a function that is not known."""
    if isinstance(expression, Call) and functions.kind(expression.name, expression.at) is kind:
        yield expression
    for part in parts(expression):
        yield from calls_of(kind, part, functions)


def check_clauses(query: Query, functions: Registry) -> None:
    """Refuse both in every clause but SELECT; HAVING may have aggregates, but no table functions."""
    check_calls("JOIN", (each.condition for each in query.joins), functions)
    check_calls("WHERE", () if query.where is None else (query.where,), functions)
    check_calls("PARTITION BY", query.partition_by, functions)
    check_calls("GROUP BY", query.group_by, functions)
    check_calls("HAVING", () if query.having is None else (query.having,), functions, (Kind.TABLE,))


def check_calls(
    clause: str, expressions: Iterable[Expression], functions: Registry, refused: Iterable[Kind] = tuple(_REFUSED)
) -> None:
    """Refuse functions of these kinds in a clause whose expressions are evaluated row by row."""
    for expression in expressions:
        for kind in refused:
            for call in calls_of(kind, expression, functions):
                code, named, hint = _REFUSED[kind]
                message = f"{clause} cannot have {named}, and {call.name} is one"
                raise SqlError(code, message, hint=hint, offset=call.at)
