"""JSON documents to rows, by code that is generated for the columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import orjson

from headrace.sql.formats.json_values import (
    Convert,
    NeedsExactNumbers,
    WrongNodeError,
    located,
    primitive_converter,
    read_exactly,
    wrong,
)
from headrace.sql.tree.types import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    INTEGER,
    STRING,
    TIMESTAMP,
    Array,
    Map,
    SqlType,
    Struct,
)

_MAX_SHAPES = 256
"""Of documents whose fields are remembered, per reader: records of a topic mostly have the same."""
_WHOLE = "if type({v}) is not int or not {low} <= {v} <= {high}: {v} = None if {v} is None else {convert}({v})"
_EXACT_TYPE = "if type({v}) is not {kind}: {v} = None if {v} is None else {convert}({v})"
_CHECKS: dict[SqlType, str] = {
    INTEGER: _WHOLE.replace("{low}", str(-(1 << 31))).replace("{high}", str((1 << 31) - 1)),
    BIGINT: _WHOLE.replace("{low}", str(-(1 << 63))).replace("{high}", str((1 << 63) - 1)),
    TIMESTAMP: _WHOLE.replace("{low}", str(-(1 << 63))).replace("{high}", str((1 << 63) - 1)),
    STRING: _EXACT_TYPE.replace("{kind}", "str"),
    BOOLEAN: _EXACT_TYPE.replace("{kind}", "bool"),
    DOUBLE: "{v} = {v} + 0.0 if type({v}) is float else None if {v} is None else {convert}({v})",
}
"""What needs no conversion is recognised without a call."""
_ANY = "if {v} is not None: {v} = {convert}({v})"


_REFUSED = (NeedsExactNumbers, orjson.JSONDecodeError)
"""Jackson reads some documents that orjson refuses: 1e400, or with something behind the end."""


def object_reader(struct: Struct) -> Callable[[bytes], list[Any]]:
    """What reads the fields of an object as a list."""
    return _of_documents(_fields_reader(struct, False), _fields_reader(struct, True))


def single_reader(type_: SqlType) -> Callable[[bytes], list[Any]]:
    """What reads a value as a list of one."""
    return _of_documents(_single(type_, False), _single(type_, True))


def _of_documents(fast: Convert, exact: Convert) -> Callable[[bytes], list[Any]]:
    loads = orjson.loads

    def read(data: bytes) -> list[Any]:
        try:
            return fast(loads(data))  # type: ignore[no-any-return]
        except _REFUSED:
            return exact(read_exactly(data))  # type: ignore[no-any-return]

    return read


def _single(type_: SqlType, is_exact: bool) -> Callable[[Any], list[Any]]:
    convert = converter(type_, is_exact)

    def read(node: Any) -> list[Any]:
        try:
            return [None if node is None else convert(node)]
        except ValueError:
            raise located(convert, [("", node)]) from None

    return read


@lru_cache(maxsize=1024)
def converter(type_: SqlType, is_exact: bool) -> Convert:
    """How nodes become values of any type."""
    match type_:
        case Array(item):
            return _array(converter(item, is_exact))
        case Map(_, value):
            return _map(converter(value, is_exact))
        case Struct():
            read = _fields_reader(type_, is_exact)
            return lambda node: tuple(read(node))
        case _:
            return primitive_converter(type_, is_exact)


def _array(convert: Convert) -> Convert:
    def read(node: Any) -> list[Any]:
        if type(node) is not list:
            raise wrong(node, "ARRAY")
        try:
            return [None if item is None else convert(item) for item in node]
        except ValueError:
            raise located(convert, ((f"[{at}]", item) for at, item in enumerate(node))) from None

    return read


def _map(convert: Convert) -> Convert:
    def read(node: Any) -> dict[str, Any]:
        if type(node) is not dict:
            raise wrong(node, "MAP")
        try:
            return {key: None if value is None else convert(value) for key, value in node.items()}
        except ValueError:
            raise located(convert, ((f".{key}", value) for key, value in node.items())) from None

    return read


def _fields_reader(struct: Struct, is_exact: bool) -> Callable[[Any], list[Any]]:
    """Reads the fields of an object as a list."""
    converters = [converter(field.type, is_exact) for field in struct.fields]
    find = FieldFinder([field.name for field in struct.fields])

    def explained(error: ValueError, node: Any) -> ValueError:
        return _explanation(error, struct, converters, find, node)

    names: dict[str, Any] = {f"c{at}": convert for at, convert in enumerate(converters)}
    names |= {"find": find, "shapes": find.shapes, "wrong": wrong, "explained": explained}
    exec(_compiled(struct), names)
    read: Callable[[Any], list[Any]] = names["read"]
    return read


def _explanation(
    error: ValueError, struct: Struct, converters: Sequence[Convert], find: FieldFinder, node: Any
) -> ValueError:
    if type(node) is not dict:
        return error
    for field, convert, value in zip(struct.fields, converters, find(node), strict=True):
        try:
            if value is not None:
                convert(value)
        except ValueError:
            return located(convert, [(f".{field.name}", value)])
    return WrongNodeError(str(error))


@lru_cache(maxsize=1024)
def _compiled(struct: Struct) -> Any:
    return compile(_source(struct), "<reader of JSON>", "exec")


def _source(struct: Struct) -> str:
    """The fields are fetched by the names that documents of this shape have for them, then checked one by one."""
    places = range(len(struct.fields))
    keys, variables = ", ".join(f"k{at}" for at in places), ", ".join(f"v{at}" for at in places)
    fetched = "; ".join(f"v{at} = get(k{at})" for at in places)
    checks = [
        _CHECKS.get(field.type, _ANY).format(v=f"v{at}", convert=f"c{at}") for at, field in enumerate(struct.fields)
    ]
    lines = [
        "if type(node) is not dict: raise wrong(node, 'an object')",
        "keys = shapes.get(tuple(node))",
        f"if keys is None: [{variables}] = find(node)",
        f"else: [{keys}] = keys; get = node.get; {fetched}",
        "try:",
        *(f"    {check}" for check in checks),
        f"    return [{variables}]",
        "except ValueError as error: raise explained(error, node) from None",
    ]
    return "def read(node):\n" + "".join(f"    {line}\n" for line in lines)


class FieldFinder:
    """Finds the fields of objects by their names: as they are, else in upper case; absent ones are null."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names
        self.shapes: dict[tuple[str, ...], list[str | None]] = {}
        """The names of the fields, or None, for the names that objects have."""

    def __call__(self, node: dict[str, Any]) -> list[Any]:
        shape = tuple(node)
        upper = {name.upper(): name for name in shape}
        found = [name if name in node else upper.get(name) for name in self._names]
        if len(self.shapes) < _MAX_SHAPES:
            self.shapes[shape] = found
        return [None if name is None else node[name] for name in found]
