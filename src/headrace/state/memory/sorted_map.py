"""A dict that can also be read in the order of its keys; good where that is rare."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator
from typing import Any, Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")

_FEW = 16


class SortedMap(Generic[K, V]):
    """Keys to values; in order on request.

    Nothing is sorted before the first ``keys``. From then on new and removed keys are noted, and worked into the
    sorted list when it is asked for again: one by one if they are few, by sorting if they are many.

    >>> numbers = SortedMap()
    >>> numbers.put(2, "b")
    >>> numbers.put(1, "a")
    >>> list(numbers.keys(None, None))
    [1, 2]
    """

    __slots__ = ("_added", "_removed", "_sorted", "entries")

    def __init__(self) -> None:
        self.entries: dict[K, V] = {}
        """For reading, and for new values of keys that are there; ``put`` and ``remove`` keep the order."""
        # The other two are there once it is: many a map is never read in order.
        self._sorted: list[Any] | None = None
        self._added: set[K]
        self._removed: set[K]

    def __len__(self) -> int:
        return len(self.entries)

    def put(self, key: K, value: V) -> None:
        if self._sorted is not None and key not in self.entries:
            if key in self._removed:
                self._removed.discard(key)
            else:
                self._added.add(key)
        self.entries[key] = value

    def remove(self, key: K) -> V | None:
        value = self.entries.pop(key, None)
        if value is not None and self._sorted is not None:
            if key in self._added:
                self._added.discard(key)
            else:
                self._removed.add(key)
        return value

    def clear(self) -> None:
        self.entries.clear()
        self._sorted = None

    def keys(self, first: K | None, last: K | None, *, forward: bool = True) -> list[K]:
        """The keys from ``first`` to ``last``, both included, as they are now; None leaves an end open."""
        ordered = self._ordered()
        low = 0 if first is None else bisect_left(ordered, first)
        high = len(ordered) if last is None else bisect_right(ordered, last)
        found = ordered[low:high]
        if not forward:
            found.reverse()
        return found

    def first(self, least: K) -> K | None:
        """The first key that is not below ``least``; None where there is none."""
        ordered = self._ordered()
        at = bisect_left(ordered, least)
        return ordered[at] if at < len(ordered) else None

    def items(self, first: K | None, last: K | None, *, forward: bool = True) -> Iterator[tuple[K, V]]:
        """Keys and values in order; a value is read when its turn comes, keys removed by then are left out."""
        entries = self.entries
        for key in self.keys(first, last, forward=forward):
            value = entries.get(key)
            if value is not None:
                yield key, value

    def _ordered(self) -> list[Any]:
        if self._sorted is None:
            self._added, self._removed = set(), set()
            self._sorted = sorted(self.entries)
            return self._sorted
        if self._removed:
            self._take_out(self._sorted)
        if self._added:
            self._work_in(self._sorted)
        return self._sorted

    def _take_out(self, ordered: list[Any]) -> None:
        if len(self._removed) <= _FEW:
            for key in self._removed:
                del ordered[bisect_left(ordered, key)]
        else:
            ordered[:] = [key for key in ordered if key not in self._removed]
        self._removed.clear()

    def _work_in(self, ordered: list[Any]) -> None:
        if len(self._added) <= _FEW:
            for key in self._added:
                insort(ordered, key)
        else:
            ordered.extend(self._added)
            ordered.sort()
        self._added.clear()
