"""What a serde is, and the errors all serdes raise alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, Protocol, TypeAlias, runtime_checkable

from headrace.errors import SerializationError, WrongTypeError
from headrace.type_variables import T, Written


@runtime_checkable
class Serde(Protocol[T]):
    """Turns values into bytes and back; any object with these two methods is one.

    None stands for Kafka's null on both sides: ``serialize`` gives None for None and so does ``deserialize``.
    ``topic`` is the topic the bytes belong to; most serdes do not look at it.
    """

    def serialize(self, topic: str, value: T | None) -> bytes | None:
        """The bytes of ``value``. Raises SerializationError when it cannot be written."""

    def deserialize(self, topic: str, data: bytes | None) -> T | None:
        """The value of ``data``. Raises SerializationError when the bytes make no sense."""


class Writes(Protocol[Written]):
    """A serde that can at least write ``Written``."""

    def serialize(self, topic: str, value: Written | None) -> bytes | None: ...

    def deserialize(self, topic: str, data: bytes | None) -> Any: ...


SerdeName: TypeAlias = Literal[
    "boolean",
    "bytes",
    "double",
    "float",
    "integer",
    "json",
    "list",
    "long",
    "session_windowed",
    "short",
    "string",
    "uuid",
    "void",
]
"""The serdes that a name alone says enough of."""

GivenSerde: TypeAlias = Serde[T] | Callable[[], Serde[T]] | SerdeName
"""A serde as an argument: an object, its class or function without the call, or a name as in the configuration."""

SerdeFor: TypeAlias = Writes[Written] | Callable[[], Writes[Written]] | SerdeName
"""The same where any serde does that can at least write ``Written``."""


OTHER_SERDE = "Was the topic written with another serde?"
"""What to ask first where bytes make no sense."""


def wrong_type(serde: str, expected: str, value: Any, *, hint: str | None = None) -> WrongTypeError:
    """The error of ``serde`` when asked to write a ``value`` that is not ``expected``."""
    found = type(value).__name__
    message = f"{serde} expected {expected}, found {found}"
    return WrongTypeError(message, detail=f"found {shorten(value)}", hint=hint or _serde_hint(found))


def wrong_length(serde: str, expected: int, data: bytes) -> SerializationError:
    """The error of ``serde`` when asked to read ``data`` that does not have ``expected`` bytes."""
    message = f"{serde} expected {expected} byte{'s' if expected != 1 else ''}, found {len(data)}"
    return SerializationError(message, detail=f"bytes {shorten(bytes(data))}", hint=OTHER_SERDE)


def shorten(value: Any, limit: int = 80) -> str:
    """``repr(value)``, cut where it gets long."""
    return shorten_text(repr(value), limit)


def shorten_text(text: str, limit: int = 200) -> str:
    """``text``, cut where it gets long."""
    return text if len(text) <= limit else f"{text[:limit]}…"


_SERDE_OF = {
    "str": "string()",
    "int": "long()",
    "float": "double()",
    "bool": "boolean()",
    "bytes": "bytes()",
    "UUID": "uuid()",
    "list": "json() or serdes.list(inner)",
    "dict": "json()",
    "Windowed": "windowed(inner, size) or serdes.session_windowed(inner)",
}


def _serde_hint(found: str) -> str:
    if found == "generator":
        return "A function with yield gives many values: use flat_map or flat_map_values for it."
    fitting = _SERDE_OF.get(found)
    if fitting is None:
        return (
            "Give the operator or topic the key_serde or value_serde that writes this type, or set the default serde."
        )
    return f"Give the operator or topic the serde that writes {found}: serdes.{fitting}; or set the default serde."
