"""Serdes by name, and how their values are written on the command line: as text, and as JSON.

Bytes are themselves as text, and base64 in JSON. Lists, Avro records and JSON values are JSON in both.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

import orjson

from headrace import serde as serdes
from headrace.cli.exits import NotFoundError, UsageError
from headrace.errors import SerializationError
from headrace.near_names import did_you_mean
from headrace.serde.contract import Serde, shorten
from headrace.windows import Windowed

NAMES = (
    "string, bytes, base64, hex, json, long, integer, short, double, float, boolean, uuid, void, list:INNER, "
    "windowed:INNER:SIZE_MS, session_windowed:INNER, avro:SCHEMA_FILE"
)


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, Windowed):
        return {"key": _plain(value.key), "start": value.window.start, "end": value.window.end}
    if isinstance(value, dict):
        return {str(name): _plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return value


def to_json(value: Any) -> bytes:
    try:
        return orjson.dumps(value)
    except TypeError:  # numbers beyond 64 bits
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str).encode()


def _shown(value: Any) -> bytes:
    if isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return value.encode(errors="replace")
    if isinstance(value, bool | dict | list):
        return to_json(_plain(value))
    return str(value).encode()


def _same(value: Any) -> Any:
    return value


@dataclass(frozen=True, slots=True)
class TextSerde:
    name: str
    serde: Serde[Any]
    parse: Callable[[bytes], Any]
    """The value that a piece of a line stands for; ValueError where it is none."""
    from_json: Callable[[Any], Any] = _same
    show: Callable[[Any], bytes] = _shown
    to_json: Callable[[Any], Any] = _plain

    def encode_text(self, topic: str, text: bytes) -> bytes | None:
        """The bytes for the log of a value written as text."""
        try:
            value = self.parse(text)
        except (ValueError, TypeError) as error:
            message = f"{shorten(text.decode(errors='replace'))} is no {self.name}"
            raise SerializationError(message, detail=str(error)) from error
        return self.serde.serialize(topic, value)

    def encode_json(self, topic: str, value: Any) -> bytes | None:
        """The bytes for the log of a value from JSON; null stays null."""
        try:
            return None if value is None else self.serde.serialize(topic, self.from_json(value))
        except SerializationError:
            raise
        except (ValueError, TypeError) as error:
            message = f"{shorten(value)} is no {self.name}"
            raise SerializationError(message, detail=str(error)) from error

    def decode_text(self, topic: str, data: bytes) -> bytes:
        return self.show(self.serde.deserialize(topic, data))

    def decode_json(self, topic: str, data: bytes | None) -> Any:
        return None if data is None else self.to_json(self.serde.deserialize(topic, data))


def text_serde(name: str) -> TextSerde:
    """The serde called ``name``: one of ``NAMES``.

    >>> text_serde("hex").encode_text("topic", b"6869")
    b'hi'
    """
    kind, colon, rest = name.partition(":")
    if kind in _SIMPLE and not colon:
        return _SIMPLE[kind]
    if kind in _COMPOUND and rest:
        return _COMPOUND[kind](name, rest)
    message = f"unknown serde {name!r}"
    near = did_you_mean(kind, [*_SIMPLE, *_COMPOUND], shown=str)
    raise UsageError(message, hint=f"{'' if near is None else near + ' '}Choose one of: {NAMES}.")


def _utf8(text: bytes) -> str:
    return text.decode()


def _boolean(text: bytes) -> bool:
    if text.lower() not in {b"true", b"false"}:
        raise ValueError("it is neither true nor false")
    return text.lower() == b"true"


def _nothing(text: bytes) -> None:
    if text:
        raise ValueError("it is not empty")


def _base64(text: bytes | str) -> bytes:
    return base64.b64decode(text, validate=True)


def _hex(text: bytes | str) -> bytes:
    return binascii.unhexlify(text)


def _read_only(text: Any) -> Any:
    raise ValueError("windowed keys can be read, not written")


def _list(name: str, inner: str) -> TextSerde:
    return TextSerde(name, serdes.list(text_serde(inner).serde), orjson.loads)


def _windowed(name: str, rest: str) -> TextSerde:
    inner, _, size = rest.rpartition(":")
    if not inner or not size.isdecimal():
        message = f"{name!r} does not say how long the windows are"
        raise UsageError(message, hint="Write it as windowed:INNER:SIZE_MS, for instance windowed:string:60000.")
    return TextSerde(name, serdes.windowed(text_serde(inner).serde, int(size)), _read_only, _read_only)


def _session_windowed(name: str, inner: str) -> TextSerde:
    return TextSerde(name, serdes.session_windowed(text_serde(inner).serde), _read_only, _read_only)


def _avro(name: str, file: str) -> TextSerde:
    try:
        schema = Path(file).read_text(encoding="utf-8")
    except FileNotFoundError as error:
        message = f"there is no schema file {file}"
        raise NotFoundError(message) from error
    return TextSerde(name, serdes.avro(schema), orjson.loads)


_SIMPLE = {
    serde.name: serde
    for serde in (
        TextSerde("string", serdes.string(), _utf8),
        TextSerde("bytes", serdes.bytes(), bytes, _base64),
        TextSerde("base64", serdes.bytes(), _base64, _base64, base64.b64encode),
        TextSerde("hex", serdes.bytes(), _hex, _hex, binascii.hexlify, bytes.hex),
        TextSerde("json", serdes.json(), orjson.loads, show=to_json),
        TextSerde("long", serdes.long(), int),
        TextSerde("integer", serdes.integer(), int),
        TextSerde("short", serdes.short(), int),
        TextSerde("double", serdes.double(), float),
        TextSerde("float", serdes.float(), float),
        TextSerde("boolean", serdes.boolean(), _boolean),
        TextSerde("uuid", serdes.uuid(), lambda text: UUID(text.decode()), lambda text: UUID(str(text))),
        TextSerde("void", serdes.void(), _nothing),
    )
}
_COMPOUND: dict[str, Callable[[str, str], TextSerde]] = {
    "list": _list,
    "windowed": _windowed,
    "session_windowed": _session_windowed,
    "avro": _avro,
}


_ESCAPE = re.compile(rb"\\(x[0-9a-fA-F]{2}|.)", re.DOTALL)
_LETTERS = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"0": b"\0", b"\\": b"\\"}


def unescaped(text: str) -> bytes:
    r"""The bytes that ``text`` stands for; an unknown escape stays as it is.

    >>> unescaped(r"a\tb\x00\q")
    b'a\tb\x00\\q'
    """
    return _ESCAPE.sub(_character, text.encode(errors="surrogateescape"))


def _character(found: re.Match[bytes]) -> bytes:
    if found[1].startswith(b"x") and len(found[1]) == 3:
        return bytes([int(found[1][1:], 16)])
    return _LETTERS.get(found[1], found[0])
