"""Schemas as Kafka Connect has them: what lies between SQL's types and those of Avro, Protobuf and JSON schema.

Values of a Connect schema are plain Python: a struct is a dict by field names, dates and times are numbers, decimals
are ``Decimal``. Columns come from a registry through such a schema, and rows are read through one.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal
from enum import Enum
from typing import Any

from headrace.sql.schema import Column
from headrace.sql.tree import types as sql
from headrace.sql.tree.types import SqlType
from headrace.sql.types.java_maps import SizedMap
from headrace.sql.types.java_text import double_text
from headrace.sql.types.numbers import fitting

DECIMAL, DATE, TIME, TIMESTAMP = (
    f"org.apache.kafka.connect.data.{name}" for name in ("Decimal", "Date", "Time", "Timestamp")
)
"""Names of logical types."""
DEFAULT_PRECISION = 64
"""Of decimals whose schema does not say."""
_WIDE = Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN)


class Kind(Enum):
    """What a value is made of."""

    BOOLEAN = "boolean"
    INT8 = "int8"
    INT16 = "int16"
    INT32 = "int32"
    INT64 = "int64"
    FLOAT32 = "float32"
    FLOAT64 = "float64"
    STRING = "string"
    BYTES = "bytes"
    ARRAY = "array"
    MAP = "map"
    STRUCT = "struct"


@dataclass(frozen=True, slots=True)
class ConnectField:
    """A part of a struct."""

    name: str
    schema: ConnectSchema


@dataclass(frozen=True, slots=True)
class ConnectSchema:
    """The type of values; ``name`` is that of a logical type or of a struct."""

    kind: Kind
    name: str | None = None
    is_optional: bool = True
    default: Any = None
    fields: tuple[ConnectField, ...] = ()
    key: ConnectSchema | None = None
    value: ConnectSchema | None = None
    precision: int = DEFAULT_PRECISION
    scale: int = 0

    @property
    def item(self) -> ConnectSchema:
        """Of arrays and maps: what they hold."""
        assert self.value is not None
        return self.value


class UnsupportedSchemaError(ValueError):
    """A schema that has no SQL type."""


_PRIMITIVES: dict[SqlType, ConnectSchema] = {
    sql.BOOLEAN: ConnectSchema(Kind.BOOLEAN),
    sql.INTEGER: ConnectSchema(Kind.INT32),
    sql.BIGINT: ConnectSchema(Kind.INT64),
    sql.DOUBLE: ConnectSchema(Kind.FLOAT64),
    sql.STRING: ConnectSchema(Kind.STRING),
    sql.BYTES: ConnectSchema(Kind.BYTES),
    sql.DATE: ConnectSchema(Kind.INT32, DATE),
    sql.TIME: ConnectSchema(Kind.INT32, TIME),
    sql.TIMESTAMP: ConnectSchema(Kind.INT64, TIMESTAMP),
}
_NAMED = {(schema.kind, schema.name): type_ for type_, schema in _PRIMITIVES.items()}
_UNNAMED: dict[Kind, SqlType] = {
    Kind.BOOLEAN: sql.BOOLEAN,
    Kind.INT8: sql.INTEGER,
    Kind.INT16: sql.INTEGER,
    Kind.INT32: sql.INTEGER,
    Kind.INT64: sql.BIGINT,
    Kind.FLOAT32: sql.DOUBLE,
    Kind.FLOAT64: sql.DOUBLE,
    Kind.STRING: sql.STRING,
    Kind.BYTES: sql.BYTES,
}
_MAP_KEYS = {Kind.INT8, Kind.INT16, Kind.INT32, Kind.INT64, Kind.BOOLEAN, Kind.STRING}


def of_type(type_: SqlType) -> ConnectSchema:
    """The schema of a SQL type; everything in it may be null."""
    match type_:
        case sql.Decimal(precision, scale):
            return ConnectSchema(Kind.BYTES, DECIMAL, precision=precision, scale=scale)
        case sql.Array(item):
            return ConnectSchema(Kind.ARRAY, value=of_type(item))
        case sql.Map(key, value):
            return ConnectSchema(Kind.MAP, key=of_type(key), value=of_type(value))
        case sql.Struct(fields):
            return ConnectSchema(Kind.STRUCT, fields=tuple(ConnectField(f.name, of_type(f.type)) for f in fields))
        case _:
            return _PRIMITIVES[type_]


def of_columns(columns: Sequence[Column], is_wrapped: bool) -> ConnectSchema:
    """The schema of rows; or of the only column where it is not wrapped."""
    if not is_wrapped:
        (column,) = columns
        return of_type(column.type)
    fields = tuple(ConnectField(column.name, of_type(column.type)) for column in columns)
    return ConnectSchema(Kind.STRUCT, is_optional=False, fields=fields)


def row_type(columns: Sequence[Column], is_wrapped: bool) -> SqlType:
    """The SQL type of what is written: a struct, or the type of the only column."""
    if not is_wrapped:
        (column,) = columns
        return column.type
    return sql.Struct(tuple(sql.Field(column.name, column.type) for column in columns))


def type_of(schema: ConnectSchema, *, is_upper_case: bool) -> SqlType:
    """The SQL type of a schema. Fields of unsupported types are left out; a map has texts as keys whatever it had."""
    match schema.kind:
        case Kind.ARRAY:
            return sql.Array(type_of(schema.item, is_upper_case=is_upper_case))
        case Kind.MAP:
            if schema.key is None or schema.key.kind not in _MAP_KEYS:
                raise UnsupportedSchemaError("a map whose keys are neither texts nor whole numbers nor booleans")
            return sql.Map(sql.STRING, type_of(schema.item, is_upper_case=is_upper_case))
        case Kind.STRUCT:
            return sql.Struct(tuple(_supported_fields(schema, is_upper_case)))
        case Kind.BYTES if schema.name == DECIMAL:
            return sql.Decimal(schema.precision, schema.scale)
        case kind:
            return _NAMED.get((kind, schema.name), _UNNAMED[kind])


def _supported_fields(schema: ConnectSchema, is_upper_case: bool) -> list[sql.Field]:
    found = []
    for field in schema.fields:
        try:
            type_ = type_of(field.schema, is_upper_case=is_upper_case)
        except UnsupportedSchemaError:
            continue
        found.append(sql.Field(field.name.upper() if is_upper_case else field.name, type_))
    return found


Read = Callable[[Any], Any]
"""Takes a Connect value that is not null and gives a SQL value."""
_WHOLE = {Kind.INT8, Kind.INT16, Kind.INT32, Kind.INT64}
_READABLE: dict[SqlType, set[Kind]] = {
    sql.BOOLEAN: {Kind.BOOLEAN},
    sql.INTEGER: _WHOLE - {Kind.INT64},
    sql.DATE: _WHOLE - {Kind.INT64},
    sql.TIME: _WHOLE - {Kind.INT64},
    sql.BIGINT: _WHOLE,
    sql.TIMESTAMP: _WHOLE,
    sql.DOUBLE: {Kind.FLOAT32, Kind.FLOAT64},
    sql.STRING: _WHOLE | {Kind.FLOAT32, Kind.FLOAT64, Kind.BOOLEAN, Kind.STRING},
    sql.BYTES: {Kind.BYTES},
}
_TEXTS: dict[Kind, Read] = {
    Kind.BOOLEAN: lambda value: "true" if value else "false",
    Kind.FLOAT32: lambda value: _float_text(value),
    Kind.FLOAT64: double_text,
}


def _same(value: Any) -> Any:
    return value


def reading(schema: ConnectSchema, type_: SqlType, path: str = "$", *, fits: bool = False) -> Read:
    """How values of the schema become values of the type; a ValueError where they cannot.

    Decimals keep their own scale unless they are made to fit the type.
    """
    match type_:
        case sql.Array(item) if schema.kind is Kind.ARRAY:
            return _array(reading(schema.item, item, f"{path}[]", fits=fits), schema.item.default)
        case sql.Map(key, value) if schema.kind is Kind.MAP:
            assert schema.key is not None
            read_key = reading(schema.key, key, f"{path}.key", fits=fits)
            return _map(read_key, reading(schema.item, value, f"{path}.value", fits=fits))
        case sql.Struct() if schema.kind is Kind.STRUCT:
            read = reading_fields(schema, type_, path, fits=fits)
            return lambda value: tuple(read(value))
        case sql.Decimal() if schema.kind is Kind.BYTES and schema.name == DECIMAL:
            return (lambda value: fitting(value, type_)) if fits else _same
        case sql.STRING if schema.kind in _READABLE[sql.STRING]:
            return _same if schema.kind is Kind.STRING else _TEXTS.get(schema.kind, str)
        case sql.Primitive() if schema.kind in _READABLE[type_] and schema.name != DECIMAL:
            return _same
    message = f"a value of kind {schema.kind.value} cannot be read as {type_}, at {path}"
    raise ValueError(message)


def reading_rows(
    schema: ConnectSchema, type_: SqlType, is_wrapped: bool, *, fits: bool = False
) -> Callable[[Any], list[Any]]:
    """How what was read becomes a row: the fields of a struct, or the only value."""
    if is_wrapped:
        assert isinstance(type_, sql.Struct)
        if schema.kind is not Kind.STRUCT:
            message = f"expected a record, found a value of kind {schema.kind.value}"
            raise ValueError(message)
        return reading_fields(schema, type_, fits=fits)
    single = reading(schema, type_, fits=fits)
    return lambda value: [None if value is None else single(value)]


def reading_fields(
    schema: ConnectSchema, type_: sql.Struct, path: str = "$", *, fits: bool = False
) -> Callable[[Mapping[str, Any]], list[Any]]:
    """How a struct becomes the list of the fields of another: by name, else in upper case; absent ones are null."""
    wanted = {field.name: at for at, field in enumerate(type_.fields)}
    parts: dict[int, tuple[str, Read, Any]] = {}
    for field in schema.fields:
        name = field.name if field.name in wanted else field.name.upper()
        if name in wanted:
            at = wanted[name]
            read = reading(field.schema, type_.fields[at].type, f"{path}.{name}", fits=fits)
            parts[at] = (field.name, read, field.schema.default)
    return _generated(parts, len(type_.fields))


def _generated(parts: Mapping[int, tuple[str, Read, Any]], size: int) -> Callable[[Mapping[str, Any]], list[Any]]:
    """One function for all fields: what needs no conversion costs one look-up."""
    names: dict[str, Any] = {}
    lines = ["get = value.get"]
    for at, (name, read, default) in parts.items():
        names |= {f"read{at}": read, f"default{at}": default}
        lines.append(f"v{at} = get({name!r})")
        if default is not None:
            lines.append(f"if v{at} is None: v{at} = default{at}")
        if read is not _same:
            lines.append(f"if v{at} is not None: v{at} = read{at}(v{at})")
    lines.append(f"return [{', '.join(f'v{at}' if at in parts else 'None' for at in range(size))}]")
    exec("def convert(value):\n" + "".join(f"    {line}\n" for line in lines), names)
    convert: Callable[[Mapping[str, Any]], list[Any]] = names["convert"]
    return convert


def _array(read: Read, default: Any) -> Read:
    if read is _same and default is None:
        return list
    return lambda values: [None if (v := default if value is None else value) is None else read(v) for value in values]


def _map(read_key: Read, read: Read) -> Read:
    # Connect's translators make maps of the default size, whatever they hold.
    return lambda values: SizedMap(
        (None if key is None else read_key(key), None if value is None else read(value))
        for key, value in values.items()
    )


def _float_text(value: float) -> str:
    """As Java writes a number of single precision: the shortest digits that mean it."""
    if value != value or value in (float("inf"), float("-inf")):
        return double_text(value)
    single = struct.pack(">f", value)
    digits = next(text for size in range(1, 10) if struct.pack(">f", float(text := f"{value:.{size}g}")) == single)
    return double_text(float(digits))


def decimal_from_bytes(data: bytes, scale: int) -> Decimal:
    """The number whose digits are a big-endian whole number."""
    return Decimal(int.from_bytes(data, "big", signed=True)).scaleb(-scale, _WIDE)


def decimal_to_bytes(value: Decimal, precision: int, scale: int) -> bytes:
    """The digits of a number as a big-endian whole number, as short as Java writes it."""
    whole = int(fitting(value, sql.Decimal(precision, scale)).scaleb(scale, _WIDE))
    return whole.to_bytes((whole + (whole < 0)).bit_length() // 8 + 1, "big", signed=True)
