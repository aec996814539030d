"""Which partition a key belongs to, and the hashes that say so.

A *partitioner* is a callable ``(topic, key, value, num_partitions)``. It answers with a partition, with several
(a copy goes to each), with none at all (the record is dropped), or with None: let the default decide.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, Protocol

_MASK_32 = 0xFFFFFFFF
_MASK_64 = 0xFFFFFFFFFFFFFFFF
_MURMUR3_SEED = 104729
"""The seed Kafka Streams hashes the left values of foreign-key joins with."""


class Partitioner(Protocol):
    """Chooses the partition of a record."""

    def __call__(self, topic: str, key: Any, value: Any, num_partitions: int, /) -> int | Iterable[int] | None:
        """One partition, several, none (drop), or None for the default."""


def default_partition(key: bytes, num_partitions: int) -> int:
    """The partition Kafka's producer gives to the key with these bytes.

    >>> default_partition(b"foobar", 10)
    6
    """
    return (murmur2(key) & 0x7FFFFFFF) % num_partitions


@lru_cache(maxsize=1 << 16)
def murmur2(data: bytes) -> int:
    """Kafka's 32-bit hash of ``data``, signed as in Java.

    >>> murmur2(b"21")
    -973932308
    """
    size = len(data)
    whole = size & ~3
    mixed = 0x9747B28C ^ size
    for block in struct.unpack_from(f"<{whole >> 2}I", data):
        block = block * 0x5BD1E995 & _MASK_32
        block = (block ^ block >> 24) * 0x5BD1E995 & _MASK_32
        mixed = (mixed * 0x5BD1E995 & _MASK_32) ^ block
    if whole != size:
        mixed = (mixed ^ int.from_bytes(data[whole:], "little")) * 0x5BD1E995 & _MASK_32
    mixed = (mixed ^ mixed >> 13) * 0x5BD1E995 & _MASK_32
    mixed ^= mixed >> 15
    return mixed - (1 << 32) if mixed >> 31 else mixed


def murmur3_128(data: bytes, seed: int = _MURMUR3_SEED) -> bytes:
    """The 16 bytes by which a foreign-key join recognises a left value: MurmurHash3 x64, 128 bits, big-endian."""
    size = len(data)
    whole = size & ~15
    low = high = seed
    blocks = iter(struct.unpack_from(f"<{whole >> 3}Q", data))
    for first, second in zip(blocks, blocks, strict=True):
        low = _rotate(low ^ _mix_first(first), 27) + high
        low = (low * 5 + 0x52DCE729) & _MASK_64
        high = _rotate(high ^ _mix_second(second), 31) + low
        high = (high * 5 + 0x38495AB5) & _MASK_64
    low ^= _mix_first(int.from_bytes(data[whole : whole + 8], "little")) ^ size
    high ^= _mix_second(int.from_bytes(data[whole + 8 :], "little")) ^ size
    low = low + high & _MASK_64
    high = high + low & _MASK_64
    low, high = _finish(low), _finish(high)
    low = low + high & _MASK_64
    return struct.pack(">QQ", low, high + low & _MASK_64)


def _mix_first(block: int) -> int:
    return _rotate(block * 0x87C37B91114253D5 & _MASK_64, 31) * 0x4CF5AD432745937F & _MASK_64


def _mix_second(block: int) -> int:
    return _rotate(block * 0x4CF5AD432745937F & _MASK_64, 33) * 0x87C37B91114253D5 & _MASK_64


def _rotate(number: int, bits: int) -> int:
    return (number << bits | number >> 64 - bits) & _MASK_64


def _finish(number: int) -> int:
    number = (number ^ number >> 33) * 0xFF51AFD7ED558CCD & _MASK_64
    number = (number ^ number >> 33) * 0xC4CEB9FE1A85EC53 & _MASK_64
    return number ^ number >> 33
