"""What is known of a bound expression before any row: whether it can be null, whether it can fail."""

from __future__ import annotations

from headrace.sql.analysis import bound as b
from headrace.sql.tree.types import BOOLEAN, DOUBLE, STRING, Array, Decimal, Map, SqlType, Struct
from headrace.sql.types.coercion import is_time, kind_of

_NEVER_NULL = (
    b.Comparison, b.Logic, b.Negation, b.NullTest, b.Membership, b.Matching, b.Arithmetic, b.SignOf,
    b.MakeArray, b.MakeMap, b.MakeStruct, b.LambdaOf,
)  # fmt: skip
_WHOLE = ("INTEGER", "BIGINT")
_SAFE_CASTS = {
    ("INTEGER", "BIGINT"), ("BIGINT", "INTEGER"), ("BOOLEAN", "STRING"), ("DECIMAL", "STRING"), ("DOUBLE", "STRING"),
    ("DOUBLE", "INTEGER"), ("DOUBLE", "BIGINT"), ("DECIMAL", "INTEGER"), ("DECIMAL", "BIGINT"), ("STRING", "BOOLEAN"),
    *((kind, other) for kind in _WHOLE for other in ("DOUBLE", "STRING")),
}  # fmt: skip


def can_be_null(node: b.Bound) -> bool:
    """Whether its value may be null."""
    match node:
        case b.Constant(value):
            return value is None
        case b.CastTo(value):
            return can_be_null(value)
        case b.Choosing(branches, default):
            return can_be_null(default) or any(can_be_null(result) for _, result in branches)
        case b.Guarded(value):
            return can_fail(value) or can_be_null(value)
    return not isinstance(node, _NEVER_NULL)


def can_fail(node: b.Bound) -> bool:
    """Whether there may be a row that it fails on."""
    match node:
        case b.Constant() | b.ColumnAt() | b.Variable() | b.LambdaOf() | b.Guarded():
            return False
        case b.NullTest(value):
            return can_fail(value)
        case b.Negation(value):
            return _condition_can_fail(value)
        case b.Logic(_, left, right):
            return _condition_can_fail(left) or _condition_can_fail(right)
        case b.Comparison(_, left, right):
            return can_fail(left) or can_fail(right) or _conversion_can_fail(left.type, right.type)
        case b.Membership(value, items):
            return any(map(can_fail, (value, *items)))
        case b.MakeArray(items) | b.MakeStruct(items):
            return any(map(can_fail, items))
        case b.Choosing(branches, default):
            return can_fail(default) or any(_condition_can_fail(when) or can_fail(then) for when, then in branches)
        case b.FieldOf(base):
            return can_fail(base)
        case b.ItemAt(base, index):
            return can_fail(base) or can_fail(index) or can_be_null(index)
        case b.ValueAt(base, key):
            return can_fail(base) or can_fail(key) or isinstance(key.type, Array | Map | Struct)
        case b.CastTo(value, type_):
            return can_fail(value) or not _is_safe_cast(value.type, type_)
    return True


def _condition_can_fail(node: b.Bound) -> bool:
    return can_fail(node) or can_be_null(node)


def _conversion_can_fail(left: SqlType | None, right: SqlType | None) -> bool:
    either = (left, right)
    if STRING in either:
        return any(map(is_time, either))
    return DOUBLE in either and any(isinstance(type_, Decimal) for type_ in either)


def _is_safe_cast(from_: SqlType | None, to: SqlType) -> bool:
    return from_ is None or from_ == to or (kind_of(from_), kind_of(to)) in _SAFE_CASTS


def is_plain(type_: SqlType | None) -> bool:
    """Whether two values of the type are equal exactly if Python says so, and can be in a set."""
    return (
        type_ is not None and not isinstance(type_, Decimal | Array | Map | Struct) and type_ not in (DOUBLE, BOOLEAN)
    )
