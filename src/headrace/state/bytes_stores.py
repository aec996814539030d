"""What lies under a typed store: stores of bytes, stacked in layers.

The innermost keeps the bytes (``memory/``, ``rocksdb/``). Around it come change-logging, then caching; the typed
(metered) store is outermost. All layers of one kind have the same methods. Keys of windows and sessions are
plain tuples here; the typed store makes ``Windowed`` keys of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, TypeAlias

from headrace.records import NO_HEADERS, Headers
from headrace.state.contracts import StateStore, StoreContext, StoreIterator
from headrace.state.value_codecs import ValueCodec

WindowKey: TypeAlias = tuple[bytes, int]
"""``(key, window start)``"""
SessionKey: TypeAlias = tuple[bytes, int, int]
"""``(key, session start, session end)``"""

KeyValues: TypeAlias = StoreIterator[bytes, bytes]
WindowValues: TypeAlias = StoreIterator[int, bytes]
WindowedValues: TypeAlias = StoreIterator[WindowKey, bytes]
SessionValues: TypeAlias = StoreIterator[SessionKey, bytes]


class BytesStore(Protocol):
    """The part all layers have.

    ``codec`` says how the values kept relate to those in the changelog; the store builder sets it.
    """

    codec: ValueCodec

    @property
    def name(self) -> str:
        """The store's name."""

    @property
    def persistent(self) -> bool:
        """Whether the store outlives its task without a changelog."""

    @property
    def is_open(self) -> bool:
        """Whether the store can be used."""

    def init(self, context: StoreContext, root: StateStore | None = None) -> None:
        """Open the store; the innermost layer registers ``root``, the typed store, with the task."""

    def flush_cache(self) -> None:
        """Let go of everything that is cached."""

    def flush(self) -> None:
        """Write what is held back."""

    def close(self) -> None:
        """Close the store."""

    def restore(self, key: bytes, value: bytes | None, timestamp: int, headers: Headers = NO_HEADERS) -> None:
        """Apply one record of the changelog."""


class BytesKeyValueStore(BytesStore, Protocol):
    """One value per key, in order of the keys' bytes."""

    def get(self, key: bytes) -> bytes | None:
        """The value of ``key``."""

    def put(self, key: bytes, value: bytes | None) -> None:
        """Set the value; None deletes."""

    def put_if_absent(self, key: bytes, value: bytes | None) -> bytes | None:
        """Set the value unless there is one, which is returned."""

    def put_all(self, entries: Iterable[tuple[bytes, bytes | None]]) -> None:
        """Set several values."""

    def delete(self, key: bytes) -> bytes | None:
        """Delete; returns the value there was."""

    def range(self, key_from: bytes | None, key_to: bytes | None, *, forward: bool = True) -> KeyValues:
        """The entries of both ends and between; None leaves an end open."""

    def prefix_scan(self, prefix: bytes) -> KeyValues:
        """The entries whose keys begin with ``prefix``."""

    def approximate_num_entries(self) -> int:
        """About how many entries there are."""


class BytesWindowStore(BytesStore, Protocol):
    """One value per key and window start (or several, in stores that retain duplicates)."""

    def put(self, key: bytes, value: bytes | None, window_start: int) -> None:
        """Set the value of a window; None deletes."""

    def fetch(self, key: bytes, time: int) -> bytes | None:
        """The value of the window that starts at ``time``."""

    def fetch_range(self, key: bytes, time_from: int, time_to: int, *, forward: bool = True) -> WindowValues:
        """The windows of one key that start in the span, by time."""

    def fetch_keys(
        self, key_from: bytes | None, key_to: bytes | None, time_from: int, time_to: int, *, forward: bool = True
    ) -> WindowedValues:
        """The windows of a range of keys that start in the span."""

    def fetch_all(self, time_from: int, time_to: int, *, forward: bool = True) -> WindowedValues:
        """The windows of all keys that start in the span."""


class BytesSessionStore(BytesStore, Protocol):
    """One value per session."""

    def put(self, session: SessionKey, value: bytes | None) -> None:
        """Set the value of a session; None removes it."""

    def remove(self, session: SessionKey) -> None:
        """Take a session out."""

    def fetch_session(self, key: bytes, start: int, end: int) -> bytes | None:
        """The value of that session."""

    def find_sessions(self, key: bytes, earliest_end: int, latest_start: int, *, forward: bool = True) -> SessionValues:
        """The sessions of one key that end no earlier and start no later."""

    def find_sessions_keys(
        self,
        key_from: bytes | None,
        key_to: bytes | None,
        earliest_end: int,
        latest_start: int,
        *,
        forward: bool = True,
    ) -> SessionValues:
        """The sessions of a range of keys."""

    def find_sessions_by_end(self, earliest_end: int, latest_end: int) -> SessionValues:
        """The sessions that end in that span; UnsupportedError where the store is not ordered by time."""


def next_prefix(prefix: bytes) -> bytes | None:
    r"""The first key after all that begin with ``prefix``; None where there is none.

    >>> next_prefix(b"a\xff")
    b'b'
    """
    stripped = prefix.rstrip(b"\xff")
    return stripped[:-1] + bytes([stripped[-1] + 1]) if stripped else None
