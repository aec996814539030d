"""A dict whose keys are sorted at all times, for those who ask for the first ones after every change."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from typing import Any, Generic, TypeVar

K = TypeVar("K", bound=Any)
V = TypeVar("V")


class OrderedMap(Generic[K, V]):
    """Keys in order, with values. A scan goes on where it was when the map changes under it.

    >>> numbers = OrderedMap()
    >>> numbers.put(2, "two")
    >>> numbers.put(1, "one")
    >>> list(numbers.scan())
    [(1, 'one'), (2, 'two')]
    """

    __slots__ = ("_keys", "_values")

    def __init__(self) -> None:
        self._keys: list[K] = []
        self._values: dict[K, V] = {}

    def __len__(self) -> int:
        return len(self._keys)

    def get(self, key: K) -> V | None:
        """The value of ``key``."""
        return self._values.get(key)

    def put(self, key: K, value: V | None) -> None:
        """Set the value of ``key``; None removes it."""
        if value is None:
            self.pop(key)
            return
        if key not in self._values:
            self._keys.insert(bisect_left(self._keys, key), key)
        self._values[key] = value

    def pop(self, key: K) -> V | None:
        """Remove ``key``; returns its value."""
        value = self._values.pop(key, None)
        if value is not None:
            del self._keys[bisect_left(self._keys, key)]
        return value

    def first(self) -> tuple[K, V] | None:
        """The entry with the smallest key."""
        return (self._keys[0], self._values[self._keys[0]]) if self._keys else None

    def clear(self) -> None:
        """Remove everything."""
        self._keys.clear()
        self._values.clear()

    def scan(self, start: K | None = None, end: K | None = None) -> Iterator[tuple[K, V]]:
        """The entries with ``start <= key < end``, in order."""
        at = 0 if start is None else bisect_left(self._keys, start)
        while at < len(self._keys):
            key = self._keys[at]
            if end is not None and key >= end:
                return
            yield key, self._values[key]
            at = bisect_right(self._keys, key)
