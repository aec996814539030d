"""JSON in texts: reading parts of it, and writing values as JSON."""

from __future__ import annotations

import base64
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from headrace.sql.functions.declare import scalar
from headrace.sql.functions.json_nodes import MISSING, parse, write
from headrace.sql.functions.natural import order
from headrace.sql.tree import types
from headrace.sql.tree.types import SqlType
from headrace.sql.types.java_text import text_of
from headrace.sql.types.times import date_text, time_text, timestamp_text
from headrace.sql.types.utf16 import joined


@scalar("IS_JSON_STRING", "(STRING text) -> BOOLEAN", description="Whether a text is JSON.")
def is_json(text: str | None) -> bool:
    try:
        return text is not None and parse(text) is not MISSING
    except ValueError:
        return False


@scalar("EXTRACTJSONFIELD", "(STRING text, STRING path) -> STRING", description="What is at a path such as $.a[0].b.")
def extract(text: str | None, path: str | None) -> str | None:
    if text is None or path is None:
        return None
    steps = _steps(path)
    node = parse(text)
    for step in steps:
        node = _child(node, step)
        if node is MISSING:
            return None
    return _text(node) if node is not MISSING else ""


def _child(node: Any, step: str) -> Any:
    if isinstance(node, list):
        index = int(step) if step.isdecimal() else len(node)
        return node[index] if index < len(node) else MISSING
    return node.get(step, MISSING) if isinstance(node, dict) else MISSING


def _text(node: Any) -> str:
    return joined(node) if isinstance(node, str) else write(node)


@lru_cache(maxsize=1000)
def _steps(path: str) -> tuple[str, ...]:
    """The names and indexes of a path."""
    steps, at = [], 1
    if not path.startswith("$"):
        raise _bad_path(path)
    while at < len(path):
        if path[at] == ".":
            step, at = _bare_step(path, at + 1, "_:@")
        elif path.startswith('["', at):
            step, at = _quoted_step(path, at + 2)
            at = _closed(path, at)
        elif path[at] == "[":
            step, at = _bare_step(path, at + 1, "_")
            at = _closed(path, at)
        else:
            raise _bad_path(path)
        steps.append(step)
    return tuple(steps)


def _bare_step(path: str, at: int, more: str) -> tuple[str, int]:
    end = at
    while end < len(path) and (path[end].isalnum() or path[end] in more):
        end += 1
    if end == at:
        raise _bad_path(path)
    return path[at:end], end


def _quoted_step(path: str, at: int) -> tuple[str, int]:
    step = ""
    while at < len(path) and path[at] != '"':
        if path[at] == "\\":
            at += 1
            if path[at : at + 1] not in ('"', "\\"):
                raise _bad_path(path)
        step += path[at]
        at += 1
    if at >= len(path):
        raise _bad_path(path)
    return step, at + 1


def _closed(path: str, at: int) -> int:
    if path[at : at + 1] != "]":
        raise _bad_path(path)
    return at + 1


def _bad_path(path: str) -> ValueError:
    return ValueError(f"{path!r} is no path into JSON, such as $.a[0].b")


@scalar("JSON_ARRAY_LENGTH", "(STRING text) -> INTEGER", description="The number of elements of a JSON array.")
def array_length(text: str | None) -> int | None:
    node = None if text is None else parse(text)
    return len(node) if isinstance(node, list) else None


@scalar("JSON_ITEMS", "(STRING text) -> ARRAY<STRING>", description="The elements of a JSON array, as JSON.")
def items(text: str | None) -> list[str] | None:
    if text is None:
        return None
    node = parse(text)
    if not isinstance(node, list):
        message = f"{text!r} is no JSON array"
        raise ValueError(message)
    return [write(item) for item in node]


@scalar("JSON_KEYS", "(STRING text) -> ARRAY<STRING>", description="The names in a JSON object.")
def keys(text: str | None) -> list[str] | None:
    node = None if text is None else parse(text)
    return list(node) if isinstance(node, dict) else None


@scalar("JSON_RECORDS", "(STRING text) -> MAP<STRING, STRING>", description="Names and values of a JSON object.")
def records(text: str | None) -> dict[str, str] | None:
    node = None if text is None else parse(text)
    return {key: _text(value) for key, value in node.items()} if isinstance(node, dict) else None


@scalar("JSON_CONCAT", "(STRING... texts) -> STRING", description="JSON objects merged, or arrays and values in a row.")
def concat(*texts: str | None) -> str | None:
    if not texts:
        raise ValueError("JSON_CONCAT needs an argument")
    nodes = []
    for text in texts:
        node = MISSING if text is None else parse(text)
        if node is MISSING:
            return None  # What comes behind it is not looked at: it may be anything.
        nodes.append(node)
    objects = [node for node in nodes if isinstance(node, dict)]
    if len(objects) == len(nodes):
        return write({key: value for node in objects for key, value in node.items()}, plain=True)
    if len(nodes) == 1:
        return write(nodes[0], plain=True)
    return write([item for node in nodes for item in (node if isinstance(node, list) else [node])], plain=True)


@scalar(
    "JSON_ARRAY_CONTAINS",
    "(STRING text, T item) -> BOOLEAN",
    typed=True,
    description="Whether a JSON array has an item.",
)
def containing(given: tuple[SqlType | None, ...]) -> Callable[[str | None, Any], bool]:
    item_type = given[1]
    matches = _MATCHES.get(item_type, lambda node, item: False)

    def contains(text: str | None, item: Any) -> bool:
        if text is None:
            raise ValueError("there is no JSON to look into")
        try:
            node = parse(text)
        except ValueError:
            return False
        if not isinstance(node, list):
            return False
        return any(element is None if item is None else matches(element, item) for element in node)

    return contains


def _is_same_whole(node: Any, item: int) -> bool:
    return isinstance(node, int) and not isinstance(node, bool) and node == item


_MATCHES: dict[SqlType | None, Callable[[Any, Any], bool]] = {
    types.INTEGER: _is_same_whole,
    types.BIGINT: _is_same_whole,
    types.DOUBLE: lambda node, item: not isinstance(node, int | str | list | dict | None) and float(node) == item,
    types.STRING: lambda node, item: isinstance(node, str) and node == item,
    types.BOOLEAN: lambda node, item: isinstance(node, bool) and node is item,
}


@scalar("TO_JSON_STRING", "(T value) -> STRING", typed=True, description="A value as JSON, names in order.")
def to_json(given: tuple[SqlType | None, ...]) -> Callable[[Any], str]:
    type_ = given[0]
    return lambda value: write(_prepared(value, type_), plain=True)


def _prepared(value: Any, type_: SqlType | None) -> Any:
    if value is None:
        return None
    if isinstance(type_, types.Struct):
        fields = zip(type_.fields, value, strict=True)
        return _sorted({field.name: _prepared(item, field.type) for field, item in fields})
    if isinstance(type_, types.Map):
        return _sorted({_key(key, type_.key): _prepared(item, type_.value) for key, item in value.items()})
    if isinstance(type_, types.Array):
        return [_prepared(item, type_.item) for item in value]
    return _PREPARED[type_](value) if type_ in _PREPARED else value


def _key(key: Any, type_: SqlType) -> str:
    if key is None:
        raise ValueError("JSON has no null keys")
    return text_of(key, type_)


def _sorted(entries: dict[str, Any]) -> dict[str, Any]:
    return {name: entries[name] for name in sorted(entries, key=order)}


_PREPARED: dict[SqlType | None, Callable[[Any], str]] = {
    types.DATE: date_text,
    types.TIME: time_text,
    types.TIMESTAMP: timestamp_text,
    types.BYTES: lambda value: base64.b64encode(value).decode(),
}
