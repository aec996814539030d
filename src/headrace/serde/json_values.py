"""The serde of JSON, and the serde made of two functions."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import orjson

from headrace.errors import SerializationError
from headrace.serde.contract import shorten, wrong_type


def json_bytes(value: Any) -> bytes:
    """Compact JSON, in no more memory than it has bytes.

    What orjson returns is a block of a kilobyte that was cut short: as long as it is kept, the rest is an unused hole.
    """
    return b"%b" % orjson.dumps(value)


@dataclass(frozen=True, slots=True)
class JsonSerde:
    """Dicts, lists, strings, numbers, booleans as compact JSON in UTF-8.

    Dataclasses, dates and UUIDs can be written; they come back as dicts and strings. NaN and the infinities,
    which JSON does not have, are written as null.
    """

    def __repr__(self) -> str:
        return "serdes.json()"

    def serialize(self, topic: str, value: Any) -> bytes | None:
        if value is None:
            return None
        try:
            data = json_bytes(value)
        except TypeError as error:
            message = f"json() cannot write a {type(value).__name__}: {error}"
            hint = "JSON has dicts with text keys, lists, text, 64-bit numbers and booleans; see also serdes.of()."
            raise SerializationError(message, detail=f"found {shorten(value)}", hint=hint) from error
        if b"null" in data and _has_no_number(value):
            hint = "JSON has no NaN and no infinity: leave it out, or write None."
            raise SerializationError(
                "json() cannot write a float that is no number", detail=f"found {shorten(value)}", hint=hint
            )
        return data

    def deserialize(self, topic: str, data: bytes | None) -> Any:
        if data is None:
            return None
        try:
            return orjson.loads(data)
        except orjson.JSONDecodeError as error:
            message = f"json() cannot read the bytes: {error}"
            hint = "Was the topic written with another serde?"
            raise SerializationError(message, detail=f"bytes {shorten(bytes(data))}", hint=hint) from error


@dataclass(frozen=True, slots=True)
class FunctionSerde:
    """A serde made of two functions, which see neither None nor the topic."""

    dumps: Callable[[Any], bytes]
    loads: Callable[[bytes], Any]

    def serialize(self, topic: str, value: Any) -> bytes | None:
        """``dumps(value)``; what it raises becomes the cause of a SerializationError."""
        if value is None:
            return None
        data = _call(self.dumps, value, "dumps", f"found {shorten(value)}")
        if not isinstance(data, bytes | bytearray):
            name = getattr(self.dumps, "__qualname__", repr(self.dumps))
            hint = f"Encode text in {name}: text.encode()."
            raise wrong_type("of()", "bytes from dumps", data, hint=hint)
        return bytes(data)

    def deserialize(self, topic: str, data: bytes | None) -> Any:
        """``loads(data)``; what it raises becomes the cause of a SerializationError."""
        return None if data is None else _call(self.loads, data, "loads", f"bytes {shorten(data)}")


def _call(function: Callable[[Any], Any], argument: Any, role: str, detail: str) -> Any:
    try:
        return function(argument)
    except SerializationError:
        raise
    except Exception as error:
        message = f"the serde's {role} raised {type(error).__name__}: {error}"
        raise SerializationError(message, detail=detail) from error


def _has_no_number(value: Any) -> bool:
    """Whether there is a NaN or an infinity in it, which would be read as null."""
    if isinstance(value, float):
        return not math.isfinite(value)
    if isinstance(value, dict):
        return any(map(_has_no_number, value.values()))
    return isinstance(value, list | tuple) and any(map(_has_no_number, value))
