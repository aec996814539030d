"""A dict whose keys are always sorted; good where the first ones are read after every change."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from typing import Any, Generic, TypeVar

K = TypeVar("K", bound=Any)
V = TypeVar("V")

_MANY = 1024


class OrderedMap(Generic[K, V]):
    """Keys in order, with values. A scan goes on where it was when the map changes under it.

    Taking out the first key is cheap however many follow.

    >>> numbers = OrderedMap()
    >>> numbers.put(2, "two")
    >>> numbers.put(1, "one")
    >>> list(numbers.scan())
    [(1, 'one'), (2, 'two')]
    """

    __slots__ = ("_head", "_keys", "_values")

    def __init__(self) -> None:
        self._keys: list[K] = []
        # Keys before this place have been taken out; they leave the list many at a time.
        self._head = 0
        self._values: dict[K, V] = {}

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: K) -> V | None:
        return self._values.get(key)

    def put(self, key: K, value: V | None) -> None:
        """Set the value of ``key``; None removes it."""
        if value is None:
            self.pop(key)
            return
        if key not in self._values:
            self._keys.insert(bisect_left(self._keys, key, self._head), key)
        self._values[key] = value

    def pop(self, key: K) -> V | None:
        """Remove ``key``; returns its value."""
        value = self._values.pop(key, None)
        if value is not None:
            at = bisect_left(self._keys, key, self._head)
            if at > self._head:
                del self._keys[at]
            else:
                self._take_first()
        return value

    def first(self) -> tuple[K, V] | None:
        """The entry with the smallest key."""
        if not self._values:
            return None
        key = self._keys[self._head]
        return key, self._values[key]

    def clear(self) -> None:
        self._keys.clear()
        self._head = 0
        self._values.clear()

    def scan(self, start: K | None = None, end: K | None = None) -> Iterator[tuple[K, V]]:
        """The entries with ``start <= key < end``, in order."""
        at = self._head if start is None else bisect_left(self._keys, start, self._head)
        while at < len(self._keys):
            key = self._keys[at]
            if end is not None and key >= end:
                return
            yield key, self._values[key]
            at = bisect_right(self._keys, key, self._head)

    def _take_first(self) -> None:
        self._head += 1
        if self._head >= _MANY and self._head * 2 > len(self._keys):
            del self._keys[: self._head]
            self._head = 0
