"""The order in which Java's HashSet gives its elements: the buffer's changelog is written in that order."""

from __future__ import annotations

_FIRST_CAPACITY = 16


class HashOrderedSet:
    """A set of bytes that is read in the order of a Java ``HashSet<Bytes>``: by hash bucket, then by arrival.

    As in Java the table of buckets only ever grows; ``clear`` leaves it as large as it is.
    """

    __slots__ = ("_capacity", "_elements")

    remembered = ("_capacity",)

    def __init__(self) -> None:
        self._capacity = _FIRST_CAPACITY
        self._elements: dict[bytes, None] = {}

    def __len__(self) -> int:
        return len(self._elements)

    def add(self, element: bytes) -> None:
        self._elements[element] = None
        if len(self._elements) > self._capacity * 3 // 4:
            self._capacity *= 2

    def clear(self) -> None:
        self._elements.clear()

    def in_order(self) -> list[bytes]:
        """The elements as Java would iterate over them."""
        if len(self._elements) < 2:
            return list(self._elements)
        mask = self._capacity - 1
        return sorted(self._elements, key=lambda element: _spread_hash(element) & mask)


def _spread_hash(data: bytes) -> int:
    number = 1
    for byte in data:
        number = (31 * number + (byte - 256 if byte > 127 else byte)) & 0xFFFFFFFF
    return number ^ (number >> 16)
