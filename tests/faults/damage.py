"""Ways to damage a file."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path


def flip(data: bytes, position: int) -> bytes:
    """The bytes with one bit turned; positions count bits."""
    damaged = bytearray(data)
    damaged[position // 8] ^= 1 << position % 8
    return bytes(damaged)


def positions(data: bytes, count: int, seed: int) -> Iterator[int]:
    """Random bits, and those of the first and the last bytes."""
    bits = len(data) * 8
    edges = [*range(min(bits, 64)), *range(max(0, bits - 64), bits)]
    generator = random.Random(seed)
    yield from edges
    yield from (generator.randrange(bits) for _ in range(max(0, count - len(edges))))


def cuts(data: bytes) -> Iterator[int]:
    """How many bytes of the end to take away: from 1 to 4096."""
    for size in (1, 2, 7, 16, 100, 512, 1000, 4095, 4096):
        if size <= len(data):
            yield size


def wal_of(broker_dir: Path) -> Path:
    """The write-ahead log of the catalog."""
    return broker_dir / "catalog.db-wal"
