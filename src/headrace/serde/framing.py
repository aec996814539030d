"""Confluent's wire format: a zero byte, the schema's id in four bytes, then the data.

Protobuf data is preceded by *message indexes*, the way to the message type inside its file.
"""

from __future__ import annotations

import struct

from headrace.errors import SerializationError
from headrace.serde.contract import OTHER_SERDE, shorten
from headrace.serde.varint import read_varint, write_varint

_PREFIX = struct.Struct(">bI")
_MAGIC = 0


def frame(schema_id: int, payload: bytes) -> bytes:
    """``payload`` behind the prefix that names its schema."""
    return _PREFIX.pack(_MAGIC, schema_id) + payload


def unframe(data: bytes) -> tuple[int, bytes]:
    """``(schema id, payload)`` of framed data."""
    if len(data) < _PREFIX.size or data[0] != _MAGIC:
        message = f"expected data that begins with a zero byte and a schema id, found {shorten(bytes(data))}"
        raise SerializationError(message, hint="Was the topic written without a schema registry? Then give none.")
    return _PREFIX.unpack_from(data)[1], data[_PREFIX.size :]


def write_message_indexes(indexes: tuple[int, ...]) -> bytes:
    """The way to a message type; the first type of a file, by far the most frequent, takes a single zero."""
    if indexes == (0,):
        return b"\x00"
    return write_varint(len(indexes)) + b"".join(map(write_varint, indexes))


def read_message_indexes(data: bytes) -> tuple[tuple[int, ...], bytes]:
    try:
        count, position = read_varint(data)
        indexes = []
        for _ in range(count):
            index, position = read_varint(data, position)
            indexes.append(index)
    except ValueError as error:
        message = f"expected the message indexes of a Protobuf record, found {shorten(bytes(data))}"
        raise SerializationError(message, hint=OTHER_SERDE) from error
    return tuple(indexes) or (0,), data[position:]
