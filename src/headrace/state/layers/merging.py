"""The cache and the store beneath it as one iterator. Its oddities are Kafka Streams'."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from headrace.state.bytes_stores import Entries
from headrace.state.cache import CacheEntry
from headrace.state.contracts import StoreIterator

Cached = Iterator[tuple[bytes, CacheEntry]]
Rank = Callable[[bytes], Any]
"""By what the keys of both iterators compare."""


def same(key: bytes) -> bytes:
    return key


def merged(cached: Cached, beneath: Entries, rank: Rank, forward: bool, *, is_exact: bool = False) -> Entries:
    """The entries of the cache and of the store beneath as one; the cache's win.

    Only if it ``is_exact``, tombstones are respected backward, too.
    """
    mistakes_tombstones = not forward and not is_exact
    return StoreIterator(_merge(cached, beneath, rank, forward, mistakes_tombstones), beneath.close)


def _merge(
    cached: Cached, beneath: Entries, rank: Rank, forward: bool, mistakes_tombstones: bool
) -> Iterator[tuple[bytes, Any]]:
    # The next of each; None where it has yet to be fetched, or at the end.
    ours = theirs = None
    while True:
        ours, theirs = ours or next(cached, None), theirs or next(beneath, None)
        if mistakes_tombstones:
            ours, theirs = _after_tombstones(ours, theirs, cached, beneath, rank)
        if ours is not None and theirs is not None:
            our_rank, their_rank = rank(ours[0]), rank(theirs[0])
            if our_rank == their_rank:
                theirs = None
            elif (our_rank > their_rank) is forward:
                yield theirs
                theirs = None
                continue
        if ours is not None:
            if ours[1].value is not None or mistakes_tombstones:
                yield ours[0], ours[1].value
            ours = None
        elif theirs is not None:
            yield theirs
            theirs = None
        else:
            return


def _after_tombstones(
    ours: tuple[bytes, CacheEntry] | None,
    theirs: tuple[bytes, bytes] | None,
    cached: Cached,
    beneath: Entries,
    rank: Rank,
) -> tuple[tuple[bytes, CacheEntry] | None, tuple[bytes, bytes] | None]:
    # Kafka Streams compares here as if every iterator went forward. Backward, a tombstone is therefore lost (and the
    # entry it deletes shows) when the store's next key is greater, and shows up itself, with the value None, when it
    # is smaller.
    while ours is not None and ours[1].value is None:
        if theirs is not None:
            our_rank, their_rank = rank(ours[0]), rank(theirs[0])
            if our_rank > their_rank:
                break
            if our_rank == their_rank:
                theirs = next(beneath, None)
        ours = next(cached, None)
    return ours, theirs
