"""Avro records of cases: what a case says in the types of a schema, and what a case would say of what was read."""

from __future__ import annotations

import base64
from decimal import Decimal
from typing import Any

from tests.ksql.json_text import json_text


def plain_times(node: Any) -> Any:
    """A schema in which times are the numbers that they are written as."""
    if isinstance(node, dict):
        kept = {name: plain_times(value) for name, value in node.items()}
        if str(kept.get("logicalType", "")).startswith(("date", "time")):
            del kept["logicalType"]
        return kept
    return [plain_times(each) for each in node] if isinstance(node, list) else node


def as_avro(said: Any, schema: Any, named: dict[str, Any]) -> Any:
    """What a case says in the types of a schema; fields are found without regard to case."""
    if isinstance(schema, list):
        return _of_union(said, schema, named)
    if isinstance(schema, str):
        schema = named.get(schema, {"type": schema})
    if isinstance(schema["type"], (dict, list)):
        return as_avro(said, schema["type"], named)
    match schema["type"]:
        case "record":
            named[schema["name"]] = schema
            given = {name.upper(): value for name, value in said.items()}
            fields = {field["name"]: field for field in schema["fields"]}
            return {
                name: as_avro(given[name.upper()], field["type"], named)
                if name.upper() in given
                else field.get("default")
                for name, field in fields.items()
            }
        case "array":
            items = said if isinstance(said, list) else [{"key": key, "value": value} for key, value in said.items()]
            return [as_avro(each, schema["items"], named) for each in items]
        case "map":
            return {key: as_avro(value, schema["values"], named) for key, value in said.items()}
        case "bytes" | "fixed" if schema.get("logicalType") == "decimal":
            return Decimal(str(said))
        case "bytes":
            return base64.b64decode(said)
        case "double" | "float":
            return float(said)
        case "int" | "long":
            return int(said)
        case "string" | "enum":
            return said if isinstance(said, str) else json_text(said)
        case _:
            return said


def _of_union(said: Any, branches: list[Any], named: dict[str, Any]) -> Any:
    if said is None and "null" in branches:
        return None
    others = [branch for branch in branches if branch != "null"]
    return as_avro(said, others[0], named)


def without_entries(found: Any) -> Any:
    """Maps whose keys are no texts are written as lists of entries."""
    if isinstance(found, list):
        if found and all(isinstance(each, dict) and set(each) == {"key", "value"} for each in found):
            return {each["key"]: without_entries(each["value"]) for each in found}
        return [without_entries(each) for each in found]
    return {name: without_entries(value) for name, value in found.items()} if isinstance(found, dict) else found
