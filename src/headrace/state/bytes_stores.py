"""What lies under a typed store: stores of bytes, stacked in layers.

The innermost keeps the bytes (``memory/``, ``rocksdb/``). Around it come change-logging, then caching; the typed
store is outermost. All layers of one kind have the same methods. The key of a window or a session is one
string of bytes here, composed as ``serde/bytes_keys.py`` says, the same in the store and in its changelog.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol, TypeAlias

from headrace.records import NO_HEADERS, Headers
from headrace.state.contracts import StateStore, StoreContext, StoreIterator
from headrace.state.value_codecs import ValueCodec

Entries: TypeAlias = StoreIterator[bytes, bytes]


class BytesStore(Protocol):
    """The part all layers have.

    ``codec`` says how the values kept relate to those in the changelog; the store builder sets it.
    """

    codec: ValueCodec

    @property
    def name(self) -> str: ...
    @property
    def persistent(self) -> bool: ...
    @property
    def is_open(self) -> bool: ...

    def init(self, context: StoreContext, root: StateStore | None = None) -> None:
        """Open the store; the innermost layer registers ``root``, the typed store, with the task."""

    def flush_cache(self) -> None: ...
    def flush(self) -> None: ...
    def close(self) -> None: ...

    def restore(self, key: bytes, value: bytes | None, timestamp: int, headers: Headers = NO_HEADERS) -> None:
        """Apply one record of the changelog."""

    def get(self, key: bytes) -> bytes | None: ...

    def put(self, key: bytes, value: bytes | None) -> None:
        """Set the value; None deletes."""


class BytesKeyValueStore(BytesStore, Protocol):
    """One value per key, in order of the keys' bytes."""

    def put_if_absent(self, key: bytes, value: bytes | None) -> bytes | None:
        """Set the value unless there is one, which is returned."""

    def put_all(self, entries: Iterable[tuple[bytes, bytes | None]]) -> None: ...

    def delete(self, key: bytes) -> bytes | None:
        """Delete; returns the value there was."""

    def range(self, key_from: bytes | None, key_to: bytes | None, *, forward: bool = True) -> Entries:
        """The entries of both ends and between; None leaves an end open."""

    def prefix_scan(self, prefix: bytes) -> Entries: ...
    def approximate_num_entries(self) -> int: ...


class KeyValueWrites:
    """What the stores that keep the bytes make of ``get`` and ``put``."""

    get: Callable[[bytes], bytes | None]
    put: Callable[[bytes, bytes | None], None]

    def put_if_absent(self, key: bytes, value: bytes | None) -> bytes | None:
        current = self.get(key)
        if current is None and value is not None:
            self.put(key, value)
        return current

    def put_all(self, entries: Iterable[tuple[bytes, bytes | None]]) -> None:
        for key, value in entries:
            self.put(key, value)

    def delete(self, key: bytes) -> bytes | None:
        current = self.get(key)
        self.put(key, None)
        return current


class BytesTimedStore(BytesStore, Protocol):
    """One value per window or session (or several, in window stores that retain duplicates).

    Spans of time mean window starts, both included. For sessions they are the earliest end and the latest start.
    """

    def remove(self, key: bytes) -> None:
        """Take a session out. Unlike a put of None that does not drop it as expired, nor move stream time."""

    def fetch(self, key: bytes, time_from: int, time_to: int, *, forward: bool = True) -> Entries:
        """The entries of one key in the span, by time."""

    def fetch_keys(
        self, key_from: bytes | None, key_to: bytes | None, time_from: int, time_to: int, *, forward: bool = True
    ) -> Entries:
        """The entries of a range of keys in the span; None leaves an end open."""

    def fetch_all(self, time_from: int, time_to: int, *, forward: bool = True) -> Entries:
        """The windows of all keys that start in the span; the sessions that end in it.

        UnsupportedError where sessions are not ordered by time.
        """


def next_prefix(prefix: bytes) -> bytes | None:
    r"""The first key after all that begin with ``prefix``; None where there is none.

    >>> next_prefix(b"a\xff")
    b'b'
    """
    stripped = prefix.rstrip(b"\xff")
    return stripped[:-1] + bytes([stripped[-1] + 1]) if stripped else None
