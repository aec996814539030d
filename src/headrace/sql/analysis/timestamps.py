"""Text against times: ROWTIME and the bounds of windows are compared with dates as people write them."""

from __future__ import annotations

from dataclasses import replace

from headrace.sql.errors import SqlError
from headrace.sql.schema import ROWTIME, WINDOW_BOUNDS
from headrace.sql.tree.expressions import Between, Binary, Column, Expression, LongLiteral, StringLiteral
from headrace.sql.tree.walking import rewritten
from headrace.sql.types.times import parse_timestamp

_COMPARISONS = frozenset({"=", "<>", "<", "<=", ">", ">=", "IS DISTINCT FROM"})


def with_times(expression: Expression) -> Expression:
    """The condition with milliseconds in the place of texts that are compared with times."""
    return rewritten(expression, _compared)


def _compared(part: Expression) -> Expression | None:
    match part:
        case Between(value, low, high) if _is_time(value):
            return replace(part, low=_milliseconds(low), high=_milliseconds(high))
        case Binary(operator, left, right) if operator in _COMPARISONS:
            if _is_time(left):
                return replace(part, right=_milliseconds(right))
            if _is_time(right):
                return replace(part, left=_milliseconds(left))
    return None


def _is_time(expression: Expression) -> bool:
    return isinstance(expression, Column) and expression.name in {ROWTIME, *WINDOW_BOUNDS}


def _milliseconds(expression: Expression) -> Expression:
    if not isinstance(expression, StringLiteral):
        return expression
    try:
        return LongLiteral(parse_timestamp(expression.value), at=expression.at)
    except ValueError as error:
        message = f"a time is compared with a text that is none: {error}"
        raise SqlError("type.timestamp", message, offset=expression.at) from error
