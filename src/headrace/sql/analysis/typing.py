"""The types of expressions."""

from __future__ import annotations

from collections.abc import Mapping

from headrace.sql.analysis.binding import Scope
from headrace.sql.analysis.bound import Bound
from headrace.sql.errors import SqlError
from headrace.sql.functions.registry import Registry
from headrace.sql.tree.expressions import Column, Expression
from headrace.sql.tree.types import SqlType


def type_of(expression: Expression, columns: Mapping[str, SqlType], functions: Registry) -> SqlType | None:
    """The type of an expression over columns; that of NULL is None. An ``SqlError`` says what is wrong, and where."""
    if isinstance(expression, Column) and expression.source is None and expression.name in columns:
        return columns[expression.name]
    return bound_in(Scope(columns, functions), expression).type


def bound_in(scope: Scope, expression: Expression) -> Bound:
    """The expression over the positions of a row. An ``SqlError`` says what is wrong, and where."""
    try:
        return scope.bind(expression)
    except RecursionError:
        raise SqlError("parse.too-deep", "this expression is nested too deep", offset=expression.at) from None
