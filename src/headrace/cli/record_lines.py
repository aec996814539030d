"""Lines into records: what ``produce`` does with its input.

A line is a value, or a key and a value with a delimiter between them, or a JSON object with the fields of a record.
"""

from __future__ import annotations

import base64
import select
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

import orjson

from headrace.broker.port import NewRecord
from headrace.cli.exits import UsageError
from headrace.cli.text_serdes import TextSerde
from headrace.errors import SerializationError
from headrace.near_names import did_you_mean
from headrace.records import NO_HEADERS, Headers
from headrace.serde.contract import shorten

_CHUNK = 1 << 18
_BATCH_BYTES = 8 << 20
_BATCH_LINES = 20_000
_LONGEST_LINE = 1 << 28
_FIELDS = ("key", "value", "timestamp", "headers", "partition")
_WHERE_FROM = frozenset({"topic", "offset"})


def batches(stream: BinaryIO) -> Iterator[list[bytes]]:
    """The lines of ``stream``, in groups of those that are available: lines that are typed are taken one by one."""
    pending = bytearray()
    lines: list[bytes] = []
    size = 0
    while chunk := _read(stream):
        size += len(chunk)
        pending += chunk
        if b"\n" in chunk:
            *whole, rest = bytes(pending).split(b"\n")
            lines += whole
            pending = bytearray(rest)
        elif len(pending) > _LONGEST_LINE:
            message = f"a line is longer than {_LONGEST_LINE:,} bytes"
            raise SerializationError(message, hint="Records are separated by line ends.")
        if lines and (size >= _BATCH_BYTES or len(lines) >= _BATCH_LINES or not _more_is_there(stream)):
            yield lines
            lines, size = [], 0
    if pending:
        lines.append(bytes(pending))
    if lines:
        yield lines


def _read(stream: BinaryIO) -> bytes:
    read_available = getattr(stream, "read1", stream.read)
    data: bytes = read_available(_CHUNK)
    return data


def _more_is_there(stream: BinaryIO) -> bool:
    try:
        return bool(select.select([stream], [], [], 0)[0])
    except (OSError, ValueError):  # not a file of the operating system: all of it is there
        return True


@dataclass(frozen=True, slots=True)
class LineReader:
    """How to read a line; what the line does not say itself comes from here."""

    topic: str
    key_serde: TextSerde
    value_serde: TextSerde
    key_delimiter: bytes | None = None
    key: bytes | None = None
    headers: Headers = NO_HEADERS
    partition: int | None = None
    timestamp: int | None = None
    empty_is_null: bool = False
    as_json: bool = False

    def record(self, line: bytes) -> NewRecord:
        """The record that ``line`` stands for; a SerializationError if it is not one."""
        return self._from_json(line) if self.as_json else self._from_text(line)

    def _from_text(self, line: bytes) -> NewRecord:
        key, value = self.key, line
        if self.key_delimiter is not None and self.key_delimiter in line:
            key, _, value = line.partition(self.key_delimiter)
        return NewRecord(
            self.topic,
            self._encoded("key", self.key_serde, key),
            self._encoded("value", self.value_serde, value),
            self.timestamp,
            self.headers,
            self.partition,
        )

    def _encoded(self, what: str, serde: TextSerde, text: bytes | None) -> bytes | None:
        if text is None or (self.empty_is_null and not text):
            return None
        with_hint = f"Choose the --{what}-serde that fits."
        try:
            return serde.encode_text(self.topic, text)
        except SerializationError as error:
            raise _of(what, error, with_hint) from error

    def _from_json(self, line: bytes) -> NewRecord:
        fields = _object(line)
        timestamp = _number(fields, "timestamp")
        partition = _number(fields, "partition")
        return NewRecord(
            self.topic,
            self._encoded_json("key", self.key_serde, fields) if "key" in fields else self._fixed_key(),
            self._encoded_json("value", self.value_serde, fields),
            self.timestamp if timestamp is None else timestamp,
            Headers((*_headers(fields.get("headers")), *self.headers)),
            self.partition if self.partition is not None else partition,
        )

    def _fixed_key(self) -> bytes | None:
        return self._encoded("key", self.key_serde, self.key)

    def _encoded_json(self, what: str, serde: TextSerde, fields: dict[str, Any]) -> bytes | None:
        try:
            return serde.encode_json(self.topic, fields.get(what))
        except SerializationError as error:
            raise _of(what, error, f"Choose the --{what}-serde that fits, for instance json.") from error


def _of(what: str, error: SerializationError, hint: str) -> SerializationError:
    return SerializationError(f"the {what} cannot be written: {error.message}", detail=error.detail, hint=hint)


def _object(line: bytes) -> dict[str, Any]:
    try:
        fields = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        hint = 'Each line is an object: {"key": "a", "value": "b"}.'
        raise SerializationError("this is no JSON", detail=f"{error}: {shorten(line)}", hint=hint) from error
    if not isinstance(fields, dict):
        hint = 'Each line is an object: {"key": "a", "value": "b"}.'
        raise SerializationError("this is no JSON object", detail=shorten(line), hint=hint)
    for name in fields:
        if name not in _FIELDS and name not in _WHERE_FROM:
            hint = did_you_mean(name, _FIELDS) or f"A record has {', '.join(_FIELDS)}."
            message = f"a record has no field {shorten(name)}"
            raise SerializationError(message, hint=hint)
    return fields


def _number(fields: dict[str, Any], name: str) -> int | None:
    value = fields.get(name)
    if value is None or (type(value) is int and value >= 0):
        return value
    message = f"the {name} must be a whole number, 0 or more, found {shorten(value)}"
    raise SerializationError(message)


def _headers(given: Any) -> list[tuple[str, bytes | None]]:
    if given is None:
        return []
    pairs = list(given.items()) if isinstance(given, dict) else given
    if not isinstance(pairs, list) or not all(_is_header(pair) for pair in pairs):
        message = f"the headers cannot be {shorten(given)}"
        hint = 'Write {"name": "value"}, or pairs where names repeat: [["name", "one"], ["name", "two"]].'
        raise SerializationError(message, hint=hint)
    return [(name, _header_value(value)) for name, value in pairs]


def _is_header(pair: Any) -> bool:
    if not isinstance(pair, list | tuple) or len(pair) != 2 or not isinstance(pair[0], str):
        return False
    value = pair[1]
    return value is None or isinstance(value, str) or (isinstance(value, dict) and list(value) == ["base64"])


def _header_value(value: Any) -> bytes | None:
    if isinstance(value, dict):  # what consume writes for bytes that are no text
        try:
            return base64.b64decode(value["base64"], validate=True)
        except (ValueError, TypeError) as error:
            message = f"the header {shorten(value)} is no base64"
            raise SerializationError(message) from error
    return None if value is None else str(value).encode()


def header_of(text: str) -> tuple[str, bytes | None]:
    """``name=value`` as a header; without ``=`` its value is null.

    >>> header_of("trace=1"), header_of("seen")
    (('trace', b'1'), ('seen', None))
    """
    name, equals, value = text.partition("=")
    if not name:
        message = f"{text!r} is no header"
        raise UsageError(message, hint="Write it as NAME=VALUE.")
    return name, value.encode(errors="surrogateescape") if equals else None
