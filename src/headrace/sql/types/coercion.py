"""Which types become which without being asked to."""

from __future__ import annotations

from headrace.sql.tree.types import (
    BIGINT,
    DATE,
    DOUBLE,
    INTEGER,
    STRING,
    TIME,
    TIMESTAMP,
    Array,
    Decimal,
    Field,
    Map,
    SqlType,
    Struct,
)
from headrace.sql.types.decimals import wider

_WIDENING = ("INTEGER", "BIGINT", "DECIMAL", "DOUBLE")
_READ_FROM_TEXT = frozenset(("DATE", "TIME", "TIMESTAMP", "BYTES"))


def kind_of(type_: SqlType) -> str:
    """The name of a type without its parameters.

    >>> kind_of(Decimal(4, 2))
    'DECIMAL'
    """
    return getattr(type_, "name", None) or type(type_).__name__.upper()


def is_number(type_: SqlType | None) -> bool:
    """Whether it is one of the four types of numbers."""
    return type_ in (INTEGER, BIGINT, DOUBLE) or isinstance(type_, Decimal)


def is_time(type_: SqlType | None) -> bool:
    """Whether it is DATE, TIME or TIMESTAMP."""
    return type_ in (DATE, TIME, TIMESTAMP)


def casts_implicitly(type_: SqlType, kind: str | None) -> bool:
    """Whether an argument of this type may stand where one of that kind is wanted: numbers widen, text is read."""
    if type_ == STRING:
        return kind == "STRING" or kind in _READ_FROM_TEXT
    if is_number(type_):
        return kind in _WIDENING and _WIDENING.index(kind_of(type_)) <= _WIDENING.index(kind)
    return kind_of(type_) == kind


def coerced(from_: SqlType, to: SqlType, *, is_literal: bool) -> SqlType | None:
    """The type that holds both, if values of ``from_`` become values of ``to``; literals do so more freely."""
    match from_, to:
        case Array(item), Array(other):
            found = coerced(item, other, is_literal=is_literal)
            return None if found is None else Array(found)
        case Map(key, value), Map(other_key, other_value):
            keys = coerced(key, other_key, is_literal=is_literal)
            values = coerced(value, other_value, is_literal=is_literal)
            return None if keys is None or values is None else Map(keys, values)
        case Struct(), Struct():
            return _merged(from_, to, is_literal)
    kinds = (kind_of(from_), kind_of(to))
    if to != DOUBLE and kinds in _TO_DECIMAL:
        return wider(from_, to)
    return to if kinds in _STRICT or (is_literal and kinds in _LAX) else None


def _merged(from_: Struct, to: Struct, is_literal: bool) -> Struct | None:
    """The fields of both, those of ``from_`` first."""
    types, others = ({field.name: field.type for field in struct.fields} for struct in (from_, to))
    fields = []
    for name in dict.fromkeys((*types, *others)):
        both = name in types and name in others
        found = coerced(types[name], others[name], is_literal=is_literal) if both else types.get(name) or others[name]
        if found is None:
            return None
        fields.append(Field(name, found))
    return Struct(tuple(fields))


_TO_DECIMAL = {(kind, "DECIMAL") for kind in ("INTEGER", "BIGINT", "DECIMAL")}
_STRICT = {
    *((kind, kind) for kind in ("BOOLEAN", "STRING", "BYTES", "DATE", "TIME", "TIMESTAMP")),
    *((kind, wider_) for at, kind in enumerate(_WIDENING) for wider_ in _WIDENING[at:]),
    *(("STRING", kind) for kind in _READ_FROM_TEXT),
}
_LAX = {
    *((kind, "STRING") for kind in ("BOOLEAN", "DATE", "TIME", "TIMESTAMP", *_WIDENING)),
    *(("STRING", kind) for kind in ("BOOLEAN", *_WIDENING)),
}
