"""Columns that stand where aggregates and table functions stood: their results are computed by an earlier step."""

from __future__ import annotations

from headrace.sql.analysis.names import AGGREGATE_VARIABLE, TABLE_FUNCTION_COLUMN
from headrace.sql.functions.declare import Kind
from headrace.sql.functions.registry import Registry
from headrace.sql.tree.expressions import Call, Column, Expression
from headrace.sql.tree.walking import rewritten

_PREFIXES = {Kind.AGGREGATE: AGGREGATE_VARIABLE, Kind.TABLE: TABLE_FUNCTION_COLUMN}


class ResultColumns:
    """Puts columns in the place of calls of one kind, numbered through all expressions that it is called with."""

    def __init__(self, kind: Kind, functions: Registry) -> None:
        self._kind = kind
        self._functions = functions
        self._count = 0

    def __call__(self, expression: Expression) -> Expression:
        """The expression with its calls replaced."""
        return rewritten(expression, self._column)

    def _column(self, part: Expression) -> Expression | None:
        if not isinstance(part, Call) or self._functions.kind(part.name, part.at) is not self._kind:
            return None
        self._count += 1
        return Column(f"{_PREFIXES[self._kind]}{self._count - 1}", at=part.at)
