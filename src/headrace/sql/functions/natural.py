"""Equality and order of values as Java's ``equals`` and ``compareTo`` have them."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable
from decimal import Decimal
from typing import Any

from headrace.sql.types.utf16 import units


def same(left: Any, right: Any) -> bool:
    """Whether two values of one type are equal: NaN is itself, 0.0 is not -0.0, 1.0 is not 1.00."""
    return identity(left) == identity(right)


def is_among(value: Any, values: Iterable[Any]) -> bool:
    """Whether an equal value of the same type is there."""
    if value is None or isinstance(value, str | int | bytes):
        return value in values  # Python's equality is Java's here, and much faster
    wanted = identity(value)
    return any(identity(each) == wanted for each in values)


def identity(value: Any) -> Hashable:
    """A key that two values of one type share if and only if they are equal."""
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else (value, math.copysign(1, value))
    if isinstance(value, Decimal):
        return value.as_tuple()
    if isinstance(value, list):
        return tuple(map(identity, value))
    if isinstance(value, tuple):
        return ("struct", *map(identity, value))
    if isinstance(value, dict):
        return frozenset((identity(key), identity(item)) for key, item in value.items())
    return value  # type: ignore[no-any-return]


def distinct(values: Iterable[Any]) -> list[Any]:
    """Each value once, where it came first."""
    found: dict[Hashable, Any] = {}
    for value in values:
        found.setdefault(identity(value), value)
    return list(found.values())


def order(value: Any) -> Any:
    """A key that sorts values of one type as Java sorts them; values that have no order are a ``TypeError``."""
    if isinstance(value, str):
        return units(value)
    if isinstance(value, float):
        return (1, 0.0, 1.0) if math.isnan(value) else (0, value, math.copysign(1, value))
    if isinstance(value, bytes):
        return [byte ^ 0x80 for byte in value]  # bytes are signed in Java
    if isinstance(value, int | Decimal):
        return value
    message = f"{type(value).__name__} values have no order"
    raise TypeError(message)
