"""Rows to JSON documents, by code that is generated for the columns. Doubles and decimals are written as Java does."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Sequence
from typing import Any

import orjson

from headrace.serde.json_values import json_bytes
from headrace.sql.formats.json_values import upper_case_escapes
from headrace.sql.schema import Column
from headrace.sql.tree.types import BYTES, DOUBLE, Array, Decimal, Field, Map, SqlType, Struct
from headrace.sql.types.java_text import double_text

# orjson and Java write the same digits for numbers of this size.
_DOUBLE = "{v} if {v} is None or 0.001 <= {v} < 1e7 or -1e7 < {v} <= -0.001 or {v} == 0 else double({v})"
_DECIMAL = "None if {v} is None else fragment(str({v}))"
_BYTES = "None if {v} is None else base64({v}).decode()"
_EXPRESSIONS: dict[SqlType, str] = {DOUBLE: _DOUBLE, BYTES: _BYTES}
_CALL = "None if {v} is None else {write}({v})"
_SHORT_ESCAPE = b"\\u00"
_BEYOND = re.compile("[\ud800-\udfff\U00010000-\U0010ffff]")
"""Characters that Java has in two parts, or one of these: Jackson writes them as escapes."""


def fragment_of_double(value: float) -> orjson.Fragment:
    """A DOUBLE as Java writes it; what is no number is a text."""
    text = double_text(value)
    return orjson.Fragment(text if text[-1].isdigit() else f'"{text}"')


_NAMES: dict[str, Any] = {
    "double": fragment_of_double,
    "fragment": orjson.Fragment,
    "base64": base64.b64encode,
}


def json_writer(columns: Sequence[Column], is_wrapped: bool) -> Callable[[str, Sequence[Any]], bytes | None]:
    """What writes rows, or single values where they are not wrapped."""
    if is_wrapped:
        row = _fields_writer(tuple(Field(column.name, column.type) for column in columns))
        return lambda topic, values: dumped(row(values))
    (column,) = columns
    value = _written(column.type)

    def single(topic: str, values: Sequence[Any]) -> bytes | None:
        (found,) = values
        node = None if found is None else value(found)
        return None if node is None else dumped(node)

    return single


def dumped(node: Any) -> bytes:
    """The document, with escapes as Jackson writes them."""
    try:
        data = json_bytes(node)
    except TypeError:
        # A null key of a map is written as "null"; half of a character that Java has in two is written as an escape.
        data = _text(node).encode()
    if _SHORT_ESCAPE in data:
        data = upper_case_escapes(data.decode()).encode()
    return data if data.isascii() else _BEYOND.sub(_escaped, data.decode()).encode()


def _text(node: Any) -> str:
    """The same by hand, for what orjson refuses."""
    match node:
        case dict():
            return f"{{{','.join(f'{_key(key)}:{_text(value)}' for key, value in node.items())}}}"
        case list() | tuple():
            return f"[{','.join(map(_text, node))}]"
        case str():
            return _BEYOND.sub(_escaped, json.dumps(node, ensure_ascii=False))
        case _:
            return orjson.dumps(node).decode()


def _key(key: str | None) -> str:
    return _text("null" if key is None else key)


def _escaped(found: re.Match[str]) -> str:
    units = found[0].encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02X}{units[at + 1]:02X}" for at in range(0, len(units), 2))


def _is_written_as_it_is(type_: SqlType) -> bool:
    match type_:
        case Array(item):
            return _is_written_as_it_is(item)
        case Map(_, value):
            return _is_written_as_it_is(value)
        case Struct() | Decimal():
            return False
        case _:
            return type_ not in {DOUBLE, BYTES}


def _written(type_: SqlType) -> Callable[[Any], Any]:
    """What orjson is given for a value that is not null."""
    if not _is_called(type_):
        return _made(f"def write(value): return {_expression(type_, 'value', '')}", {})
    match type_:
        case Array(item):
            each = f"[{_expression(item, 'each', 'inner')} for each in value]"
        case Map(_, item):
            each = f"{{key: {_expression(item, 'each', 'inner')} for key, each in value.items()}}"
        case _:
            assert isinstance(type_, Struct)
            return _fields_writer(type_.fields)
    return _made(f"def write(value): return {each}", {"inner": _written(item)})


def _fields_writer(fields: Sequence[Field]) -> Callable[[Any], Any]:
    """An object with all fields, nulls too, from their values in order."""
    variables = [f"v{at}" for at in range(len(fields))]
    pairs = [
        f"{field.name!r}: {_expression(field.type, v, f'w{at}')}"
        for at, (field, v) in enumerate(zip(fields, variables, strict=True))
    ]
    source = f"def write(row):\n    [{', '.join(variables)}] = row\n    return {{{', '.join(pairs)}}}\n"
    return _made(source, {f"w{at}": _written(each.type) for at, each in enumerate(fields) if _is_called(each.type)})


def _made(source: str, called: dict[str, Callable[[Any], Any]]) -> Callable[[Any], Any]:
    names = _NAMES | called
    exec(source, names)
    write: Callable[[Any], Any] = names["write"]
    return write


def _is_called(type_: SqlType) -> bool:
    return isinstance(type_, Array | Map | Struct) and not _is_written_as_it_is(type_)


def _expression(type_: SqlType, variable: str, write: str) -> str:
    if _is_called(type_):
        return _CALL.format(v=variable, write=write)
    if isinstance(type_, Decimal):
        return _DECIMAL.format(v=variable)
    return _EXPRESSIONS.get(type_, "{v}").format(v=variable)
