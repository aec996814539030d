"""The common type of what a user lists: in ARRAY[...], MAP(...) and IN (...)."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from decimal import Decimal as Number
from typing import TypeAlias, TypeVar

from headrace.sql.errors import SqlError
from headrace.sql.text.format import shown
from headrace.sql.tree.expressions import (
    ArrayOf,
    BooleanLiteral,
    DecimalLiteral,
    DoubleLiteral,
    Expression,
    IntegerLiteral,
    LongLiteral,
    MapOf,
    NullLiteral,
    StringLiteral,
    StructOf,
    Typed,
)
from headrace.sql.tree.types import BIGINT, BOOLEAN, DOUBLE, INTEGER, Array, Decimal, Field, Map, SqlType, Struct
from headrace.sql.types.booleans import is_boolean_text
from headrace.sql.types.coercion import casts_implicitly, coerced, is_number, kind_of
from headrace.sql.types.decimals import type_of_number, wider
from headrace.sql.types.trimming import trimmed

LITERALS = (
    NullLiteral, BooleanLiteral, IntegerLiteral, LongLiteral, DecimalLiteral, DoubleLiteral, StringLiteral, Typed,
)  # fmt: skip
S = TypeVar("S", Array, Map, Struct)
Typing: TypeAlias = Callable[[Expression], SqlType | None]
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_INT_MAX, _LONG_MAX = (1 << 31) - 1, (1 << 63) - 1


def common_type(items: Sequence[Expression], typed: Typing) -> SqlType | None:
    """The type that all ``items`` become, the first that is no NULL leading; None if all are NULL.

    ``type.list`` where there is none.
    """
    found: SqlType | None = None
    for item in items:
        found = _with(found, typed(item), item, typed)
    return found


def _with(common: SqlType | None, type_: SqlType | None, item: Expression, typed: Typing) -> SqlType | None:
    if common is None or type_ is None:
        return common or type_
    match item:
        case ArrayOf(items):
            return Array(_among(_checked(common, Array, item, type_).item, items, typed))
        case MapOf(entries):
            wanted = _checked(common, Map, item, type_)
            keys = _among(wanted.key, [key for key, _ in entries], typed)
            return Map(keys, _among(wanted.value, [value for _, value in entries], typed))
        case StructOf(fields):
            return _struct(_checked(common, Struct, item, type_), dict(fields), typed)
        case StringLiteral(text) if is_number(common):
            return _with_number(common, text, item.at)
        case StringLiteral(text) if common == BOOLEAN:
            if not is_boolean_text(text):
                raise _unreadable(text, BOOLEAN, item.at)
            return common
    is_literal = isinstance(item, LITERALS)
    found = coerced(type_, common, is_literal=is_literal) or coerced(common, type_, is_literal=is_literal)
    if found is None:
        raise _no_common(common, type_, item)
    return found


def _checked(common: SqlType, wanted: type[S], item: Expression, type_: SqlType) -> S:
    if not isinstance(common, wanted):
        raise _no_common(common, type_, item)
    return common


def _among(common: SqlType, items: Sequence[Expression], typed: Typing) -> SqlType:
    found: SqlType | None = common
    for item in items:
        found = _with(found, typed(item), item, typed)
    assert found is not None
    return found


def _struct(common: Struct, fields: dict[str, Expression], typed: Typing) -> Struct:
    types = {field.name: field.type for field in common.fields}
    merged = []
    for name in dict.fromkeys((*fields, *types)):
        found = _with(types.get(name), typed(fields[name]), fields[name], typed) if name in fields else types[name]
        if found is None:
            message = f"the type of the field {name} is not known: it is only NULL"
            raise SqlError("type.null", message, offset=fields[name].at)
        merged.append(Field(name, found))
    return Struct(tuple(merged))


def _with_number(common: SqlType, text: str, at: int) -> SqlType:
    """Text that is a number joins numbers."""
    if not _NUMBER.fullmatch(trimmed(text)):
        raise _unreadable(text, common, at)
    found = _type_of_text(trimmed(text))
    if common == DOUBLE:
        return DOUBLE
    if isinstance(found, Decimal) or isinstance(common, Decimal):
        return wider(found, common)
    return common if casts_implicitly(found, kind_of(common)) else found


def _type_of_text(text: str) -> SqlType:
    # The smallest and the largest number of a type count as the next wider type, as in ksqlDB.
    if text.lstrip("+-").isdecimal():
        if abs(int(text)) < _INT_MAX + (int(text) < 0):
            return INTEGER
        if abs(int(text)) < _LONG_MAX + (int(text) < 0):
            return BIGINT
    return type_of_number(Number(text))


def _unreadable(text: str, type_: SqlType, at: int) -> SqlError:
    return SqlError("type.list", f"'{text}' cannot be read as {kind_of(type_)}", offset=at)


def _no_common(common: SqlType, type_: SqlType, item: Expression) -> SqlError:
    message = f"{shown(item)} is {type_}, and does not go with {common}"
    return SqlError("type.list", message, hint="CAST makes it the type of the others.", offset=item.at)
