"""Answers as Arrow tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa

from headrace.errors import UnsupportedError
from headrace.sql.answers import converted
from headrace.sql.schema import Column
from headrace.sql.tree import types as t
from headrace.sql.tree.types import SqlType

_TYPES: dict[SqlType, Any] = {
    t.BOOLEAN: pa.bool_(),
    t.INTEGER: pa.int32(),
    t.BIGINT: pa.int64(),
    t.DOUBLE: pa.float64(),
    t.STRING: pa.string(),
    t.BYTES: pa.binary(),
    t.DATE: pa.date32(),
    t.TIME: pa.time32("ms"),
    t.TIMESTAMP: pa.timestamp("ms", tz="UTC"),
}
_LARGEST_DECIMAL_128 = 38
_LARGEST_DECIMAL_256 = 76


def arrow_table(columns: Sequence[Column], rows: Iterable[Sequence[Any]]) -> Any:
    """A table with the columns of an answer; ``rows`` hold values as the engine of SQL has them."""
    listed = list(rows)
    arrays = [
        pa.array([converted(row[at], column.type, {}) for row in listed], arrow_type(column.type))
        for at, column in enumerate(columns)
    ]
    return pa.Table.from_arrays(arrays, names=[column.name for column in columns])


def arrow_type(type_: SqlType) -> Any:
    """The type that Arrow has for a type of SQL."""
    match type_:
        case t.Decimal(precision) if precision > _LARGEST_DECIMAL_256:
            message = f"Arrow has no type for {type_}: its decimals have {_LARGEST_DECIMAL_256} digits"
            raise UnsupportedError(message, hint="CAST it to a shorter DECIMAL, to DOUBLE or to STRING in the query.")
        case t.Decimal(precision, scale):
            make = pa.decimal128 if precision <= _LARGEST_DECIMAL_128 else pa.decimal256
            return make(precision, scale)
        case t.Array(item):
            return pa.list_(arrow_type(item))
        case t.Map(key, value):
            return pa.map_(arrow_type(key), arrow_type(value))
        case t.Struct(fields):
            return pa.struct([pa.field(field.name, arrow_type(field.type)) for field in fields])
        case _:
            return _TYPES[type_]
