"""JSON schemas: of columns, as ksqlDB registers them; and what columns a registered one has."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from headrace.sql.formats import connect
from headrace.sql.formats.connect import ConnectField, ConnectSchema, Kind, UnsupportedSchemaError
from headrace.topology.java_order import hash_order

ONE_OF = "io.confluent.connect.json.OneOf"
"""The name of structs that stand for a choice of schemas."""
_TYPES = {
    Kind.BOOLEAN: {"type": "boolean"},
    Kind.INT32: {"type": "integer", "connect.type": "int32"},
    Kind.INT64: {"type": "integer", "connect.type": "int64"},
    Kind.FLOAT64: {"type": "number", "connect.type": "float64"},
    Kind.STRING: {"type": "string"},
    Kind.BYTES: {"type": "string", "connect.type": "bytes"},
}
_NUMBERS = {kind.value: kind for kind in Kind if kind.value.startswith(("int", "float"))} | {"bytes": Kind.BYTES}
Node = Any


def schema_text(schema: ConnectSchema) -> str:
    """The schema of columns as JSON text."""
    return json.dumps(_node(schema, None), separators=(",", ":"))


def _node(schema: ConnectSchema, index: int | None) -> Node:
    base = _not_null(schema)
    node = {"oneOf": [{"type": "null"}, base]} if schema.is_optional else base
    return node if index is None else {"connect.index": index, **node}


def _not_null(schema: ConnectSchema) -> dict[str, Any]:
    match schema.kind:
        case Kind.ARRAY:
            return {"type": "array", "items": _node(schema.item, None)}
        case Kind.MAP:
            assert schema.key is not None
            entry = {"type": "object", "properties": {"key": _node(schema.key, 0), "value": _node(schema.item, 1)}}
            return {"type": "array", "items": entry, "connect.type": "map"}
        case Kind.STRUCT:
            properties = {field.name: _node(field.schema, at) for at, field in enumerate(schema.fields)}
            return {"type": "object", "properties": properties}
        case kind:
            return _TYPES[kind] | _logical(schema)


def _logical(schema: ConnectSchema) -> dict[str, Any]:
    if schema.name is None:
        return {}
    found: dict[str, Any] = {"title": schema.name, "connect.version": 1}
    if schema.name == connect.DECIMAL:
        parameters = {"scale": str(schema.scale), "connect.decimal.precision": str(schema.precision)}
        found |= {"type": "number", "connect.parameters": parameters}
    return found


def connect_schema(text: str, others: Mapping[str, Node] | None = None) -> ConnectSchema:
    """What Connect makes of a JSON schema; ``others`` are the schemas that it refers to, by their names."""
    root = json.loads(text)
    return _Reader(root, others or {}).schema(root, is_optional=False, around=())


@dataclass(frozen=True, slots=True)
class _Reader:
    root: Node
    others: Mapping[str, Node]

    def schema(self, node: Node, *, is_optional: bool, around: tuple[str, ...]) -> ConnectSchema:
        if not isinstance(node, dict):
            raise UnsupportedSchemaError("a JSON schema without a type")
        if "$ref" in node:
            return self._referred(node["$ref"], is_optional, around)
        for choice in ("oneOf", "anyOf"):
            if choice in node:
                return self._choice(node[choice], is_optional, around)
        if "allOf" in node:
            return self._all_of(node, is_optional, around)
        if isinstance(node.get("type"), list):
            return self._choice([node | {"type": each} for each in node["type"]], is_optional, around)
        found = self._typed(node, around)
        return replace(found, is_optional=is_optional or found.is_optional, default=_default(node, found))

    def _typed(self, node: Node, around: tuple[str, ...]) -> ConnectSchema:
        kind = node.get("type") or ("object" if "properties" in node else None)
        if "enum" in node or "const" in node:
            kind = "string" if kind in {None, "string"} else kind
        match kind:
            case "boolean":
                return ConnectSchema(Kind.BOOLEAN, is_optional=False)
            case "integer" | "number":
                return _number(node)
            case "string":
                return _text(node)
            case "array":
                return self._array(node, around)
            case "object":
                return self._object(node, around)
            case _:
                message = f"a JSON schema of type {kind}"
                raise UnsupportedSchemaError(message)

    def _array(self, node: Node, around: tuple[str, ...]) -> ConnectSchema:
        items = node.get("items")
        if items is None:
            raise UnsupportedSchemaError("an array that does not say what it holds")
        if node.get("connect.type") == "map" and isinstance(items, dict) and "properties" in items:
            key, value = (
                self.schema(items["properties"][name], is_optional=False, around=around) for name in ("key", "value")
            )
            return ConnectSchema(Kind.MAP, is_optional=False, key=key, value=value)
        return ConnectSchema(Kind.ARRAY, is_optional=False, value=self.schema(items, is_optional=False, around=around))

    def _object(self, node: Node, around: tuple[str, ...]) -> ConnectSchema:
        if node.get("connect.type") == "map":
            value = self.schema(node.get("additionalProperties"), is_optional=False, around=around)
            return ConnectSchema(
                Kind.MAP, is_optional=False, key=ConnectSchema(Kind.STRING, is_optional=False), value=value
            )
        return self._struct(node.get("properties", {}), around, node.get("title"))

    def _struct(self, properties: Mapping[str, Node], around: tuple[str, ...], name: str | None) -> ConnectSchema:
        placed: dict[int, str] = {}
        # The library of the registry keeps properties in a hash map, and columns come in its order.
        for each in hash_order(properties):
            index = properties[each].get("connect.index") if isinstance(properties[each], dict) else None
            placed[len(placed) if index is None else index] = each
        fields = tuple(
            ConnectField(placed[at], self.schema(properties[placed[at]], is_optional=False, around=around))
            for at in sorted(placed)
        )
        return ConnectSchema(Kind.STRUCT, name, is_optional=False, fields=fields)

    def _choice(self, nodes: list[Node], is_optional: bool, around: tuple[str, ...]) -> ConnectSchema:
        others = [node for node in nodes if not (isinstance(node, dict) and node.get("type") == "null")]
        if len(others) == 1:
            return self.schema(others[0], is_optional=is_optional or len(nodes) > 1, around=around)
        fields = tuple(
            ConnectField(f"{ONE_OF}.field.{at}", self.schema(node, is_optional=True, around=around))
            for at, node in enumerate(others)
        )
        return ConnectSchema(Kind.STRUCT, ONE_OF, is_optional or len(others) < len(nodes), fields=fields)

    def _all_of(self, node: Node, is_optional: bool, around: tuple[str, ...]) -> ConnectSchema:
        parts = [self._target(part) if isinstance(part, dict) else part for part in node["allOf"]]
        properties: dict[str, Node] = dict(node.get("properties", {}))
        for part in parts:
            properties |= part.get("properties", {})
        if properties:
            return replace(self._struct(properties, around, node.get("title")), is_optional=is_optional)
        return self.schema(parts[0], is_optional=is_optional, around=around)

    def _referred(self, reference: str, is_optional: bool, around: tuple[str, ...]) -> ConnectSchema:
        if reference in around:
            message = f"the JSON schema {reference} contains itself"
            raise UnsupportedSchemaError(message)
        return self.schema(self._target({"$ref": reference}), is_optional=is_optional, around=(*around, reference))

    def _target(self, node: Node) -> Node:
        """What a reference points to: a place in this document, or another schema by its name."""
        if "$ref" not in node:
            return node
        name, _, path = node["$ref"].partition("#")
        found = self.others.get(name, {}) if name else self.root
        for part in filter(None, path.split("/")):
            found = found.get(part.replace("~1", "/").replace("~0", "~"), {}) if isinstance(found, dict) else {}
        return found


def _number(node: Node) -> ConnectSchema:
    said = node.get("connect.type")
    if said is None:
        return ConnectSchema(Kind.INT64 if node["type"] == "integer" else Kind.FLOAT64, is_optional=False)
    if said not in _NUMBERS:
        message = f"a number of connect.type {said}"
        raise UnsupportedSchemaError(message)
    name, parameters = node.get("title"), node.get("connect.parameters", {})
    if name != connect.DECIMAL:
        return ConnectSchema(_NUMBERS[said], name, is_optional=False)
    precision = int(parameters.get("connect.decimal.precision", connect.DEFAULT_PRECISION))
    return ConnectSchema(
        Kind.BYTES, name, is_optional=False, precision=precision, scale=int(parameters.get("scale", 0))
    )


def _text(node: Node) -> ConnectSchema:
    if node.get("connect.type") != "bytes":
        return ConnectSchema(Kind.STRING, is_optional=False)
    if node.get("title") == connect.DECIMAL:
        return _number(node | {"type": "number"})
    return ConnectSchema(Kind.BYTES, is_optional=False)


def _default(node: Node, schema: ConnectSchema) -> Any:
    is_simple = schema.kind not in {Kind.STRUCT, Kind.ARRAY, Kind.MAP, Kind.BYTES}
    return node.get("default") if is_simple else None
