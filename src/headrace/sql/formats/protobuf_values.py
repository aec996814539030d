"""SQL values to Protobuf messages, and messages to Connect values."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from google.protobuf.descriptor import FieldDescriptor

from headrace.sql.formats import connect
from headrace.sql.formats.connect import ConnectSchema
from headrace.sql.formats.protobuf_schemas import (
    DATE,
    DECIMAL,
    TIME,
    TIMESTAMP,
    WRAPPERS,
    in_real_oneof,
    is_map,
    oneof_name,
    real_oneofs,
)
from headrace.sql.tree import types as sql
from headrace.sql.tree.types import SqlType
from headrace.sql.types.numbers import MILLIS_OF_DAY, wrap64

Read = Callable[[Any], Any]
Fill = Callable[[Any, Any], None]
"""Puts a value that is not null into a message."""
_EPOCH = datetime.date(1970, 1, 1).toordinal()


def message_reader(descriptor: Any, unwraps: bool) -> Read:
    """How messages become Connect values: dicts by field names, without what is absent."""
    if unwraps and descriptor.full_name in WRAPPERS:
        return lambda message: message.value
    oneofs = [
        (oneof.name, oneof_name(oneof), {field.name: _single_reader(field, unwraps) for field in oneof.fields})
        for oneof in real_oneofs(descriptor)
    ]
    fields = [
        (field.name, field.has_presence, _field_reader(field, unwraps))
        for field in descriptor.fields
        if not in_real_oneof(field)
    ]

    def read(message: Any) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name, has_presence, read_field in fields:
            if not has_presence or message.HasField(name):
                found[name] = read_field(getattr(message, name))
        for name, column, readers in oneofs:
            chosen = message.WhichOneof(name)
            if chosen is not None:
                found[column] = {chosen: readers[chosen](getattr(message, chosen))}
        return found

    return read


def _field_reader(field: Any, unwraps: bool) -> Read:
    if is_map(field):
        key, value = (_single_reader(each, unwraps) for each in field.message_type.fields)
        if field.message_type.GetOptions().map_entry:
            return lambda entries: {key(name): value(entries[name]) for name in entries}
        return lambda entries: {key(entry.key): value(entry.value) for entry in entries}
    single = _single_reader(field, unwraps)
    if not field.is_repeated:
        return single
    return list if single is _same else lambda values: [single(value) for value in values]


def _same(value: Any) -> Any:
    return value


def _single_reader(field: Any, unwraps: bool) -> Read:
    if field.type == FieldDescriptor.TYPE_MESSAGE:
        logical = _LOGICAL_READERS.get(field.message_type.full_name)
        return logical or message_reader(field.message_type, unwraps)
    if field.type == FieldDescriptor.TYPE_ENUM:
        return _enum_reader(field.enum_type)
    return wrap64 if field.type in {FieldDescriptor.TYPE_UINT64, FieldDescriptor.TYPE_FIXED64} else _same


def _enum_reader(enum: Any) -> Read:
    # Of several names for a number the first one counts.
    names = {value.number: value.name for value in reversed(enum.values)}
    return lambda number: names.get(number, f"UNKNOWN_ENUM_VALUE_{enum.name}_{number}")


def _read_date(message: Any) -> int:
    return datetime.date(message.year, message.month, message.day).toordinal() - _EPOCH


def _read_time(message: Any) -> int:
    time = datetime.time(message.hours, message.minutes, message.seconds)
    return ((time.hour * 60 + time.minute) * 60 + time.second) * 1000 + int(message.nanos) // 1_000_000


_LOGICAL_READERS: dict[str, Read] = {
    DECIMAL: lambda message: connect.decimal_from_bytes(message.value, message.scale),
    DATE: _read_date,
    TIME: _read_time,
    TIMESTAMP: lambda message: message.seconds * 1000 + message.nanos // 1_000_000,
}


def message_filler(descriptor: Any, schema: ConnectSchema, type_: sql.Struct, path: str = "$") -> Fill:
    """How the values of a row or struct get into a message; a ValueError where they do not fit."""
    at = {field.name: index for index, field in enumerate(type_.fields)}
    by_name = {field.name: field.schema for field in schema.fields}
    missing = [name for name in at if name not in by_name]
    if missing:
        message = f"the schema has no field {', '.join(missing)}, at {path}"
        raise ValueError(message)
    fills: list[tuple[int, Fill]] = []
    for field in descriptor.fields:
        if field.name in at and not in_real_oneof(field):
            inner = type_.fields[at[field.name]].type
            fills.append((at[field.name], _filler(field, by_name[field.name], inner, f"{path}.{field.name}")))
    for oneof in real_oneofs(descriptor):
        name = oneof_name(oneof)
        if name in at:
            fills.append((at[name], _oneof_filler(oneof, by_name[name], type_.fields[at[name]].type, f"{path}.{name}")))

    def fill(message: Any, values: Any) -> None:
        for index, put in fills:
            value = values[index]
            if value is not None:
                put(message, value)

    return fill


def _oneof_filler(oneof: Any, schema: ConnectSchema, type_: SqlType, path: str) -> Fill:
    if not isinstance(type_, sql.Struct):
        raise _misfit(schema, type_, path)
    schemas = {field.name: field.schema for field in schema.fields}
    fields = {field.name: field for field in oneof.fields}
    fills = [
        _filler(fields[field.name], schemas[field.name], field.type, f"{path}.{field.name}") for field in type_.fields
    ]

    def fill(message: Any, values: Any) -> None:
        for put, value in zip(fills, values, strict=True):
            if value is not None:
                put(message, value)
                return

    return fill


def _filler(field: Any, schema: ConnectSchema, type_: SqlType, path: str) -> Fill:
    name = field.name
    match type_:
        case sql.Map(key, value) if is_map(field):
            assert schema.key is not None
            return _map_filler(field, schema, key, value, path)
        case sql.Array(item) if field.is_repeated and schema.kind is connect.Kind.ARRAY:
            return _list_filler(field, schema.item, item, path)
    if field.is_repeated:
        raise _misfit(schema, type_, path)
    if field.type == FieldDescriptor.TYPE_MESSAGE:
        put = message_value(field.message_type, schema, type_, path)

        def fill_message(message: Any, value: Any) -> None:
            inner = getattr(message, name)
            inner.SetInParent()
            put(inner, value)

        return fill_message
    convert = _scalar(field, schema, type_, path)
    return lambda message, value: setattr(message, name, convert(value))


def _list_filler(field: Any, schema: ConnectSchema, type_: SqlType, path: str) -> Fill:
    name = field.name
    if field.type == FieldDescriptor.TYPE_MESSAGE:
        put = message_value(field.message_type, schema, type_, f"{path}[]")

        def fill_messages(message: Any, values: Any) -> None:
            added = getattr(message, name)
            for value in values:
                put(added.add(), _required(value, path))

        return fill_messages
    convert = _scalar(field, schema, type_, f"{path}[]")
    return lambda message, values: getattr(message, name).extend(convert(_required(v, path)) for v in values)


def _required(value: Any, path: str) -> Any:
    if value is None:
        message = f"Protobuf has no nulls in arrays, at {path}"
        raise ValueError(message)
    return value


def _map_filler(field: Any, schema: ConnectSchema, key: SqlType, value: SqlType, path: str) -> Fill:
    name = field.name
    assert schema.key is not None
    key_field, value_field = field.message_type.fields
    put_key = _filler(key_field, schema.key, key, f"{path}.key")
    put_value = _filler(value_field, schema.item, value, f"{path}.value")
    if field.message_type.GetOptions().map_entry:
        return _native_map_filler(field, schema, key, value, path)

    def fill(message: Any, values: Any) -> None:
        entries = getattr(message, name)
        for each_key, each_value in values.items():
            entry = entries.add()
            if each_key is not None:
                put_key(entry, each_key)
            if each_value is not None:
                put_value(entry, each_value)

    return fill


def _native_map_filler(field: Any, schema: ConnectSchema, key: SqlType, value: SqlType, path: str) -> Fill:
    name = field.name
    assert schema.key is not None
    key_field, value_field = field.message_type.fields
    convert_key = _scalar(key_field, schema.key, key, f"{path}.key")
    default_key = key_field.default_value
    if value_field.type == FieldDescriptor.TYPE_MESSAGE:
        put = message_value(value_field.message_type, schema.item, value, f"{path}.value")

        def fill_messages(message: Any, values: Any) -> None:
            entries = getattr(message, name)
            for each_key, each_value in values.items():
                entry = entries[default_key if each_key is None else convert_key(each_key)]
                if each_value is not None:
                    put(entry, each_value)

        return fill_messages
    convert, default = _scalar(value_field, schema.item, value, f"{path}.value"), value_field.default_value

    def fill(message: Any, values: Any) -> None:
        entries = getattr(message, name)
        for each_key, each_value in values.items():
            entries[default_key if each_key is None else convert_key(each_key)] = (
                default if each_value is None else convert(each_value)
            )

    return fill


def _scalar(field: Any, schema: ConnectSchema, type_: SqlType, path: str) -> Read:
    if schema.kind is not connect.of_type(type_).kind or isinstance(type_, sql.Decimal):
        raise _misfit(schema, type_, path)
    if field.type == FieldDescriptor.TYPE_ENUM:
        numbers = {value.name: value.number for value in field.enum_type.values}
        return lambda value: _enum_number(numbers, value, path)
    if field.type in {FieldDescriptor.TYPE_UINT32, FieldDescriptor.TYPE_FIXED32}:
        return lambda value: value & 0xFFFFFFFF
    if field.type in {FieldDescriptor.TYPE_UINT64, FieldDescriptor.TYPE_FIXED64}:
        return lambda value: value & 0xFFFFFFFFFFFFFFFF
    return _same


def _enum_number(numbers: dict[str, int], value: str, path: str) -> int:
    if value not in numbers:
        message = f"the schema has no {value} among {', '.join(numbers)}, at {path}"
        raise ValueError(message)
    return numbers[value]


def message_value(descriptor: Any, schema: ConnectSchema, type_: SqlType, path: str = "") -> Fill:
    """How a value gets into a message of its own."""
    logical = _LOGICAL_FILLERS.get(descriptor.full_name)
    if logical is not None:
        expected, put = logical
        if connect.of_type(type_).name != expected:
            raise _misfit(schema, type_, path)
        return put
    if descriptor.full_name in WRAPPERS and schema.kind is not connect.Kind.STRUCT:
        if schema.kind is not connect.of_type(type_).kind:
            raise _misfit(schema, type_, path)
        if isinstance(type_, sql.Decimal):
            return lambda message, value: setattr(
                message, "value", connect.decimal_to_bytes(value, type_.precision, type_.scale)
            )
        return lambda message, value: setattr(message, "value", value)
    if not isinstance(type_, sql.Struct):
        raise _misfit(schema, type_, path)
    return message_filler(descriptor, schema, type_, path)


def _put_decimal(message: Any, value: Decimal) -> None:
    _, digits, exponent = value.as_tuple()
    scale = -int(exponent)
    message.value = connect.decimal_to_bytes(value, max(len(digits), scale), scale)
    message.precision = len(digits)
    message.scale = scale


def _put_date(message: Any, days: int) -> None:
    date = datetime.date.fromordinal(days + _EPOCH)
    message.year, message.month, message.day = date.year, date.month, date.day


def _put_time(message: Any, millis: int) -> None:
    seconds, rest = divmod(millis % MILLIS_OF_DAY, 1000)
    message.hours, message.minutes, message.seconds = seconds // 3600, seconds // 60 % 60, seconds % 60
    message.nanos = rest * 1_000_000


def _put_timestamp(message: Any, millis: int) -> None:
    message.seconds, rest = divmod(millis, 1000)
    message.nanos = rest * 1_000_000


_LOGICAL_FILLERS: dict[str, tuple[str, Fill]] = {
    DECIMAL: (connect.DECIMAL, _put_decimal),
    DATE: (connect.DATE, _put_date),
    TIME: (connect.TIME, _put_time),
    TIMESTAMP: (connect.TIMESTAMP, _put_timestamp),
}


def _misfit(schema: ConnectSchema, type_: SqlType, path: str) -> ValueError:
    message = f"the schema has a value of kind {schema.kind.value} where {type_} is written, at {path}"
    return ValueError(message)
