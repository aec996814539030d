"""How a store keeps a value: as it is, with its timestamp in front, or with headers as well.

A codec knows three forms of a value: typed (what users see), stored (bytes in the store and its cache) and
logged (bytes, timestamp and headers of a changelog record).
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from headrace.records import NO_HEADERS, NO_TIMESTAMP, Headers, ValueAndTimestamp

if TYPE_CHECKING:
    from headrace.serde import Serde

_TIMESTAMP = struct.Struct(">q")
TIMESTAMP_SIZE = 8
NO_TIMESTAMP_BYTES = _TIMESTAMP.pack(NO_TIMESTAMP)

Dumps: TypeAlias = Callable[[Any], "bytes | None"]
Loads: TypeAlias = Callable[[bytes], Any]
Logged: TypeAlias = tuple["bytes | None", int, Headers]
"""``(value, timestamp, headers)`` of a changelog record."""


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

    def to_changelog(self, stored: bytes | None, current: Current) -> Logged:
        """What a changelog record says of a stored value; ``current`` is the record being processed."""

    def from_changelog(self, value: bytes | None, timestamp: int, headers: Headers) -> bytes | None:
        """The stored value that a changelog record stands for."""


class PlainCodec:
    """Values as their serde makes them; changelog records have the current record's time."""

    def bind(self, serde: Serde[Any], topic: str) -> tuple[Dumps, Loads]:
        """The serde's own methods."""
        return partial(serde.serialize, topic), partial(serde.deserialize, topic)

    def to_changelog(self, stored: bytes | None, current: Current) -> Logged:
        """The value as it is."""
        return stored, current.timestamp, NO_HEADERS

    def from_changelog(self, value: bytes | None, timestamp: int, headers: Headers) -> bytes | None:
        """The value as it is."""
        return value


class TimestampedCodec:
    """``ValueAndTimestamp``: eight bytes of time, then the value. The changelog has the bare value at that time."""

    def bind(self, serde: Serde[Any], topic: str) -> tuple[Dumps, Loads]:
        """The serde's methods, with the timestamp put in front and taken off."""
        serialize, deserialize = partial(serde.serialize, topic), partial(serde.deserialize, topic)
        pack, unpack = _TIMESTAMP.pack, _TIMESTAMP.unpack_from

        def dumps(value: ValueAndTimestamp) -> bytes | None:
            if value.value is None or (raw := serialize(value.value)) is None:
                return None
            return pack(value.timestamp) + raw

        def loads(data: bytes) -> ValueAndTimestamp | None:
            value = deserialize(data[TIMESTAMP_SIZE:])
            return None if value is None else ValueAndTimestamp(value, unpack(data)[0])

        return dumps, loads

    def to_changelog(self, stored: bytes | None, current: Current) -> Logged:
        """The bare value at its own time; a tombstone at the time of the current record."""
        if stored is None:
            return None, current.timestamp, NO_HEADERS
        return stored[TIMESTAMP_SIZE:], _TIMESTAMP.unpack_from(stored)[0], NO_HEADERS

    def from_changelog(self, value: bytes | None, timestamp: int, headers: Headers) -> bytes | None:
        """The record's time in front of its value."""
        return None if value is None else _TIMESTAMP.pack(timestamp) + value


PLAIN = PlainCodec()
TIMESTAMPED = TimestampedCodec()
