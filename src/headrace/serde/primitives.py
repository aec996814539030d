"""Serdes of single values, byte for byte those of Kafka's clients."""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass
from numbers import Real
from typing import Any
from uuid import UUID

from headrace.errors import SerializationError
from headrace.serde.contract import OTHER_SERDE, shorten, wrong_length, wrong_type

_CANONICAL_NAN = b"\x7f\xf8\x00\x00\x00\x00\x00\x00"
_JAVA_UUID = re.compile(r"([0-9a-fA-F]{1,16})-" * 4 + r"([0-9a-fA-F]{1,16})", re.ASCII)
_UUID_TEXT_SIZE = 36
_INTEGERS = {size: struct.Struct(code) for size, code in ((2, ">h"), (4, ">i"), (8, ">q"))}
_FLOATS = {size: struct.Struct(code) for size, code in ((4, ">f"), (8, ">d"))}


class _Named:
    __slots__ = ()
    name: str

    def __repr__(self) -> str:
        return f"serdes.{self.name}"


@dataclass(frozen=True, slots=True, repr=False)
class StringSerde(_Named):
    """Text as UTF-8. As in Kafka, bytes that are no UTF-8 are read as U+FFFD and never an error."""

    name = "string()"

    def serialize(self, topic: str, value: str | None) -> bytes | None:
        if value is None:
            return None
        if not isinstance(value, str):
            raise wrong_type(self.name, "str", value)
        try:
            return value.encode()
        except UnicodeEncodeError:
            return value.encode("utf-8", "replace")

    def deserialize(self, topic: str, data: bytes | None) -> str | None:
        if data is None:
            return None
        try:
            return data.decode()
        except UnicodeDecodeError:
            return data.decode("utf-8", "replace")


@dataclass(frozen=True, slots=True, repr=False)
class IntegerSerde(_Named):
    """Whole numbers of a fixed number of bytes: big-endian two's complement."""

    name: str
    fixed_size: int

    def serialize(self, topic: str, value: int | None) -> bytes | None:
        """``value`` in ``fixed_size`` bytes; a number that does not fit is an error."""
        if value is None:
            return None
        if type(value) is int:
            try:
                return _INTEGERS[self.fixed_size].pack(value)
            except struct.error:
                raise self._out_of_range(value) from None
        return self._serialize_index(topic, value)

    def deserialize(self, topic: str, data: bytes | None) -> int | None:
        if data is None:
            return None
        if len(data) != self.fixed_size:
            raise wrong_length(self.name, self.fixed_size, data)
        number: int = _INTEGERS[self.fixed_size].unpack(data)[0]
        return number

    def _serialize_index(self, topic: str, value: Any) -> bytes | None:
        # NumPy's integers and others that count as one; bool counts as int in Python, not in Kafka.
        if isinstance(value, bool) or not hasattr(value, "__index__"):
            raise wrong_type(self.name, "int", value)
        return self.serialize(topic, int(value))

    def _out_of_range(self, value: int) -> SerializationError:
        limit = 1 << (8 * self.fixed_size - 1)
        message = f"{self.name} expected an int from {-limit} to {limit - 1}, found {shorten(value)}"
        wider = {"short": "serdes.integer() or serdes.long()", "integer": "serdes.long()"}.get(
            self.name, "serdes.json()"
        )
        return SerializationError(message, hint=f"For larger numbers use {wider}.")


@dataclass(frozen=True, slots=True, repr=False)
class FloatingSerde(_Named):
    """Floating-point numbers in 8 bytes, every NaN as the same one as in Kafka, or the nearest in 4 bytes."""

    name: str
    fixed_size: int

    def serialize(self, topic: str, value: float | None) -> bytes | None:
        if value is None:
            return None
        if type(value) is not float:
            value = _as_float(self.name, value)
        if value != value and self.fixed_size == len(_CANONICAL_NAN):
            return _CANONICAL_NAN
        try:
            return _FLOATS[self.fixed_size].pack(value)
        except OverflowError:
            raise _too_large(self.name, value, "serdes.double()") from None

    def deserialize(self, topic: str, data: bytes | None) -> float | None:
        if data is None:
            return None
        if len(data) != self.fixed_size:
            raise wrong_length(self.name, self.fixed_size, data)
        number: float = _FLOATS[self.fixed_size].unpack(data)[0]
        return number


def _as_float(serde: str, value: Any) -> float:
    # Whole numbers and NumPy's count as float, as everywhere in Python; booleans and decimals do not.
    if isinstance(value, bool) or not isinstance(value, Real):
        raise wrong_type(serde, "float", value)
    try:
        return float(value)
    except OverflowError:
        raise _too_large(serde, value, "serdes.json() or serdes.of(dumps, loads)") from None


def _too_large(serde: str, value: Any, wider: str) -> SerializationError:
    message = f"{serde} cannot hold {shorten(value)}: it is too large"
    return SerializationError(message, hint=f"Use {wider}.")


@dataclass(frozen=True, slots=True, repr=False)
class BytesSerde(_Named):
    """Bytes as they are."""

    name = "bytes()"

    def serialize(self, topic: str, value: bytes | bytearray | memoryview | None) -> bytes | None:
        """``value`` itself; a copy when it could still change."""
        if value is None or type(value) is bytes:
            return value
        if isinstance(value, bytes | bytearray | memoryview):
            return bytes(value)
        raise wrong_type(self.name, "bytes", value)

    def deserialize(self, topic: str, data: bytes | None) -> bytes | None:
        return data


@dataclass(frozen=True, slots=True, repr=False)
class BooleanSerde(_Named):
    """True and False in one byte, 1 and 0."""

    name = "boolean()"

    def serialize(self, topic: str, value: bool | None) -> bytes | None:
        if value is None:
            return None
        if isinstance(value, bool):
            return b"\x01" if value else b"\x00"
        raise wrong_type(self.name, "bool", value)

    def deserialize(self, topic: str, data: bytes | None) -> bool | None:
        """True for 1, False for 0; any other byte is an error."""
        if data is None:
            return None
        if len(data) != 1:
            raise wrong_length(self.name, 1, data)
        if data[0] > 1:
            message = f"boolean() expected the byte 0 or 1, found {data[0]}"
            raise SerializationError(message, hint=OTHER_SERDE)
        return data[0] == 1


@dataclass(frozen=True, slots=True, repr=False)
class UuidSerde(_Named):
    """``uuid.UUID`` as its text of 36 characters."""

    fixed_size = _UUID_TEXT_SIZE
    name = "uuid()"

    def serialize(self, topic: str, value: UUID | None) -> bytes | None:
        if value is None:
            return None
        if isinstance(value, UUID):
            return str(value).encode()
        raise wrong_type(self.name, "uuid.UUID", value, hint="Make one with uuid.UUID(text).")

    def deserialize(self, topic: str, data: bytes | None) -> UUID | None:
        """The UUID that ``data`` spells. As in Java, leading zeros of a group may be missing."""
        if data is None:
            return None
        groups = _JAVA_UUID.fullmatch(str(data, "utf-8", "replace")) if len(data) <= _UUID_TEXT_SIZE else None
        if groups is None:
            message = f"uuid() expected a UUID as text, found {shorten(bytes(data))}"
            raise SerializationError(message, hint=OTHER_SERDE)
        return UUID(fields=_uuid_fields([int(group, 16) for group in groups.groups()]))


def _uuid_fields(groups: list[int]) -> tuple[int, int, int, int, int, int]:
    low, mid, high, clock, node = groups
    return low & 0xFFFFFFFF, mid & 0xFFFF, high & 0xFFFF, clock >> 8 & 0xFF, clock & 0xFF, node & 0xFFFFFFFFFFFF


@dataclass(frozen=True, slots=True, repr=False)
class VoidSerde(_Named):
    """For keys or values that are always None."""

    name = "void()"

    def serialize(self, topic: str, value: None) -> None:
        """None; anything else is an error."""
        if value is not None:
            raise wrong_type(self.name, "None", value)

    def deserialize(self, topic: str, data: bytes | None) -> None:
        """None; any bytes are an error."""
        if data is not None:
            message = f"void() expected no bytes, found {shorten(bytes(data))}"
            raise SerializationError(message, hint="Give the topic the serde it was written with.")
