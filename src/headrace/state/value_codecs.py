"""How a store keeps a value: as it is, with its timestamp in front, or with headers as well.

A codec knows three forms of a value: typed (what users see), stored (bytes in the store and its cache) and
logged (bytes, timestamp and headers of a changelog record).
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from headrace.errors import UnreadableStateError
from headrace.records import NO_HEADERS, NO_TIMESTAMP, Headers, ValueAndTimestamp
from headrace.serde.primitives import IntegerSerde
from headrace.state.contracts import ChangeLogger

if TYPE_CHECKING:
    from headrace.serde import Serde

_TIMESTAMP = struct.Struct(">q")
_TIMESTAMP_AND_LONG = struct.Struct(">qq")
_MIN_LONG, _MAX_LONG = -(2**63), 2**63 - 1
TIMESTAMP_SIZE = 8
NO_TIMESTAMP_BYTES = _TIMESTAMP.pack(NO_TIMESTAMP)

Dumps: TypeAlias = Callable[[Any], "bytes | None"]
Loads: TypeAlias = Callable[[bytes], Any]
ChangeWriter: TypeAlias = Callable[[bytes, "bytes | None"], None]
"""Writes a key and its stored value to a changelog."""


class Current(Protocol):
    """Time and headers of the record being processed; a context has them, or a ``RecordContext``."""

    @property
    def timestamp(self) -> int:
        """Its time."""

    @property
    def headers(self) -> Headers:
        """Its headers."""


class ValueCodec(Protocol):
    """The three forms of a store's values."""

    def bind(self, serde: Serde[Any], topic: str) -> tuple[Dumps, Loads]:
        """The ways from a typed value (never None) to the stored one, and back."""

    def change_writer(self, append: ChangeLogger, current: Current) -> ChangeWriter:
        """What appends a key and its stored value to the changelog; ``current`` is the record being processed."""

    def from_changelog(self, value: bytes | None, timestamp: int, headers: Headers) -> bytes | None:
        """The stored value that a changelog record stands for."""


def reader(serde: Serde[Any], topic: str) -> Loads:
    """The way back for what the store itself wrote: where that fails no record is to blame, and no handler is asked."""
    deserialize = serde.deserialize

    def read(data: bytes) -> Any:
        try:
            return deserialize(topic, data)
        except Exception as error:
            message = f"what {topic} holds cannot be read: {getattr(error, 'message', error)}"
            hint = "Give the store the serde it was written with, or reset the application."
            raise UnreadableStateError(message, detail=getattr(error, "detail", None), hint=hint) from error

    return read


class PlainCodec:
    """Values as their serde makes them; changelog records have the current record's time."""

    def bind(self, serde: Serde[Any], topic: str) -> tuple[Dumps, Loads]:
        """The serde's own methods."""
        return partial(serde.serialize, topic), reader(serde, topic)

    def change_writer(self, append: ChangeLogger, current: Current) -> ChangeWriter:
        """The value as it is."""
        return lambda key, stored: append(key, stored, current.timestamp, NO_HEADERS)

    def from_changelog(self, value: bytes | None, timestamp: int, headers: Headers) -> bytes | None:
        """The value as it is."""
        return value


class TimestampedCodec:
    """``ValueAndTimestamp``: eight bytes of time, then the value. The changelog has the bare value at that time."""

    def bind(self, serde: Serde[Any], topic: str) -> tuple[Dumps, Loads]:
        """The serde's methods, with the timestamp put in front and taken off."""
        serialize, deserialize = partial(serde.serialize, topic), reader(serde, topic)
        if isinstance(serde, IntegerSerde) and serde.fixed_size == TIMESTAMP_SIZE:
            return _timestamped_long(serialize, deserialize)
        pack, unpack = _TIMESTAMP.pack, _TIMESTAMP.unpack_from

        def dumps(value: ValueAndTimestamp) -> bytes | None:
            if value.value is None or (raw := serialize(value.value)) is None:
                return None
            return pack(value.timestamp) + raw

        def loads(data: bytes) -> ValueAndTimestamp | None:
            value = deserialize(data[TIMESTAMP_SIZE:])
            return None if value is None else ValueAndTimestamp(value, unpack(data)[0])

        return dumps, loads

    def change_writer(self, append: ChangeLogger, current: Current) -> ChangeWriter:
        """The bare value at its own time; a tombstone at the time of the current record."""
        unpack = _TIMESTAMP.unpack_from

        def write(key: bytes, stored: bytes | None) -> None:
            if stored is None:
                append(key, None, current.timestamp, NO_HEADERS)
            else:
                append(key, stored[TIMESTAMP_SIZE:], unpack(stored)[0], NO_HEADERS)

        return write

    def from_changelog(self, value: bytes | None, timestamp: int, headers: Headers) -> bytes | None:
        """The record's time in front of its value."""
        return None if value is None else _TIMESTAMP.pack(timestamp) + value


def _timestamped_long(serialize: Dumps, deserialize: Loads) -> tuple[Dumps, Loads]:
    """The same for counts, packed and unpacked in one go. What is out of the ordinary goes to the serde."""
    pack, unpack = _TIMESTAMP_AND_LONG.pack, _TIMESTAMP_AND_LONG.unpack

    def dumps(value: ValueAndTimestamp) -> bytes | None:
        number, timestamp = value.value, value.timestamp
        if type(number) is int and _MIN_LONG <= number <= _MAX_LONG:
            return pack(timestamp, number)
        raw = None if number is None else serialize(number)
        return None if raw is None else _TIMESTAMP.pack(timestamp) + raw

    def loads(data: bytes) -> ValueAndTimestamp | None:
        if len(data) != _TIMESTAMP_AND_LONG.size:
            return deserialize(data[TIMESTAMP_SIZE:])  # type: ignore[no-any-return]
        timestamp, number = unpack(data)
        return ValueAndTimestamp(number, timestamp)

    return dumps, loads


PLAIN = PlainCodec()
TIMESTAMPED = TimestampedCodec()
