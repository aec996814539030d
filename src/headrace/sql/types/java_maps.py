"""The order in which Java's HashMap iterates, where a query can see it.

A map is a ``dict`` in the order of insertion. ksqlDB makes its maps with room for the entries they will hold, so the
order follows from the keys; where it makes them otherwise, a ``SizedMap`` says with how much room.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

from headrace.sql.types.utf16 import units

DEFAULT_CAPACITY = 16


class SizedMap(dict[Any, Any]):
    """A map that was made with room for another number of entries than it holds."""

    capacity = DEFAULT_CAPACITY


def hash_order(entries: dict[Any, Any]) -> list[tuple[Any, Any]]:
    """The entries in the order of a HashMap.

    >>> hash_order({"foo": 1, "bar": 2, "baz": 3})
    [('bar', 2), ('baz', 3), ('foo', 1)]
    """
    if len(entries) < 2:
        return list(entries.items())
    room = entries.capacity if isinstance(entries, SizedMap) else len(entries)
    mask = _table_size(room, len(entries)) - 1
    return sorted(entries.items(), key=lambda entry: _spread(java_hash(entry[0])) & mask)


def _table_size(capacity: int, size: int) -> int:
    """How many buckets there are after ``size`` entries were put."""
    buckets = 1
    while buckets < capacity:
        buckets *= 2
    while size > buckets * 0.75:
        buckets *= 2
    return buckets


def _spread(code: int) -> int:
    return code ^ code >> 16


def java_hash(value: Any) -> int:
    """Java's ``hashCode`` of a value, as an unsigned 32-bit number.

    >>> java_hash("ab"), java_hash(7), java_hash(None)
    (3105, 7, 0)
    """
    if value is None:
        return 0
    if isinstance(value, str):
        return _polynomial(map(ord, units(value)), 0)
    if isinstance(value, bool):
        return 1231 if value else 1237
    if isinstance(value, int):
        return value & 0xFFFFFFFF if -(2**31) <= value < 2**31 else _folded(value)
    if isinstance(value, float):
        return _folded(int.from_bytes(struct.pack(">d", value), "big"))
    return _hash_of_parts(value)


def _hash_of_parts(value: Any) -> int:
    if isinstance(value, bytes):  # ByteBuffer hashes from its end
        return _polynomial((byte - 256 if byte > 127 else byte for byte in reversed(value)), 1)
    if isinstance(value, Decimal):
        sign, digits, exponent = value.as_tuple()
        magnitude = _polynomial(_words(int("".join(map(str, digits)) or "0")), 0)
        return (31 * (-magnitude if sign else magnitude) - int(exponent)) & 0xFFFFFFFF
    if isinstance(value, dict):
        return sum(java_hash(key) ^ java_hash(item) for key, item in value.items()) & 0xFFFFFFFF
    return _polynomial(map(java_hash, value), 1)


def _words(magnitude: int) -> list[int]:
    words = []
    while magnitude:
        words.append(magnitude & 0xFFFFFFFF)
        magnitude >>= 32
    return words[::-1]


def _folded(value: int) -> int:
    value &= 0xFFFFFFFFFFFFFFFF
    return (value ^ value >> 32) & 0xFFFFFFFF


def _polynomial(codes: Iterable[int], start: int) -> int:
    code = start
    for item in codes:
        code = (31 * code + item) & 0xFFFFFFFF
    return code
