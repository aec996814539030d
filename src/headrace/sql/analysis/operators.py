"""Operators to bound expressions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.sql.analysis import bound as b
from headrace.sql.analysis.comparing import check_comparable
from headrace.sql.errors import SqlError
from headrace.sql.text.format import shown
from headrace.sql.tree import expressions as e
from headrace.sql.tree.types import BOOLEAN, STRING, Decimal, SqlType
from headrace.sql.types.coercion import casts_implicitly, is_number, kind_of
from headrace.sql.types.decimals import as_decimal, result_of

if TYPE_CHECKING:
    from headrace.sql.analysis.binding import Scope

_ARITHMETIC = frozenset("+-*/%")


def bind_binary(scope: Scope, tree: e.Binary) -> b.Bound:
    """Arithmetic, comparison, AND, OR."""
    if tree.operator in ("AND", "OR"):
        return b.Logic(tree.operator, _boolean(scope, tree.left), _boolean(scope, tree.right))
    left, right = scope.bind(tree.left), scope.bind(tree.right)
    if tree.operator in _ARITHMETIC:
        return b.Arithmetic(tree.operator, left, right, _arithmetic_type(tree, left.type, right.type))
    return _comparison(tree.operator, left, right, tree.at if right.type is not None else tree.right.at)


def _comparison(operator: str, left: b.Bound, right: b.Bound, at: int) -> b.Bound:
    check_comparable(left.type, operator, right.type, at)
    return b.Comparison(operator, left, right)


def _arithmetic_type(tree: e.Binary, left: SqlType | None, right: SqlType | None) -> SqlType:
    if left == right == STRING and tree.operator == "+":
        return STRING
    if not is_number(left) or not is_number(right) or left is None or right is None:
        message = f"{tree.operator} does not take {left or 'NULL'} and {right or 'NULL'}: {shown(tree)}"
        raise SqlError("type.arithmetic", message, offset=tree.at)
    wide = right if casts_implicitly(left, kind_of(right)) else left
    return result_of(tree.operator, as_decimal(left), as_decimal(right)) if isinstance(wide, Decimal) else wide


def _boolean(scope: Scope, tree: e.Expression) -> b.Bound:
    value = scope.bind(tree)
    if value.type != BOOLEAN:
        message = f"{shown(tree)} is {value.type or 'NULL'} where a condition is wanted"
        raise SqlError("type.boolean", message, offset=tree.at)
    return value


def bind_sign(scope: Scope, tree: e.Signed) -> b.Bound:
    """A sign in front of a number."""
    value = scope.bind(tree.value)
    if value.type is None or not is_number(value.type):
        message = f"{tree.sign} does not take {value.type or 'NULL'}: {shown(tree)}"
        raise SqlError("type.arithmetic", message, offset=tree.at)
    return b.SignOf(tree.sign, value, value.type)


def bind_not(scope: Scope, tree: e.Not) -> b.Bound:
    """NOT."""
    return b.Negation(_boolean(scope, tree.value))


def bind_null_test(scope: Scope, tree: e.IsNull) -> b.Bound:
    """IS [NOT] NULL."""
    return b.NullTest(scope.bind(tree.value), tree.negated)


def bind_between(scope: Scope, tree: e.Between) -> b.Bound:
    """At least the one and at most the other."""
    value, low, high = scope.bind(tree.value), scope.bind(tree.low), scope.bind(tree.high)
    return b.Logic("AND", _comparison(">=", value, low, tree.at), _comparison("<=", value, high, tree.at))


def bind_like(scope: Scope, tree: e.Like) -> b.Bound:
    """LIKE takes text and a pattern of text."""
    value, pattern = scope.bind(tree.value), scope.bind(tree.pattern)
    for side, part in ((value, tree.value), (pattern, tree.pattern)):
        if side.type != STRING:
            message = f"LIKE takes STRING, and {shown(part)} is {side.type or 'NULL'}"
            raise SqlError("type.like", message, offset=part.at)
    return b.Matching(value, pattern, tree.escape)
