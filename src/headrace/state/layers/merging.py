"""The cache and the store beneath it as one iterator. Its oddities are Kafka Streams'."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar

from headrace.state.cache import CacheEntry
from headrace.state.contracts import StoreIterator

K = TypeVar("K")
T = TypeVar("T")

Cached = Iterator[tuple[bytes, CacheEntry]]


class Order(Generic[K]):
    """How keys of the cache and of the store beneath compare, and how the former become the latter."""

    __slots__ = ("cache_rank", "of_one_key", "store_rank", "to_key")

    def __init__(
        self,
        cache_rank: Callable[[bytes], Any],
        store_rank: Callable[[K], Any],
        to_key: Callable[[bytes], K],
        *,
        of_one_key: bool = False,
    ) -> None:
        self.cache_rank = cache_rank
        self.store_rank = store_rank
        self.to_key = to_key
        self.of_one_key = of_one_key


def same(key: Any) -> Any:
    return key


class _Lookahead(Generic[T]):
    """An iterator whose next item can be looked at before it is taken; it is fetched only then."""

    __slots__ = ("_items", "_next")

    def __init__(self, items: Iterator[T]) -> None:
        self._items = items
        self._next: T | None = None

    def peek(self) -> T | None:
        """The next item; None at the end."""
        if self._next is None:
            self._next = next(self._items, None)
        return self._next

    def pop(self) -> None:
        self.peek()
        self._next = None


def merged(cached: Cached, beneath: StoreIterator[K, bytes], order: Order[K], forward: bool) -> StoreIterator[K, bytes]:
    """The entries of the cache and of the store beneath as one; the cache's win."""
    return StoreIterator(_merge(_Lookahead(cached), _Lookahead(beneath), order, forward), beneath.close)


def _merge(
    cached: _Lookahead[tuple[bytes, CacheEntry]], beneath: _Lookahead[tuple[K, bytes]], order: Order[K], forward: bool
) -> Iterator[tuple[K, Any]]:
    # The windows of one key are exact backward, too: sliding windows are computed from them.
    mistakes_tombstones = not forward and not order.of_one_key
    while True:
        if mistakes_tombstones:
            _skip_tombstones(cached, beneath, order)
        ours, theirs = cached.peek(), beneath.peek()
        if ours is None and theirs is None:
            return
        if ours is not None and theirs is not None:
            rank, other = order.cache_rank(ours[0]), order.store_rank(theirs[0])
            if rank == other:
                beneath.pop()
            elif (rank > other) is forward:
                ours = None
        if ours is not None:
            cached.pop()
            if ours[1].value is not None or mistakes_tombstones:
                yield order.to_key(ours[0]), ours[1].value
        elif theirs is not None:
            beneath.pop()
            yield theirs


def _skip_tombstones(
    cached: _Lookahead[tuple[bytes, CacheEntry]], beneath: _Lookahead[tuple[K, bytes]], order: Order[K]
) -> None:
    # Kafka Streams compares here as if every iterator went forward. Backward, a tombstone is therefore lost (and the
    # entry it deletes shows) when the store's next key is greater, and shows up itself, with the value None, when it
    # is smaller.
    while (ours := cached.peek()) is not None and ours[1].value is None:
        theirs = beneath.peek()
        if theirs is not None:
            rank, other = order.cache_rank(ours[0]), order.store_rank(theirs[0])
            if rank > other:
                return
            if rank == other:
                beneath.pop()
        cached.pop()
