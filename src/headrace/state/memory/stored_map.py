"""The entries of an in-memory key-value store in a database: its ``SortedMap`` where a task is put down."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from headrace.state.rocksdb.database import Database


class StoredMap:
    """Bytes to bytes with the face, the order and the iterators of a ``SortedMap``."""

    remembered = ("_count",)

    def __init__(self, database: Database) -> None:
        self._database = database
        self._count = 0
        self.entries = self
        self.get: Callable[[bytes], bytes | None] = database.get
        """``get(key)``: its value or None."""

    def __len__(self) -> int:
        return self._count

    def __contains__(self, key: bytes) -> bool:
        return self.get(key) is not None

    def __setitem__(self, key: bytes, value: bytes) -> None:
        self._database.put(key, value)

    def put(self, key: bytes, value: bytes) -> None:
        if key not in self:
            self._count += 1
        self._database.put(key, value)

    def remove(self, key: bytes) -> bytes | None:
        value = self.get(key)
        if value is not None:
            self._count -= 1
            self._database.put(key, None)
        return value

    def clear(self) -> None:
        """Let go of the entries, which stay in the database."""

    def items(self, first: bytes | None, last: bytes | None, *, forward: bool = True) -> Iterator[tuple[bytes, bytes]]:
        """Keys and values in order; a value is read when its turn comes, keys removed by then are left out."""
        end = None if last is None else last + b"\0"
        for key, _ in self._database.scan(first or b"", end, reverse=not forward):
            value = self.get(key)
            if value is not None:
                yield key, value
