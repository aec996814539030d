"""The text a task commits beside its offsets: partition time, and the numbers its nodes want kept.

Kafka Streams' own format: Base64 of a version byte, the partition time and counted, length-prefixed names with a long.
"""

from __future__ import annotations

import base64
import binascii
import struct
from collections.abc import Mapping

from headrace.records import NO_TIMESTAMP

BATCH = "headrace.batch"
"""Under this name stands which batch committed the offset."""
_VERSION = 2
_VERSIONS = (1, _VERSION)
"""Those that Kafka Streams reads; the first has no numbers."""
_HEAD = struct.Struct(">bq")
_COUNT = struct.Struct(">i")
_LONG = struct.Struct(">q")


def encode(partition_time: int, numbers: Mapping[str, int]) -> str:
    """As text for the offset's metadata."""
    parts = [_HEAD.pack(_VERSION, partition_time)]
    if numbers:
        parts.append(_COUNT.pack(len(numbers)))
    for name, number in numbers.items():
        name_bytes = name.encode()
        parts += [_COUNT.pack(len(name_bytes)), name_bytes, _LONG.pack(number)]
    return base64.b64encode(b"".join(parts)).decode()


def is_known(text: str) -> bool:
    """Whether the text is of this format: that of an application, in Java or here.

    >>> is_known(encode(5, {})), is_known(""), is_known("by hand")
    (True, False, False)
    """
    try:
        return bool(_HEAD.unpack_from(base64.b64decode(text, validate=True))[0] in _VERSIONS)
    except (binascii.Error, struct.error, ValueError):
        return False


def with_number(text: str, name: str, number: int) -> str:
    """The same with one number more, or with another value of it.

    >>> decode(with_number(encode(5, {"a": 1}), "b", 2))
    (5, {'a': 1, 'b': 2})
    """
    partition_time, numbers = decode(text)
    return encode(partition_time, {**numbers, name: number})


def decode(text: str) -> tuple[int, dict[str, int]]:
    """``(partition time, numbers)``; unknown time and no numbers where the text is not ours."""
    try:
        data = base64.b64decode(text, validate=True)
        version, partition_time = _HEAD.unpack_from(data)
        has_numbers = version == _VERSION and len(data) > _HEAD.size
        return partition_time, _numbers(data) if has_numbers else {}
    except (binascii.Error, struct.error, UnicodeDecodeError):
        return NO_TIMESTAMP, {}


def _numbers(data: bytes) -> dict[str, int]:
    numbers: dict[str, int] = {}
    position = _HEAD.size
    (count,) = _COUNT.unpack_from(data, position)
    position += _COUNT.size
    for _ in range(count):
        (length,) = _COUNT.unpack_from(data, position)
        position += _COUNT.size
        name = data[position : position + length].decode()
        position += length
        (numbers[name],) = _LONG.unpack_from(data, position)
        position += _LONG.size
    return numbers
