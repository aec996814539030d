"""When Java calls two values equal: numbers of other types never are, decimals by digits and scale, doubles by bits."""

from __future__ import annotations

import struct
from collections.abc import Callable
from decimal import Decimal as Number
from functools import cache, partial
from typing import Any, TypeAlias

from headrace.sql.tree.types import DOUBLE, Array, Decimal, Map, SqlType, Struct
from headrace.sql.types.coercion import kind_of

Equality: TypeAlias = Callable[[Any, Any], bool]


@cache
def equality(left: SqlType, right: SqlType) -> Equality:
    """The test for two values of these types, which may be null: two nulls are equal here."""
    match left, right:
        case Array(item), Array(other):
            return partial(_arrays, equality(item, other))
        case Map(), Map():
            return partial(_maps, equality(left.value, right.value))
        case Struct(fields), Struct():
            return partial(_structs, tuple(equality(f.type, f.type) for f in fields)) if left == right else _both_null
    if kind_of(left) != kind_of(right):
        return _both_null
    if left == DOUBLE:
        return _doubles
    return _decimals if isinstance(left, Decimal) else _plain


def _plain(left: Any, right: Any) -> bool:
    return bool(left == right)


def _both_null(left: Any, right: Any) -> bool:
    return left is None and right is None


def _doubles(left: float | None, right: float | None) -> bool:
    if left is None or right is None:
        return left is right
    # NaN equals itself here, and 0.0 does not equal -0.0.
    return left == right != 0 or (left != left and right != right) or struct.pack("d", left) == struct.pack("d", right)


def _decimals(left: Number | None, right: Number | None) -> bool:
    if left is None or right is None:
        return left is right
    return left == right and left.as_tuple().exponent == right.as_tuple().exponent


def _arrays(same: Equality, left: list[Any] | None, right: list[Any] | None) -> bool:
    if left is None or right is None:
        return left is right
    return len(left) == len(right) and all(map(same, left, right))


def _maps(same: Equality, left: dict[Any, Any] | None, right: dict[Any, Any] | None) -> bool:
    if left is None or right is None:
        return left is right
    return left.keys() == right.keys() and all(same(value, right[key]) for key, value in left.items())


def _structs(same: tuple[Equality, ...], left: tuple[Any, ...] | None, right: tuple[Any, ...] | None) -> bool:
    if left is None or right is None:
        return left is right
    return all(equal(*pair) for equal, *pair in zip(same, left, right, strict=True))


def is_among(same: Equality, value: Any, items: tuple[Any, ...]) -> bool:
    """Whether the value is one of the items; null is never."""
    return value is not None and any(item is not None and same(value, item) for item in items)
