"""Literals as other types: what is written in lists and in INSERT VALUES is taken more freely than other values."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from headrace.sql.tree import types as t
from headrace.sql.tree.types import SqlType
from headrace.sql.types.booleans import is_boolean_text, is_true_text
from headrace.sql.types.casts import CastError, cast_of
from headrace.sql.types.coercion import coerced
from headrace.sql.types.java_text import double_text
from headrace.sql.types.numbers import fitting, parse_decimal
from headrace.sql.types.trimming import trimmed


def literal_as(value: Any, from_: SqlType, to: SqlType, *, strict: bool = False) -> Any:
    """The value as another type. Nothing is rounded nor cut: where that would be, it is a ValueError.

    Text that is a number, a boolean or a time becomes one, and they become text; if ``strict``, only numbers widen and
    only times and bytes are read from text.
    """
    if value is None:
        return None
    match from_, to:
        case t.Array(item), t.Array(other):
            return [literal_as(part, item, other, strict=strict) for part in value]
        case t.Map(), t.Map():
            return {
                literal_as(key, from_.key, to.key, strict=strict): literal_as(
                    part, from_.value, to.value, strict=strict
                )
                for key, part in value.items()
            }
        case t.Struct(), t.Struct():
            return _struct(value, from_, to, strict)
    if coerced(from_, to, is_literal=not strict) is None:
        message = f"{from_} does not become {to}"
        raise CastError(message)
    return _simple(value, from_, to)


def _simple(value: Any, from_: SqlType, to: SqlType) -> Any:
    if isinstance(to, t.Decimal):
        return fitting(_exact(value, from_), to)
    if from_ == t.STRING and to == t.BOOLEAN:
        if not is_boolean_text(value):
            message = f"{value!r} is neither true nor false"
            raise ValueError(message)
        return is_true_text(trimmed(value))
    return cast_of(from_, to)(value)


def _exact(value: Any, from_: SqlType) -> Decimal:
    if from_ == t.STRING:
        return parse_decimal(trimmed(value))
    return Decimal(double_text(value)) if from_ == t.DOUBLE else Decimal(value)


def _struct(value: tuple[Any, ...], from_: t.Struct, to: t.Struct, strict: bool) -> tuple[Any, ...]:
    parts = {field.name: (part, field.type) for field, part in zip(from_.fields, value, strict=True)}
    return tuple(
        literal_as(*parts[field.name], field.type, strict=strict) if field.name in parts else None
        for field in to.fields
    )
