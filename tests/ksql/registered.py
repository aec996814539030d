"""The registry that a case finds: schemas that it brings along, and those of the columns that it declares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from headrace.serde.registry import InMemorySchemaRegistry, Schema, SchemaReference
from headrace.sql.catalog.catalog import Catalog
from headrace.sql.catalog.creating import declared_source
from headrace.sql.catalog.sources import Source
from headrace.sql.errors import SqlError
from headrace.sql.formats.registering import own_schema
from headrace.sql.tree.statements import CreateSource, CreateType, Parsed
from headrace.topology.java_order import hash_order
from tests.ksql.cases import Case
from tests.ksql.json_text import json_text

_KINDS = {"AVRO": "AVRO", "PROTOBUF": "PROTOBUF", "JSON_SR": "JSON", "JSON": "JSON"}
_SIDES = ("key", "value")


def declared_registry(case: Case, statements: Sequence[Parsed]) -> InMemorySchemaRegistry:
    """The registry before the first statement. Ids are counted in the order of a hash map of topics, as upstream."""
    registry = InMemorySchemaRegistry()
    nodes = {node["name"]: node for node in case.node.get("topics") or () if isinstance(node, dict)}
    declared = {source.topic: source for source in _declared(statements, case.properties)}
    records = [record["topic"] for side in ("inputs", "outputs") for record in case.node.get(side) or ()]
    for node in nodes.values():
        _register_with_ids(node, registry)
    for topic in hash_order([*nodes, *declared, *records]):
        for side in _SIDES:
            schema = _given(nodes.get(topic, {}), side) or _own(declared.get(topic), side)
            if schema is not None:
                registry.register(f"{topic}-{side}", schema)
    # What is referred to has no number among those that cases count.
    for node in nodes.values():
        _register_references(node, registry)
    return registry


def _register_with_ids(node: Mapping[str, Any], registry: InMemorySchemaRegistry) -> None:
    for side in _SIDES:
        schema, schema_id = _given(node, side), node.get(f"{side}SchemaId")
        if schema is not None and schema_id is not None:
            registry.register_as(f"{node['name']}-{side}", schema, schema_id)


def _register_references(node: Mapping[str, Any], registry: InMemorySchemaRegistry) -> None:
    for side in _SIDES:
        for each in node.get(f"{side}SchemaReferences") or ():
            kind = _kind(node, side)
            registry.register(each["name"], Schema(_text(each["schema"], kind), kind))


def _given(node: Mapping[str, Any], side: str) -> Schema | None:
    schema = node.get(f"{side}Schema")
    if schema is None:
        return None
    references = node.get(f"{side}SchemaReferences") or ()
    kind = _kind(node, side)
    return Schema(
        _text(schema, kind), kind, tuple(SchemaReference(each["name"], each["name"], 1) for each in references)
    )


def _kind(node: Mapping[str, Any], side: str) -> str:
    return _KINDS[(node.get(f"{side}Format") or "AVRO").upper()]


def _text(schema: Any, kind: str) -> str:
    return schema if isinstance(schema, str) and kind == "PROTOBUF" else json_text(schema)


def _declared(statements: Sequence[Parsed], settings: Mapping[str, str]) -> list[Source]:
    """What statements declare with columns; those that are wrong say so themselves, later."""
    catalog, found = Catalog(), []
    for parsed in statements:
        try:
            match parsed.statement:
                case CreateType(name, type_):
                    catalog = catalog.with_type(name, catalog.resolved(type_))
                case CreateSource() as statement if statement.columns:
                    found.append(declared_source(statement, catalog, settings))
        except SqlError:
            continue
    return found


def _own(source: Source | None, side: str) -> Schema | None:
    if source is None:
        return None
    format_ = source.key_format if side == "key" else source.value_format
    columns = source.schema.key if side == "key" else source.schema.value
    if not format_.format.infers or not columns:
        return None
    try:
        return own_schema(columns, format_)
    except SqlError:
        return None
