"""DELIMITED: fields in one line, quoted as Apache Commons CSV 1.4 does, oddities included."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Sequence
from typing import Any

from headrace.sql.schema import Column
from headrace.sql.tree.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INTEGER,
    STRING,
    TIME,
    TIMESTAMP,
    Decimal,
    SqlType,
)
from headrace.sql.types.java_text import double_text
from headrace.sql.types.numbers import fitting, parse_decimal, parse_double, parse_whole, time_of_day

_BLANK_NAMES = {"SPACE": " ", "TAB": "\t"}
_PLAIN_FIRST = re.compile("[0-9A-Za-z]")
_LAST_QUOTED_FIRST_CHARACTER = "#"


class DelimitedCodec:
    """Rows as lines without an end."""

    def __init__(self, columns: Sequence[Column], delimiter: str) -> None:
        self._names = [column.name for column in columns]
        self._readers = [_reader(column.type) for column in columns]
        self._writers = [_writer(column.type) for column in columns]
        self._delimiter = delimiter
        self._needs_quotes = re.compile(rf'[\r\n"{re.escape(delimiter)}]')

    def write(self, topic: str, row: Sequence[Any]) -> bytes:
        fields = (
            "" if value is None else self._quoted(write(value), at == 0)
            for at, (write, value) in enumerate(zip(self._writers, row, strict=True))
        )
        return self._delimiter.join(fields).encode("utf-8", "replace")

    def read(self, topic: str, data: bytes) -> list[Any]:
        fields = split_line(data.decode("utf-8", "replace"), self._delimiter)
        if len(fields) != len(self._readers):
            message = f"expected {len(self._readers)} fields, found {len(fields)}"
            raise ValueError(message)
        return [
            self._value(name, read, field) if field else None
            for name, read, field in zip(self._names, self._readers, fields, strict=True)
        ]

    def _value(self, name: str, read: Callable[[str], Any], field: str) -> Any:
        try:
            return read(field)
        except ValueError as error:
            message = f"the field of `{name}`: {error}"
            raise ValueError(message) from None

    def _quoted(self, text: str, is_first: bool) -> str:
        if not text:
            is_quoted = is_first
        elif is_first and not _PLAIN_FIRST.match(text):
            is_quoted = True
        else:
            is_quoted = (
                text[0] <= _LAST_QUOTED_FIRST_CHARACTER
                or text[-1] <= " "
                or self._needs_quotes.search(text) is not None
            )
        return '"' + text.replace('"', '""') + '"' if is_quoted else text


def delimited_codec(columns: Sequence[Column], delimiter: str | None) -> DelimitedCodec:
    """The delimiter is a comma unless it is given: one character, or SPACE or TAB."""
    given = delimiter or ","
    return DelimitedCodec(columns, _BLANK_NAMES.get(given.upper(), given))


def split_line(text: str, delimiter: str) -> list[str]:
    """The fields of the first line that is not empty.

    >>> split_line('1,"a ""b"", c",', ",")
    ['1', 'a "b", c', '']
    """
    text = text.lstrip("\r\n")
    if not text:
        raise ValueError("expected fields, found nothing")
    if '"' not in text and "\n" not in text and "\r" not in text:
        return text.split(delimiter)
    return _split_quoted(text, delimiter)


def _split_quoted(text: str, delimiter: str) -> list[str]:
    plain = re.compile(rf"[^\r\n{re.escape(delimiter)}]*")
    fields: list[str] = []
    at = 0
    while True:
        if text.startswith('"', at):
            field, at = _quoted_field(text, at, delimiter)
        else:
            found = plain.match(text, at)
            assert found is not None
            field, at = found[0], found.end()
        fields.append(field)
        if not text.startswith(delimiter, at):
            return fields
        at += 1


_INSIDE = re.compile('(?:[^"]|"")*')


def _quoted_field(text: str, start: int, delimiter: str) -> tuple[str, int]:
    inside = _INSIDE.match(text, start + 1)
    assert inside is not None
    at = inside.end()
    if at == len(text):
        raise ValueError("a quoted field does not end")
    at += 1
    while at < len(text) and text[at] not in {delimiter, "\r", "\n"}:
        if not text[at].isspace():
            message = f"expected the delimiter after a quoted field, found {text[at]!r}"
            raise ValueError(message)
        at += 1
    return inside[0].replace('""', '"'), at


def _boolean(text: str) -> bool:
    return text.lower() == "true"


def _bytes(text: str) -> bytes:
    # Java's decoder does without padding.
    padded = text if "=" in text else text + "=" * (-len(text) % 4)
    try:
        return base64.b64decode(padded, validate=True)
    except ValueError as error:
        message = f"this is no Base64: {error}"
        raise ValueError(message) from None


def _whole(bits: int) -> Callable[[str], int]:
    return lambda text: parse_whole(text, bits)


_READERS: dict[SqlType, Callable[[str], Any]] = {
    BOOLEAN: _boolean,
    INTEGER: _whole(32),
    BIGINT: _whole(64),
    DOUBLE: parse_double,
    STRING: str,
    BYTES: _bytes,
    DATE: _whole(32),
    TIME: lambda text: time_of_day(parse_whole(text, 64)),
    TIMESTAMP: _whole(64),
}
_WRITERS: dict[SqlType, Callable[[Any], str]] = {
    BOOLEAN: lambda value: "true" if value else "false",
    DOUBLE: double_text,
    BYTES: lambda value: base64.b64encode(value).decode(),
}


def _reader(type_: SqlType) -> Callable[[str], Any]:
    if isinstance(type_, Decimal):
        return lambda text: fitting(parse_decimal(text), type_)
    return _READERS[type_]


def _writer(type_: SqlType) -> Callable[[Any], str]:
    if isinstance(type_, Decimal):
        return lambda value: format(value, "f")
    return _WRITERS.get(type_, str)
