"""Values of answers as JSON has them: what a client sees of a row."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from typing import Any

from headrace.sql.schema import Column
from headrace.sql.tree import types as t
from headrace.sql.tree.types import SqlType
from headrace.sql.types.java_text import double_text
from headrace.sql.types.times import date_text, time_text, timestamp_text


def plain_row(row: Sequence[Any], columns: Sequence[Column]) -> list[Any]:
    """The values of a row: times are texts, bytes are base64, structs are objects, decimals stay exact.

    JSON has no number for infinity: it is a text, as in ksqlDB.

    >>> plain_row([0, (1, b"hi")], [Column("A", t.DATE), Column("B", t.Struct((t.Field("X", t.INTEGER),
    ...     t.Field("Y", t.BYTES))))])
    ['1970-01-01', {'X': 1, 'Y': 'aGk='}]
    """
    return [converted(value, column.type, _WRITERS) for value, column in zip(row, columns, strict=True)]


def converted(value: Any, type_: SqlType, scalars: Mapping[SqlType, Callable[[Any], Any]]) -> Any:
    """A value with what ``scalars`` makes of the values of these types, however deep inside; structs become dicts."""
    if value is None:
        return None
    match type_:
        case t.Array(item):
            return [converted(each, item, scalars) for each in value]
        case t.Map(_, item):
            return {key: converted(each, item, scalars) for key, each in value.items()}
        case t.Struct(fields):
            return {field.name: converted(each, field.type, scalars) for field, each in zip(fields, value, strict=True)}
        case _:
            convert = scalars.get(type_)
            return value if convert is None else convert(value)


_WRITERS: dict[SqlType, Callable[[Any], Any]] = {
    t.BYTES: lambda value: base64.b64encode(value).decode("ascii"),
    t.DATE: date_text,
    t.DOUBLE: lambda value: value if isfinite(value) else double_text(value),
    t.TIME: time_text,
    t.TIMESTAMP: timestamp_text,
}
