"""JSON documents as rows. Those whose fields are known are read by a decoder that checks types on the way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from types import CodeType
from typing import Annotated, Any

import msgspec
import orjson

from headrace.sql.formats.json_reading import converter, object_reader, single_reader
from headrace.sql.schema import Column
from headrace.sql.tree.types import BIGINT, BOOLEAN, DATE, DOUBLE, INTEGER, STRING, TIMESTAMP, Field, SqlType, Struct

_MAX_FIELDS = 256
"""Topics whose documents have more between them hold something else than rows."""
_MAX_LESSONS = 256
"""Documents that are looked at for fields: what is not known then is left to the plain reader."""
_LONG = Annotated[int, msgspec.Meta(ge=-(1 << 63), le=(1 << 63) - 1)]
_TYPES: dict[SqlType, Any] = {
    INTEGER: Annotated[int, msgspec.Meta(ge=-(1 << 31), le=(1 << 31) - 1)],
    BIGINT: _LONG,
    DATE: _LONG,
    TIMESTAMP: _LONG,
    STRING: str,
    BOOLEAN: bool,
    DOUBLE: float,
}
"""What the decoder takes for a type is a value of it already; all else is left to the plain reader."""

Read = Callable[[bytes], list[Any]]


def json_reader(columns: Sequence[Column], is_wrapped: bool) -> Callable[[str, bytes], list[Any]]:
    """What reads rows, or single values where they are not wrapped."""
    if is_wrapped:
        documents = Documents(Struct(tuple(Field(column.name, column.type) for column in columns)))
        return lambda topic, data: documents.read(data)
    (column,) = columns
    read = single_reader(column.type)
    return lambda topic, data: read(data)


class Documents:
    """The documents of a topic. The fields that the first ones have are remembered, under the names they have there.

    A document with other fields, or with values of other types, is read by the plain reader, as any could be.
    """

    def __init__(self, struct: Struct) -> None:
        self._struct = struct
        self._plain = object_reader(struct)
        self._known: tuple[str, ...] = ()
        self._lessons = _MAX_LESSONS
        self.read: Read = self._read_and_learn

    def _read_and_learn(self, data: bytes) -> list[Any]:
        row = self._plain(data)
        if self._lessons:
            self._lessons -= 1
            self._learn(data)
        return row

    def _learn(self, data: bytes) -> None:
        try:
            known = tuple(dict.fromkeys((*self._known, *orjson.loads(data))))
        except orjson.JSONDecodeError:
            return
        if known == self._known:
            return
        self._known = known
        try:
            self.read = _decoding(self._struct, known, self._read_and_learn)
        except ValueError:
            self._lessons, self.read = 0, self._plain


def _decoding(struct: Struct, names: tuple[str, ...], otherwise: Read) -> Read:
    """Reads documents that have no fields but these. ValueError where a decoder cannot tell which are meant."""
    fields = _fields_of(struct, names)
    decode = _decoder(tuple((name, None if at is None else struct.fields[at].type) for name, at in fields))
    number_of = {at: number for number, (_, at) in enumerate(fields)}
    values = [_value(field.type, at, number_of.get(at)) for at, field in enumerate(struct.fields)]
    source = (
        "def read(data):\n"
        "    try:\n"
        "        document = decode(data)\n"
        f"        return [{', '.join(values)}]\n"
        "    except Exception: return otherwise(data)\n"
    )
    converters = {f"c{at}": converter(field.type, False) for at, field in enumerate(struct.fields)}
    namespace = {"decode": decode, "otherwise": otherwise, **converters}
    exec(_compiled(source), namespace)
    read: Read = namespace["read"]
    return read


def _fields_of(struct: Struct, names: tuple[str, ...]) -> list[tuple[str, int | None]]:
    """The names, with the places of the columns that are read from there."""
    if max(len(names), len(struct.fields)) > _MAX_FIELDS:
        raise ValueError("too many fields")
    places = {field.name: at for at, field in enumerate(struct.fields)}
    found = [(name, at) for name in names for at in {places.get(name), places.get(name.upper())} - {None} or {None}]
    taken = [at for _, at in found if at is not None]
    if len(found) > len(names) or len(taken) > len(set(taken)):
        raise ValueError("a column may have one of several names")
    return found


def _value(type_: SqlType, at: int, number: int | None) -> str:
    if number is None:
        return "None"
    if type_ == DOUBLE:
        return f"None if (v := document.f{number}) is None else v + 0.0"
    return f"document.f{number}" if type_ in _TYPES else f"None if (v := document.f{number}) is None else c{at}(v)"


@lru_cache(maxsize=256)
def _decoder(fields: tuple[tuple[str, SqlType | None], ...]) -> Callable[[bytes], Any]:
    names = {f"f{number}": name for number, (name, _) in enumerate(fields)}
    types = [_TYPES.get(type_, Any) if type_ is not None else Any for _, type_ in fields]
    document = msgspec.defstruct(
        "Document",
        [(attribute, type_ | None, None) for attribute, type_ in zip(names, types, strict=True)],
        rename=names,
        forbid_unknown_fields=True,
        gc=False,
    )
    return msgspec.json.Decoder(document).decode


@lru_cache(maxsize=256)
def _compiled(source: str) -> CodeType:
    return compile(source, "<reader of JSON>", "exec")
