"""Records into text: what ``consume`` prints for each, by a format as kcat's or as JSON."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from headrace.cli.exits import UsageError
from headrace.cli.output import clean_lines
from headrace.cli.text_serdes import TextSerde, to_json, unescaped
from headrace.errors import SerializationError
from headrace.records import Headers, RawRecord

Piece = Callable[[RawRecord], bytes]

TOKENS = "%t topic, %p partition, %o offset, %T timestamp, %k key, %v value, %h headers, %K and %S their lengths"

_TOKEN = re.compile(rb"%(.)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class RecordPrinter:
    """How keys and values are read, what null looks like, and whether a terminal must be kept from harm."""

    key_serde: TextSerde
    value_serde: TextSerde
    null: bytes = b""
    is_terminal: bool = False

    def formatted(self, template: str) -> Piece:
        """A function that prints a record as ``template`` says.

        Only what the template shows is read: bytes that are no value matter to those who ask for them.
        """
        tokens = self._tokens()
        pieces: list[Piece] = []
        text, at = unescaped(template), 0
        for token in _TOKEN.finditer(text):
            pieces.append(_constant(text[at : token.start()]))
            pieces.append(_known(tokens, token[1]))
            at = token.end()
        if text.endswith(b"%") and at < len(text):
            raise UsageError("the format ends with %", hint="Write %% for the sign itself.")
        pieces.append(_constant(text[at:]))
        return lambda record: b"".join([piece(record) for piece in pieces])

    def as_line(self, record: RawRecord) -> bytes:
        """The value on one line, after key and tab where there is a key.

        Nobody asked for the key: one that cannot be read is shown as its bytes.
        """
        value = self._value(record) + b"\n"
        return value if record[4] is None else self._key_or_bytes(record) + b"\t" + value

    def as_json(self, record: RawRecord) -> bytes:
        """The record as a JSON object on one line."""
        topic, partition, offset, timestamp, key, value, headers = record
        line = to_json(
            {
                "topic": topic,
                "partition": partition,
                "offset": offset,
                "timestamp": timestamp,
                "key": _read(record, "key", lambda: self.key_serde.decode_json(topic, key)),
                "value": _read(record, "value", lambda: self.value_serde.decode_json(topic, value)),
                "headers": [[name, _header_json(content)] for name, content in headers],
            }
        )
        return self._safe(line) + b"\n"

    def _tokens(self) -> dict[bytes, Piece]:
        return {
            b"t": lambda record: record[0].encode(),
            b"p": lambda record: b"%d" % record[1],
            b"o": lambda record: b"%d" % record[2],
            b"T": lambda record: b"%d" % record[3],
            b"k": self._key,
            b"v": self._value,
            b"s": self._value,
            b"h": lambda record: self._safe(_headers(record[6], self.null)),
            b"K": lambda record: b"%d" % _length(record[4]),
            b"S": lambda record: b"%d" % _length(record[5]),
            b"%": _constant(b"%"),
        }

    def _key(self, record: RawRecord) -> bytes:
        key = record[4]
        if key is None:
            return self.null
        return self._safe(_read(record, "key", lambda: self.key_serde.decode_text(record[0], key)))

    def _key_or_bytes(self, record: RawRecord) -> bytes:
        try:
            return self._key(record)
        except SerializationError:
            return self._safe(repr(record[4])[2:-1].encode())

    def _value(self, record: RawRecord) -> bytes:
        value = record[5]
        if value is None:
            return self.null
        return self._safe(_read(record, "value", lambda: self.value_serde.decode_text(record[0], value)))

    def _safe(self, text: bytes) -> bytes:
        return clean_lines(text.decode(errors="backslashreplace")).encode() if self.is_terminal else text


def _constant(text: bytes) -> Piece:
    return lambda record: text


def _known(tokens: dict[bytes, Piece], letter: bytes) -> Piece:
    if letter in tokens:
        return tokens[letter]
    message = f"the format has an unknown %{letter.decode(errors='replace')}"
    raise UsageError(message, hint=f"There are {TOKENS}, %% the sign.")


def _read(record: RawRecord, what: str, read: Callable[[], Any]) -> Any:
    try:
        return read()
    except SerializationError as error:
        message = f"the {what} cannot be read: {error.message}"
        hint = f"Choose the --{what}-serde it was written with; --{what}-serde bytes reads everything."
        raise SerializationError(message, detail=error.detail, hint=hint, at=_place(record)) from error


def _place(record: RawRecord) -> str:
    return f"{record[0]}-{record[1]}@{record[2]}"


def _length(data: bytes | None) -> int:
    return -1 if data is None else len(data)


def _headers(headers: Headers, null: bytes) -> bytes:
    return b",".join(name.encode() + b"=" + (null if value is None else value) for name, value in headers)


def _header_json(value: bytes | None) -> str | dict[str, str] | None:
    if value is None:
        return None
    try:
        return value.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(value).decode()}
