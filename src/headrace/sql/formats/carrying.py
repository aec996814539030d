"""Whether a format can carry certain columns."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from headrace.sql.errors import SqlError
from headrace.sql.formats import format_info as formats
from headrace.sql.formats.format_info import Feature, Format
from headrace.sql.schema import Column, type_text
from headrace.sql.tree.types import BIGINT, BYTES, DOUBLE, INTEGER, STRING, Array, Map, SqlType, Struct

_BY_KAFKA = (INTEGER, BIGINT, DOUBLE, STRING, BYTES)
_UNNAMED: Mapping[str, str] = MappingProxyType({})
_MAPS_BY_TEXT = (formats.AVRO, formats.JSON, formats.JSON_SR, formats.PROTOBUF, formats.PROTOBUF_NOSR)
AVRO_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
"""What Avro takes as a name."""


def check_columns(
    columns: Sequence[Column], format_: Format, hint: str | None = None, names: Mapping[str, str] = _UNNAMED
) -> None:
    """Refuse columns that the format cannot write.

    ``hint`` says how to choose one that can, and ``names`` what a column is that the statement does not name.
    """
    if format_ is formats.NONE and columns:
        raise SqlError("format.none", f"the format NONE carries no columns, and there are {_names(columns)}")
    if format_ is formats.KAFKA and len(columns) > 1:
        message = f"the format KAFKA carries one column only, not {_names(columns)}"
        raise SqlError("format.single-column", message, hint=hint)
    for column in columns:
        wrong = _not_carried(column.type, format_)
        if wrong is not None:
            name = names.get(column.name, f"the column `{column.name}`")
            message = f"the format {format_.name} cannot carry {name}: {wrong}"
            raise SqlError("format.type", message, hint=None if format_ in _MAPS_BY_TEXT else hint)
        if format_ is formats.AVRO:
            _check_avro_names(column)


def check_key_types(columns: Sequence[Column]) -> None:
    """Maps are not written the same way each time, so they cannot be in keys."""
    for column in columns:
        if any(isinstance(inner, Map) for inner in parts_of(column.type)):
            type_ = type_text(column.type)
            message = f"the key column `{column.name}` {type_} contains a MAP: equal maps may become different bytes"
            raise SqlError("format.type", message)


def check_wrapping(columns: Sequence[Column], format_: Format, wrap: bool, at: int | None) -> None:
    """Refuse WRAP_SINGLE_VALUE where it says nothing, or what the format cannot do; it stands ``at`` there."""
    if len(columns) > 1:
        message = f"WRAP_SINGLE_VALUE is for one value column, and there are {len(columns)}"
        raise SqlError("format.wrapping", message, offset=at)
    if (Feature.WRAP if wrap else Feature.UNWRAP) not in format_.features:
        message = f"the format {format_.name} cannot do WRAP_SINGLE_VALUE={str(wrap).lower()}"
        raise SqlError("format.wrapping", message, offset=at)


def parts_of(type_: SqlType) -> Iterator[SqlType]:
    """The type itself and all types inside it."""
    yield type_
    match type_:
        case Array(item):
            yield from parts_of(item)
        case Map(key, value):
            yield from parts_of(key)
            yield from parts_of(value)
        case Struct(fields):
            for each in fields:
                yield from parts_of(each.type)


def _not_carried(type_: SqlType, format_: Format) -> str | None:
    """What of the type the format cannot write; None where it writes all of it."""
    if format_ is formats.KAFKA and type_ not in _BY_KAFKA:
        return _base(type_)
    if format_ is formats.DELIMITED and isinstance(type_, Array | Map | Struct):
        return _base(type_)
    if format_ in _MAPS_BY_TEXT:
        for inner in parts_of(type_):
            if isinstance(inner, Map) and inner.key != STRING:
                return f"MAP with keys of type {inner.key}: only STRING keys can be written"
    return None


def _check_avro_names(column: Column) -> None:
    names = [
        column.name,
        *(each.name for part in parts_of(column.type) if isinstance(part, Struct) for each in part.fields),
    ]
    for name in names:
        if not AVRO_NAME.fullmatch(name):
            message = f"Avro has no names such as `{name}`: letters, digits and _, and no digit first"
            raise SqlError("format.name", message)


def _base(type_: SqlType) -> str:
    return re.split(r"[<(]", str(type_), maxsplit=1)[0]


def _names(columns: Sequence[Column]) -> str:
    return ", ".join(f"`{column.name}`" for column in columns)
