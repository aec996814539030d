"""JSON records with a schema: fields are named as it names them, and those that are not there are null."""

from __future__ import annotations

from typing import Any


def named_as_in(said: Any, schema: dict[str, Any]) -> Any:
    """What a case says, with the names of fields that a schema of JSON has."""
    for branch in schema.get("oneOf", ()):
        if branch.get("type") != "null":
            schema = branch
    if isinstance(said, dict) and schema.get("type") == "array":
        said = [{"key": key, "value": value} for key, value in said.items()]
    if isinstance(said, list):
        return [named_as_in(each, schema.get("items") or {}) for each in said]
    fields = schema.get("properties")
    if not isinstance(said, dict):
        return said
    if not isinstance(fields, dict):
        return {name: named_as_in(each, schema.get("additionalProperties") or {}) for name, each in said.items()}
    names = {name.upper(): name for name in fields}
    found = {names.get(name.upper(), name): value for name, value in said.items()}
    return {name: named_as_in(value, fields.get(name) or {}) for name, value in found.items()}


def with_all_fields(found: Any, schema: dict[str, Any]) -> Any:
    """An object of JSON with the fields that its schema has besides; they are null."""
    fields = schema.get("properties")
    if not isinstance(found, dict) or not isinstance(fields, dict):
        return found
    return {**dict.fromkeys(fields), **found}
