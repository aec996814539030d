"""JSON nodes to Connect values, and SQL values to JSON nodes, by a schema."""

from __future__ import annotations

import base64
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import orjson

from headrace.sql.formats import connect, json_schemas
from headrace.sql.formats.connect import ConnectSchema, Kind
from headrace.sql.formats.json_values import NeedsExactNumbers
from headrace.sql.formats.json_writing import fragment_of_double
from headrace.sql.tree import types as sql
from headrace.sql.tree.types import SqlType
from headrace.sql.types.numbers import wrap32, wrap64

Convert = Callable[[Any], Any]
"""Takes a value that is not null."""


def node_reader(schema: ConnectSchema) -> Convert:
    """How nodes become Connect values. As in Connect, a number that should be a text is null, a text as number 0."""
    match schema.kind:
        case Kind.STRUCT if schema.name == json_schemas.ONE_OF:
            return _choice_reader(schema)
        case Kind.STRUCT:
            return _struct_reader(schema)
        case Kind.ARRAY:
            each = node_reader(schema.item)
            return lambda node: [None if item is None else each(item) for item in _items(node)]
        case Kind.MAP:
            return _map_reader(schema)
        case Kind.BYTES:
            return _decimal_reader(schema.scale) if schema.name == connect.DECIMAL else _bytes
        case kind:
            return _PRIMITIVES[kind]


def _items(node: Any) -> list[Any]:
    if type(node) is dict:
        return list(node.values())
    return node if type(node) is list else []


def _struct_reader(schema: ConnectSchema) -> Convert:
    fields = [(field.name, node_reader(field.schema)) for field in schema.fields]

    def convert(node: Any) -> dict[str, Any]:
        if type(node) is not dict:
            raise ValueError("expected an object")
        return {name: read(node[name]) for name, read in fields if node.get(name) is not None}

    return convert


def _map_reader(schema: ConnectSchema) -> Convert:
    assert schema.key is not None
    key, value = node_reader(schema.key), node_reader(schema.item)

    def convert_object(node: Any) -> dict[Any, Any]:
        if type(node) is not dict:
            raise ValueError("expected an object for a map")
        return {name: None if item is None else value(item) for name, item in node.items()}

    def convert_entries(node: Any) -> dict[Any, Any]:
        if type(node) is not list or not all(type(entry) is dict and len(entry) == 2 for entry in node):
            raise ValueError("expected an array of keys and values for a map")
        pairs = ((entry.get("key"), entry.get("value")) for entry in node)
        return {None if k is None else key(k): None if v is None else value(v) for k, v in pairs}

    return convert_object if schema.key.kind is Kind.STRING and not schema.key.is_optional else convert_entries


def _choice_reader(schema: ConnectSchema) -> Convert:
    """The first simple schema that the node has the type of, else the struct with most of its fields."""
    fields = [(field, node_reader(field.schema)) for field in schema.fields]

    def convert(node: Any) -> dict[str, Any]:
        best, most = None, 0
        for field, read in fields:
            if _is_of_kind(node, field.schema.kind):
                return {field.name: read(node)}
            matching = _matching_fields(field.schema, node)
            if matching > most:
                best, most = (field, read), matching
        if best is None:
            raise ValueError("no schema of the choice fits")
        return {best[0].name: best[1](node)}

    return convert


def _matching_fields(schema: ConnectSchema, node: Any) -> int:
    if schema.kind is not Kind.STRUCT or type(node) is not dict:
        return 0
    found = [field for field in schema.fields if field.name in node]
    return len(found) + sum(_matching_fields(field.schema, node[field.name]) for field in found)


def _is_of_kind(node: Any, kind: Kind) -> bool:
    expected: dict[Kind, tuple[type[Any], ...]] = {
        Kind.BOOLEAN: (bool,),
        Kind.STRING: (str,),
        Kind.ARRAY: (list,),
        Kind.MAP: (dict, list),
        Kind.FLOAT32: (int, float, Decimal),
        Kind.FLOAT64: (int, float, Decimal),
        Kind.BYTES: (float, Decimal),
        Kind.STRUCT: (),
    }
    return type(node) in expected.get(kind, (int,))


def _whole(node: Any) -> int:
    if type(node) is float:
        raise NeedsExactNumbers
    return int(node) if type(node) in {int, Decimal} else 0


def _double(node: Any) -> float:
    # Java's decimals have no negative zero.
    return float(node) + 0.0 if type(node) in {int, float, Decimal} else 0.0


def _bytes(node: Any) -> bytes:
    if type(node) is not str:
        raise ValueError("expected BYTES as Base64")
    return base64.b64decode(node, validate=True)


def _decimal_reader(scale: int) -> Convert:
    def convert(node: Any) -> Decimal:
        if type(node) is float:
            raise NeedsExactNumbers
        if type(node) in {int, Decimal}:
            return Decimal(node)
        return connect.decimal_from_bytes(_bytes(node), scale)

    return convert


_PRIMITIVES: dict[Kind, Convert] = {
    Kind.BOOLEAN: lambda node: node is True,
    Kind.INT8: lambda node: (_whole(node) + 128) % 256 - 128,
    Kind.INT16: lambda node: (_whole(node) + 32768) % 65536 - 32768,
    Kind.INT32: lambda node: wrap32(_whole(node)),
    Kind.INT64: lambda node: wrap64(_whole(node)),
    Kind.FLOAT32: _double,
    Kind.FLOAT64: _double,
    Kind.STRING: lambda node: node if type(node) is str else None,
}


def node_writer(schema: ConnectSchema, type_: SqlType, path: str = "$") -> Convert:
    """How SQL values become JSON of a schema; a ValueError where they do not fit."""
    match type_:
        case sql.Struct() if schema.kind is Kind.STRUCT:
            return _struct_writer(schema, type_, path)
        case sql.Array(item) if schema.kind is Kind.ARRAY:
            each = _part(schema.item, item, f"{path}[]")
            return lambda values: [each(value) for value in values]
        case sql.Map(key, value) if schema.kind is Kind.MAP:
            return _map_writer(schema, key, value, path)
        case sql.Array() | sql.Map() | sql.Struct():
            raise _misfit(schema, type_, path)
    expected = connect.of_type(type_)
    if schema.kind is not expected.kind or (schema.name == connect.DECIMAL) != isinstance(type_, sql.Decimal):
        raise _misfit(schema, type_, path)
    if isinstance(type_, sql.Decimal):
        return lambda value: orjson.Fragment(str(value))
    return _WRITERS.get(type_, lambda value: value)


_WRITERS: dict[SqlType, Convert] = {
    sql.DOUBLE: fragment_of_double,
    sql.BYTES: lambda value: base64.b64encode(value).decode(),
}


def _misfit(schema: ConnectSchema, type_: SqlType, path: str) -> ValueError:
    message = f"the schema has a value of kind {schema.kind.value} where {type_} is written, at {path}"
    return ValueError(message)


def _part(schema: ConnectSchema, type_: SqlType, path: str) -> Convert:
    write = node_writer(schema, type_, path)
    return lambda value: None if value is None else write(value)


def _map_writer(schema: ConnectSchema, key: SqlType, value: SqlType, path: str) -> Convert:
    assert schema.key is not None
    write_key, write_value = _part(schema.key, key, f"{path}.key"), _part(schema.item, value, f"{path}.value")
    if schema.key.kind is Kind.STRING and not schema.key.is_optional:
        return lambda values: {name: write_value(item) for name, item in values.items()}
    return lambda values: [{"key": write_key(name), "value": write_value(item)} for name, item in values.items()]


def _struct_writer(schema: ConnectSchema, type_: sql.Struct, path: str) -> Convert:
    at = {field.name: index for index, field in enumerate(type_.fields)}
    known = {field.name for field in schema.fields}
    missing = [name for name in at if name not in known]
    if missing:
        message = f"the schema has no field {', '.join(missing)}, at {path}"
        raise ValueError(message)
    parts = [
        (
            field.name,
            at[field.name],
            node_writer(field.schema, type_.fields[at[field.name]].type, f"{path}.{field.name}"),
        )
        for field in schema.fields
        if field.name in at
    ]
    # What is absent from the row is left out, unless the schema has null for it.
    absent = {field.name: None for field in schema.fields if field.name not in at and field.schema.is_optional}
    required = {field.name for field in schema.fields if not field.schema.is_optional}

    def convert(values: Any) -> dict[str, Any]:
        node = {
            name: None if values[index] is None else write(values[index])
            for name, index, write in parts
            if values[index] is not None or name not in required
        }
        return node | absent

    return convert
