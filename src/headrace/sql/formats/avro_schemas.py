"""Avro schemas: of columns, as ksqlDB registers them; and what columns a registered one has."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from headrace.serde.registry import Schema, SchemaRegistry
from headrace.sql.formats import connect
from headrace.sql.formats.connect import ConnectField, ConnectSchema, Kind

DEFAULT_NAME = "io.confluent.ksql.avro_schemas.KsqlDataSourceSchema"
_CONNECT_NAMESPACE = "io.confluent.connect.avro"
_MAP_ENTRY = "MapEntry"
_INTERNAL_TYPE = "connect.internal.type"
_PRIMITIVES = {
    Kind.BOOLEAN: "boolean",
    Kind.INT32: "int",
    Kind.INT64: "long",
    Kind.FLOAT64: "double",
    Kind.STRING: "string",
    Kind.BYTES: "bytes",
}
_LOGICAL = {
    connect.DATE: "date",
    connect.TIME: "time-millis",
    connect.TIMESTAMP: "timestamp-millis",
    connect.DECIMAL: "decimal",
}
_KINDS = {
    "boolean": Kind.BOOLEAN,
    "int": Kind.INT32,
    "long": Kind.INT64,
    "float": Kind.FLOAT32,
    "double": Kind.FLOAT64,
    "string": Kind.STRING,
    "bytes": Kind.BYTES,
    "fixed": Kind.BYTES,
    "enum": Kind.STRING,
}
Node = Any
"""Avro's JSON: a name, a list for a union, or an object."""


def schema_text(schema: ConnectSchema, full_name: str) -> str:
    """The schema of columns as JSON text. Types inside are named after the way to them."""
    return json.dumps(_node(schema, full_name, None, is_root=True), separators=(",", ":"))


def _node(schema: ConnectSchema, path: str, namespace: str | None, *, is_root: bool = False) -> Node:
    base = _not_null(schema, path, namespace, is_root)
    return base if is_root or not schema.is_optional else ["null", base]


def _not_null(schema: ConnectSchema, path: str, namespace: str | None, is_root: bool) -> Node:
    if schema.kind is Kind.ARRAY:
        return {"type": "array", "items": _node(schema.item, path, namespace)}
    if schema.kind is Kind.MAP:
        return {"type": "array", "items": _map_entry(schema, path, namespace), "connect.name": path}
    if schema.kind is Kind.STRUCT:
        fields = [(field.name, field.schema, f"{path}_{field.name}") for field in schema.fields]
        return _record(path, namespace, fields, {}) | {"connect.name": path}
    name = _PRIMITIVES[schema.kind]
    return name if schema.name is None else {"type": name, **_logical(schema, is_root)}


def _map_entry(schema: ConnectSchema, path: str, namespace: str | None) -> Node:
    # Avro's maps have no null keys, and those of SQL may.
    assert schema.key is not None
    fields = [("key", schema.key, f"{path}_MapKey"), ("value", schema.item, f"{path}_MapValue")]
    return _record(path, namespace, fields, {_INTERNAL_TYPE: _MAP_ENTRY})


def _record(
    full_name: str, namespace: str | None, fields: list[tuple[str, ConnectSchema, str]], more: dict[str, str]
) -> dict[str, Any]:
    inside, _, name = full_name.rpartition(".")
    own = {"namespace": inside} if inside and inside != namespace else {}
    nodes = [
        {"name": field, "type": _node(schema, path, inside), **({"default": None} if schema.is_optional else {})}
        for field, schema, path in fields
    ]
    return {"type": "record", "name": name, **own, "fields": nodes, **more}


def _logical(schema: ConnectSchema, is_root: bool) -> dict[str, Any]:
    assert schema.name is not None
    version = {} if is_root else {"connect.version": 1}
    own: dict[str, Any] = {"connect.name": schema.name, "logicalType": _LOGICAL[schema.name]}
    if schema.name != connect.DECIMAL:
        return version | own
    parameters = {"scale": str(schema.scale), "connect.decimal.precision": str(schema.precision)}
    digits = {"scale": schema.scale, "precision": schema.precision}
    return digits | version | {"connect.parameters": parameters} | own


def parsed(registry: SchemaRegistry | None, schema: Schema) -> tuple[Node, dict[str, Node]]:
    """The schema's JSON, and the types that it and the schemas it refers to name."""
    named: dict[str, Node] = {}
    for reference in schema.references:
        assert registry is not None, "only a registry knows references"
        _, found = parsed(registry, registry.schema_by_version(reference.subject, reference.version))
        named |= found
    try:
        node = json.loads(schema.text)
    except ValueError:
        # Registries hand out primitive schemas also bare: string instead of "string".
        node = schema.text.strip()
    return _with_full_names(node, "", named), named


def _with_full_names(node: Node, namespace: str, named: dict[str, Node]) -> Node:
    """The node with every name in full, so that it can be read without knowing where it stands."""
    if isinstance(node, str):
        return node if node in _KINDS or node == "null" or "." in node or not namespace else f"{namespace}.{node}"
    if isinstance(node, list):
        return [_with_full_names(branch, namespace, named) for branch in node]
    type_ = node["type"]
    if not isinstance(type_, str):
        return _with_full_names(type_, namespace, named)
    if type_ in {"record", "error", "enum", "fixed"}:
        return _named(node, type_, namespace, named)
    inner = {key: _with_full_names(node[key], namespace, named) for key in ("items", "values") if key in node}
    return node | inner


def _named(node: Node, type_: str, namespace: str, named: dict[str, Node]) -> Node:
    name = node["name"]
    space = name.rpartition(".")[0] if "." in name else node.get("namespace", namespace)
    full_name = name if "." in name or not space else f"{space}.{name}"
    found = {key: value for key, value in node.items() if key != "namespace"} | {"name": full_name}
    named[full_name] = found
    if type_ in {"record", "error"}:
        found["fields"] = [field | {"type": _with_full_names(field["type"], space, named)} for field in node["fields"]]
    return found


def connect_schema(
    node: Node, named: Mapping[str, Node], *, is_optional: bool = False, around: tuple[str, ...] = ()
) -> ConnectSchema:
    """What Connect makes of an Avro schema. Unions of several types are structs with a field for each."""
    if isinstance(node, list):
        return _union(node, named, around)
    if isinstance(node, str) and node in named:
        node = named[node]
    type_ = node if isinstance(node, str) else node["type"]
    if type_ in {"record", "error"}:
        return _struct(node, named, is_optional, around)
    if type_ == "array":
        return _array(node, named, is_optional, around)
    if type_ == "map":
        key = ConnectSchema(Kind.STRING, is_optional=False)
        value = connect_schema(node["values"], named, around=around)
        return ConnectSchema(Kind.MAP, is_optional=is_optional, key=key, value=value)
    if type_ not in _KINDS:
        message = f"the Avro type {type_} has no counterpart"
        raise connect.UnsupportedSchemaError(message)
    return _primitive({} if isinstance(node, str) else node, type_, is_optional)


def _primitive(node: Mapping[str, Any], type_: str, is_optional: bool) -> ConnectSchema:
    logical, named, kind = str(node.get("logicalType", "")).lower(), node.get("connect.name"), _KINDS[type_]
    if kind is Kind.BYTES and (logical == "decimal" or named == connect.DECIMAL):
        said = node.get("connect.parameters", {})
        precision = node.get("precision", said.get("connect.decimal.precision", connect.DEFAULT_PRECISION))
        scale = node.get("scale", said.get("scale", 0))
        return ConnectSchema(kind, connect.DECIMAL, is_optional, precision=int(precision), scale=int(scale))
    if type_ == "int" and not logical and node.get("connect.type") in {"int8", "int16"}:
        return ConnectSchema(Kind(node["connect.type"]), is_optional=is_optional)
    # Connect names a type by its own name, Avro by that of the logical type.
    name = _NAMES.get((type_, logical)) or (named if named in _NAMES.values() else None)
    return ConnectSchema(kind, name, is_optional)


_NAMES = {
    ("int", "date"): connect.DATE,
    ("int", "time-millis"): connect.TIME,
    ("long", "timestamp-millis"): connect.TIMESTAMP,
}


def _struct(node: Node, named: Mapping[str, Node], is_optional: bool, around: tuple[str, ...]) -> ConnectSchema:
    name = node["name"]
    if name in around:
        message = f"the Avro type {name} contains itself"
        raise connect.UnsupportedSchemaError(message)
    fields = []
    for field in node["fields"]:
        schema = connect_schema(field["type"], named, around=(*around, name))
        fields.append(ConnectField(field["name"], _with_default(schema, field.get("default"))))
    return ConnectSchema(Kind.STRUCT, name, is_optional, fields=tuple(fields))


def _with_default(schema: ConnectSchema, default: Any) -> ConnectSchema:
    if default is None or schema.kind in {Kind.STRUCT, Kind.ARRAY, Kind.MAP, Kind.BYTES}:
        return schema
    return ConnectSchema(schema.kind, schema.name, schema.is_optional, default)


def _array(node: Node, named: Mapping[str, Node], is_optional: bool, around: tuple[str, ...]) -> ConnectSchema:
    item = map_entry(node["items"], named)
    if item is None:
        value = connect_schema(node["items"], named, around=around)
        return ConnectSchema(Kind.ARRAY, is_optional=is_optional, value=value)
    key, value = (connect_schema(field["type"], named, around=around) for field in item["fields"])
    return ConnectSchema(Kind.MAP, is_optional=is_optional, key=key, value=value)


def map_entry(items: Node, named: Mapping[str, Node]) -> Node | None:
    """The record of a key and a value, where an array of such stands for a map."""
    node = named.get(items) if isinstance(items, str) else items
    if not isinstance(node, dict) or node.get("type") != "record":
        return None
    is_entry = node.get(_INTERNAL_TYPE) == _MAP_ENTRY or node["name"] == f"{_CONNECT_NAMESPACE}.{_MAP_ENTRY}"
    return node if is_entry and [field["name"] for field in node["fields"]] == ["key", "value"] else None


def _union(branches: list[Node], named: Mapping[str, Node], around: tuple[str, ...]) -> ConnectSchema:
    others = [branch for branch in branches if branch != "null"]
    if len(others) == 1 and len(branches) == 2:
        return connect_schema(others[0], named, is_optional=True, around=around)
    fields = tuple(
        ConnectField(branch_name(branch, named), connect_schema(branch, named, is_optional=True, around=around))
        for branch in others
    )
    return ConnectSchema(Kind.STRUCT, f"{_CONNECT_NAMESPACE}.Union", len(others) < len(branches), fields=fields)


def branch_name(branch: Node, named: Mapping[str, Node]) -> str:
    """The name of the field that a branch of a union becomes."""
    node = named.get(branch, branch) if isinstance(branch, str) else branch
    if isinstance(node, str):
        return node
    name: str = node.get("name", node["type"])
    return name.rpartition(".")[2]
