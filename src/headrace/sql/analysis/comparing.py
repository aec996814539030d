"""Which types can be compared with which."""

from __future__ import annotations

from headrace.sql.errors import SqlError
from headrace.sql.tree.types import BOOLEAN, BYTES, DATE, STRING, TIME, TIMESTAMP, Array, Map, SqlType, Struct
from headrace.sql.types.coercion import is_number, is_time, kind_of

_EQUALITY = frozenset(("=", "<>", "IS DISTINCT FROM"))


def check_comparable(left: SqlType | None, operator: str, right: SqlType | None, at: int) -> None:
    """A ``type.compare`` error where the operator does not take these types."""
    if left is None or right is None:
        known = left or right
        other = f" with {kind_of(known)}" if known is not None else ""
        hint = "IS NULL and IS NOT NULL test for it."
        raise SqlError("type.compare", f"{operator} does not compare NULL{other}", hint=hint, offset=at)
    if not _is_comparable(left, operator, right):
        message = f"{operator} does not compare {left} with {right}"
        raise SqlError("type.compare", message, hint="CAST makes one of them the type of the other.", offset=at)


def _is_comparable(left: SqlType, operator: str, right: SqlType) -> bool:
    if is_number(left):
        return is_number(right)
    if left == STRING:
        return right == STRING or is_time(right)
    if left == BOOLEAN or isinstance(left, Array | Map | Struct):
        return operator in _EQUALITY and kind_of(left) == kind_of(right)
    if left == TIME:
        return right in (TIME, STRING)
    if left in (DATE, TIMESTAMP):
        return right in (DATE, TIMESTAMP, STRING)
    return left == BYTES and right == BYTES
