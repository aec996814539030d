"""The cache and the store beneath it as one iterator. Its oddities are Kafka Streams'."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar

from headrace.state.bytes_stores import Entries
from headrace.state.cache import CacheEntry
from headrace.state.contracts import StoreIterator

T = TypeVar("T")

Cached = Iterator[tuple[bytes, CacheEntry]]
Rank = Callable[[bytes], Any]
"""By what the keys of both iterators compare."""


def same(key: bytes) -> bytes:
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


def merged(cached: Cached, beneath: Entries, rank: Rank, forward: bool, *, is_exact: bool = False) -> Entries:
    """The entries of the cache and of the store beneath as one; the cache's win.

    Only if it ``is_exact``, tombstones are respected backward, too.
    """
    mistakes_tombstones = not forward and not is_exact
    entries = _merge(_Lookahead(cached), _Lookahead(beneath), rank, forward, mistakes_tombstones)
    return StoreIterator(entries, beneath.close)


def _merge(
    cached: _Lookahead[tuple[bytes, CacheEntry]],
    beneath: _Lookahead[tuple[bytes, bytes]],
    rank: Rank,
    forward: bool,
    mistakes_tombstones: bool,
) -> Iterator[tuple[bytes, Any]]:
    while True:
        if mistakes_tombstones:
            _skip_tombstones(cached, beneath, rank)
        ours, theirs = cached.peek(), beneath.peek()
        if ours is None and theirs is None:
            return
        if ours is not None and theirs is not None:
            our_rank, their_rank = rank(ours[0]), rank(theirs[0])
            if our_rank == their_rank:
                beneath.pop()
            elif (our_rank > their_rank) is forward:
                ours = None
        if ours is not None:
            cached.pop()
            if ours[1].value is not None or mistakes_tombstones:
                yield ours[0], ours[1].value
        elif theirs is not None:
            beneath.pop()
            yield theirs


def _skip_tombstones(
    cached: _Lookahead[tuple[bytes, CacheEntry]], beneath: _Lookahead[tuple[bytes, bytes]], rank: Rank
) -> None:
    # Kafka Streams compares here as if every iterator went forward. Backward, a tombstone is therefore lost (and the
    # entry it deletes shows) when the store's next key is greater, and shows up itself, with the value None, when it
    # is smaller.
    while (ours := cached.peek()) is not None and ours[1].value is None:
        theirs = beneath.peek()
        if theirs is not None:
            our_rank, their_rank = rank(ours[0]), rank(theirs[0])
            if our_rank > their_rank:
                return
            if our_rank == their_rank:
                beneath.pop()
        cached.pop()
