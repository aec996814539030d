"""SQL values to what an Avro library writes, and what it reads to Connect values.

The library is given schemas without logical types: dates and times are numbers to it, decimals bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from headrace.sql.formats import connect
from headrace.sql.formats.avro_schemas import Node, branch_name, connect_schema, map_entry
from headrace.sql.tree import types as sql
from headrace.sql.tree.types import SqlType

Convert = Callable[[Any], Any]
"""Takes a value that is not null."""
Named = Mapping[str, Node]


def plain(node: Node, named: Named, seen: set[str] | None = None) -> Node:
    """The schema without logical types, every named type spelled out where it comes first."""
    seen = set() if seen is None else seen
    if isinstance(node, list):
        return [plain(branch, named, seen) for branch in node]
    if isinstance(node, str):
        return plain(named[node], named, seen) if node in named and node not in seen else node
    if "name" in node:
        if node["name"] in seen:
            return node["name"]
        seen.add(node["name"])
    found = {key: value for key, value in node.items() if key in {"type", "name", "symbols", "size"}}
    if "fields" in node:
        found["fields"] = [{"name": f["name"], "type": plain(f["type"], named, seen)} for f in node["fields"]]
    for key in ("items", "values"):
        if key in node:
            found[key] = plain(node[key], named, seen)
    return found


def native_writer(node: Node, named: Named, type_: SqlType, path: str = "$") -> Convert:
    """How values of a SQL type become what the library writes with a schema; a ValueError where they do not fit."""
    node = named.get(node, node) if isinstance(node, str) else node
    if isinstance(node, list):
        others = [branch for branch in node if branch != "null"]
        if len(others) == 1:
            return native_writer(others[0], named, type_, path)
        return _union_writer(others, named, type_, path)
    kind = node if isinstance(node, str) else node["type"]
    match type_:
        case sql.Struct() if kind == "record":
            return _record_writer(node, named, type_, path)
        case sql.Array(item) if kind == "array":
            return _nullable_items(_part(node["items"], named, item, f"{path}[]"))
        case sql.Map(_, value) if kind == "map":
            each = _part(node["values"], named, value, f"{path}.value")
            return lambda values: {key: each(item) for key, item in values.items()}
        case sql.Map(key, value) if kind == "array" and (entry := map_entry(node["items"], named)):
            key_node, value_node = (field["type"] for field in entry["fields"])
            return _entries_writer(
                _part(key_node, named, key, f"{path}.key"), _part(value_node, named, value, f"{path}.value")
            )
    return _primitive_writer(node, named, type_, path)


def _primitive_writer(node: Node, named: Named, type_: SqlType, path: str) -> Convert:
    schema = connect_schema(node, named)
    expected = connect.of_type(type_)
    if schema.kind is not expected.kind or (schema.name == connect.DECIMAL) != isinstance(type_, sql.Decimal):
        message = f"the schema has a value of kind {schema.kind.value} where {type_} is written, at {path}"
        raise ValueError(message)
    if isinstance(type_, sql.Decimal):
        size = node.get("size", 0)
        return lambda value: _padded(connect.decimal_to_bytes(value, schema.precision, schema.scale), size)
    return _same


def _same(value: Any) -> Any:
    return value


def _padded(data: bytes, size: int) -> bytes:
    return data.rjust(size, b"\xff" if data[0] & 0x80 else b"\0")


def _part(node: Node, named: Named, type_: SqlType, path: str) -> Convert:
    """As ``native_writer``, for a value that may be null if the schema says so."""
    write = native_writer(node, named, type_, path)
    is_nullable = node == "null" or (isinstance(node, list) and "null" in node)

    def convert(value: Any) -> Any:
        if value is not None:
            return write(value)
        if is_nullable:
            return None
        message = f"the schema requires a value, found null, at {path}"
        raise ValueError(message)

    return convert


def _nullable_items(each: Convert) -> Convert:
    return lambda values: [each(value) for value in values]


def _entries_writer(key: Convert, value: Convert) -> Convert:
    return lambda values: [{"key": key(name), "value": value(item)} for name, item in values.items()]


def _record_writer(node: Node, named: Named, type_: sql.Struct, path: str) -> Convert:
    at = {field.name: index for index, field in enumerate(type_.fields)}
    names = {field["name"] for field in node["fields"]}
    missing = [name for name in at if name not in names]
    if missing and path == "$":
        message = f"the schema has no field {', '.join(missing)}"
        raise ValueError(message)
    parts: list[tuple[str, int, Convert]] = []
    constants: dict[str, Any] = {}
    for field in node["fields"]:
        name = field["name"]
        if name in at:
            part = _part(field["type"], named, type_.fields[at[name]].type, f"{path}.{name}")
            parts.append((name, at[name], _or_default(part, field)))
        else:
            constants[name] = _default(field, path)
    return lambda values: constants | {name: part(values[index]) for name, index, part in parts}


def _or_default(part: Convert, field: Node) -> Convert:
    """A null is the default of a field that must have a value and has a default."""
    nullable = isinstance(field["type"], list) and "null" in field["type"]
    if nullable or field.get("default") is None:
        return part
    default = field["default"]
    return lambda value: default if value is None else part(value)


def _default(field: Node, path: str) -> Any:
    nullable = isinstance(field["type"], list) and "null" in field["type"]
    if "default" not in field and not nullable:
        message = f"the schema requires the field {field['name']}, and it has no default, at {path}"
        raise ValueError(message)
    return field.get("default")


def _union_writer(branches: list[Node], named: Named, type_: SqlType, path: str) -> Convert:
    """A struct has a field for each type of a union, and one of them is not null."""
    if not isinstance(type_, sql.Struct):
        message = f"the schema has a union where {type_} is written, at {path}"
        raise ValueError(message)
    by_name = {branch_name(branch, named): branch for branch in branches}
    writers = [
        (_full_name(by_name[field.name], named), native_writer(by_name[field.name], named, field.type, path))
        for field in type_.fields
        if field.name in by_name
    ]

    def convert(values: Any) -> Any:
        for (name, write), value in zip(writers, values, strict=True):
            if value is not None:
                return name, write(value)
        return None

    return convert


def _full_name(branch: Node, named: Named) -> str:
    node = named.get(branch, branch) if isinstance(branch, str) else branch
    return node if isinstance(node, str) else str(node.get("name", node["type"]))


def native_reader(node: Node, named: Named) -> Convert | None:
    """How what the library read becomes a Connect value; None where it is one already."""
    node = named.get(node, node) if isinstance(node, str) else node
    if isinstance(node, list):
        others = [branch for branch in node if branch != "null"]
        return native_reader(others[0], named) if len(others) == 1 else _union_reader(others, named)
    if isinstance(node, str):
        return None
    if node["type"] == "record":
        return _record_reader(node, named)
    if node["type"] == "array":
        return _array_reader(node, named)
    if node["type"] == "map":
        inner = native_reader(node["values"], named)
        return inner and (lambda values: {k: v if v is None else inner(v) for k, v in values.items()})
    schema = connect_schema(node, named)
    if schema.name == connect.DECIMAL:
        return lambda data: connect.decimal_from_bytes(data, schema.scale)
    return None


def _record_reader(node: Node, named: Named) -> Convert | None:
    inner = {field["name"]: native_reader(field["type"], named) for field in node["fields"]}
    converted = {name: read for name, read in inner.items() if read is not None}
    if not converted:
        return None

    def convert(value: dict[str, Any]) -> dict[str, Any]:
        for name, read in converted.items():
            if value[name] is not None:
                value[name] = read(value[name])
        return value

    return convert


def _array_reader(node: Node, named: Named) -> Convert | None:
    entry = map_entry(node["items"], named)
    inner = native_reader(node["items"], named)
    if entry is None:
        return inner and (lambda values: [v if v is None else inner(v) for v in values])

    def convert(values: list[Any]) -> dict[Any, Any]:
        pairs = values if inner is None else map(inner, values)
        return {pair["key"]: pair["value"] for pair in pairs}

    return convert


_PYTHON_TYPES = {
    "boolean": bool,
    "int": int,
    "long": int,
    "float": float,
    "double": float,
    "string": str,
    "enum": str,
    "bytes": bytes,
    "fixed": bytes,
    "array": list,
    "map": dict,
    "record": dict,
}


def _union_reader(branches: list[Node], named: Named) -> Convert:
    """One field of a struct: that of the first type of the union that the value has."""
    resolved = [named.get(branch, branch) if isinstance(branch, str) else branch for branch in branches]
    kinds: list[tuple[str, type[Any], set[str], Convert | None]] = [
        (
            branch_name(branch, named),
            _PYTHON_TYPES[node if isinstance(node, str) else node["type"]],
            {field["name"] for field in node.get("fields", ())} if isinstance(node, dict) else set(),
            native_reader(branch, named),
        )
        for branch, node in zip(branches, resolved, strict=True)
    ]

    def convert(value: Any) -> dict[str, Any]:
        for name, kind, fields, read in kinds:
            if type(value) is kind and (not fields or fields == set(value)):
                return {name: read(value) if read else value}
        message = f"no type of the union is that of {type(value).__name__}"
        raise ValueError(message)

    return convert
