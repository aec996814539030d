"""A binary heap that breaks ties as ``java.util.PriorityQueue`` does.

Which of two records with the same timestamp is processed first is visible to users, so ties must fall as in
Kafka Streams. ``heapq`` sifts in another order and breaks them differently.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class PriorityQueue(Generic[T]):
    """The item with the smallest ``rank`` first. The rank of an item must not change while it is inside."""

    __slots__ = ("_rank", "items")

    def __init__(self, rank: Callable[[T], int]) -> None:
        self.items: list[T] = []
        self._rank = rank

    def __len__(self) -> int:
        return len(self.items)

    def peek(self) -> T | None:
        return self.items[0] if self.items else None

    def offer(self, item: T) -> None:
        items, rank = self.items, self._rank
        items.append(item)
        hole = len(items) - 1
        if hole == 0:
            return
        item_rank = rank(item)
        while hole > 0:
            parent = (hole - 1) >> 1
            if item_rank >= rank(items[parent]):
                break
            items[hole] = items[parent]
            hole = parent
        items[hole] = item

    def poll(self) -> T | None:
        if not self.items:
            return None
        first = self.items[0]
        last = self.items.pop()
        if self.items:
            self._sift_down(last)
        return first

    def clear(self) -> None:
        self.items.clear()

    def _sift_down(self, item: T) -> None:
        items, rank = self.items, self._rank
        size, item_rank = len(items), rank(item)
        hole = 0
        while hole < size >> 1:
            child = 2 * hole + 1
            if child + 1 < size and rank(items[child]) > rank(items[child + 1]):
                child += 1
            if item_rank <= rank(items[child]):
                break
            items[hole] = items[child]
            hole = child
        items[hole] = item
