"""The orders in which Java's hash and tree collections iterate.

Kafka Streams prints stores, topics and arrows in these orders, and creates the stores of a processor in them. They
depend on nothing but the texts and the sequence of insertion, so they can be computed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Generic, TypeVar

T = TypeVar("T")

_DEFAULT_CAPACITY = 16
_LONG_BUCKET = 9
_TREE_CAPACITY = 64


def string_hash(text: str) -> int:
    """Java's ``String.hashCode``, as an unsigned 32-bit number.

    >>> string_hash("kafka")
    101807910
    """
    data = text.encode("utf-16-be", "surrogatepass")
    code = 0
    for high, low in zip(data[::2], data[1::2], strict=True):
        code = (31 * code + (high << 8 | low)) & 0xFFFFFFFF
    return code


def sort_key(text: str) -> bytes:
    """A key that sorts texts as Java's ``String.compareTo``, by UTF-16 units."""
    return text.encode("utf-16-be", "surrogatepass")


def hash_order(names: Iterable[str]) -> list[str]:
    """``names`` in the order of a HashSet or HashMap they were added to one by one."""
    return _iteration(dict.fromkeys(names), _DEFAULT_CAPACITY)


def copied_hash_order(names: Iterable[str]) -> list[str]:
    """``names`` in the order of a ``new HashSet<>(names)``, which starts out large enough."""
    names = list(names)
    capacity = _DEFAULT_CAPACITY
    while capacity < int(len(names) / 0.75) + 1:
        capacity *= 2
    return _iteration(dict.fromkeys(names), capacity)


def _iteration(names: Iterable[str], capacity: int) -> list[str]:
    """Bucket by bucket; a bucket keeps the order of insertion, also when the table grows."""
    added: list[tuple[int, str]] = []
    for name in names:
        code = string_hash(name)
        spread = code ^ code >> 16
        added.append((spread, name))
        if capacity < _TREE_CAPACITY and _bucket_size(added, spread, capacity) >= _LONG_BUCKET:
            capacity *= 2
        if len(added) > capacity * 3 // 4:
            capacity *= 2
    return [name for _, name in sorted(added, key=lambda entry: entry[0] & (capacity - 1))]


def _bucket_size(added: list[tuple[int, str]], spread: int, capacity: int) -> int:
    mask = capacity - 1
    return sum(1 for other, _ in added if other & mask == spread & mask)


class TreeSet(Generic[T]):
    """A red-black tree set as Java's TreeSet.

    Needed because Kafka Streams fills such sets while what they are compared by still changes: the order then
    depends on the shape of the tree.
    """

    def __init__(self, compare: Callable[[T, T], int]) -> None:
        self._compare = compare
        self._root: _Entry[T] | None = None

    def add(self, item: T) -> None:
        """Add ``item`` unless the walk down the tree meets an equal one."""
        if self._root is None:
            self._root = _Entry(item, None)
            self._root.black = True
            return
        parent, entry = self._root, self._root
        while True:
            order = self._compare(item, entry.item)
            if order == 0:
                return
            parent = entry
            below = entry.left if order < 0 else entry.right
            if below is None:
                break
            entry = below
        added = _Entry(item, parent)
        if order < 0:
            parent.left = added
        else:
            parent.right = added
        self._rebalance(added)

    def __iter__(self) -> Iterator[T]:
        return self._walk(self._root)

    def _walk(self, entry: _Entry[T] | None) -> Iterator[T]:
        if entry is not None:
            yield from self._walk(entry.left)
            yield entry.item
            yield from self._walk(entry.right)

    def _rebalance(self, entry: _Entry[T]) -> None:
        while entry.parent is not None and not entry.parent.black:
            parent, grandparent = entry.parent, entry.parent.parent
            assert grandparent is not None, "a red entry has a parent: the root is black"
            parent_is_left = parent is grandparent.left
            uncle = grandparent.right if parent_is_left else grandparent.left
            if uncle is not None and not uncle.black:
                parent.black = uncle.black = True
                grandparent.black = False
                entry = grandparent
                continue
            if entry is (parent.right if parent_is_left else parent.left):
                entry, parent = parent, entry
                self._rotate(entry, left=parent_is_left)
            parent.black, grandparent.black = True, False
            self._rotate(grandparent, left=not parent_is_left)
        assert self._root is not None
        self._root.black = True

    def _rotate(self, entry: _Entry[T], *, left: bool) -> None:
        """Let the child on one side take the place of ``entry``, which becomes its child on the other."""
        child = entry.right if left else entry.left
        assert child is not None
        inner = child.left if left else child.right
        if left:
            entry.right, child.left = inner, entry
        else:
            entry.left, child.right = inner, entry
        if inner is not None:
            inner.parent = entry
        child.parent = entry.parent
        if entry.parent is None:
            self._root = child
        elif entry.parent.left is entry:
            entry.parent.left = child
        else:
            entry.parent.right = child
        entry.parent = child


class _Entry(Generic[T]):
    __slots__ = ("black", "item", "left", "parent", "right")

    def __init__(self, item: T, parent: _Entry[T] | None) -> None:
        self.item = item
        self.parent = parent
        self.left: _Entry[T] | None = None
        self.right: _Entry[T] | None = None
        self.black = False
