"""The changelog layer: every change of the store beneath is appended to its changelog topic."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import ClassVar

from headrace.records import NO_HEADERS
from headrace.serde.bytes_keys import session_key, window_store_key
from headrace.state.bytes_stores import (
    BytesKeyValueStore,
    BytesSessionStore,
    BytesWindowStore,
    SessionKey,
)
from headrace.state.contracts import StateStore, StoreContext
from headrace.state.key_schemas import MAX_SEQUENCE
from headrace.state.layers.wrapped import S, Wrapped
from headrace.state.memory.lru import LRUStore
from headrace.state.value_codecs import PLAIN, ChangeWriter, ValueCodec

WindowLogKey = Callable[[bytes, int, int], bytes]
"""``(key, window start, sequence number)`` as the changelog keeps them."""


class ChangeLogging(Wrapped[S]):
    """Appends changes as ``logged_as`` writes them. (The store beneath an adapter has another codec.)"""

    reads: ClassVar[tuple[str, ...]]
    """The methods that change nothing: they go straight to the store beneath."""
    log: ChangeWriter
    """Appends one change; a value of None is a tombstone."""

    def __init__(self, inner: S, logged_as: ValueCodec = PLAIN) -> None:
        super().__init__(inner)
        self.logged_as = logged_as

    def init(self, context: StoreContext, root: StateStore | None = None) -> None:
        """Open the store beneath; find the way to the changelog."""
        super().init(context, root)
        self._append = context.change_logger(self.name)
        self.log = self.logged_as.change_writer(self._append, context)
        self._pass_on(self.reads)


class ChangeLoggingKeyValueStore(ChangeLogging[BytesKeyValueStore]):
    """Logs the changes of a key-value store."""

    reads = ("get", "range", "prefix_scan", "approximate_num_entries")

    def init(self, context: StoreContext, root: StateStore | None = None) -> None:
        """Open the store beneath; what a plain LRU store evicts, the changelog forgets. (Of others it keeps it.)"""
        super().init(context, root)
        self._put = self.inner.put
        if isinstance(self.inner, LRUStore) and self.logged_as is PLAIN:
            self.inner.on_evict = self._log_eviction

    def put(self, key: bytes, value: bytes | None) -> None:
        self._put(key, value)
        self.log(key, value)

    def put_if_absent(self, key: bytes, value: bytes | None) -> bytes | None:
        """Set and log, unless there is a value."""
        current = self.inner.put_if_absent(key, value)
        if current is None:
            self.log(key, value)
        return current

    def put_all(self, entries: Iterable[tuple[bytes, bytes | None]]) -> None:
        """Set all, then log all."""
        entries = list(entries)
        self.inner.put_all(entries)
        for key, value in entries:
            self.log(key, value)

    def delete(self, key: bytes) -> bytes | None:
        """Delete and log a tombstone, whether there was a value or not."""
        current = self.inner.delete(key)
        self.log(key, None)
        return current

    def _log_eviction(self, key: bytes) -> None:
        self._append(key, None, self._context.timestamp, NO_HEADERS)


class ChangeLoggingWindowStore(ChangeLogging[BytesWindowStore]):
    """Logs the changes of a window store, dropped ones included. Duplicates are numbered here once more."""

    reads = ("fetch", "fetch_range", "fetch_keys", "fetch_all")
    remembered = ("_sequence",)

    def __init__(
        self,
        inner: BytesWindowStore,
        logged_as: ValueCodec = PLAIN,
        *,
        retain_duplicates: bool = False,
        log_key: WindowLogKey = window_store_key,
    ) -> None:
        super().__init__(inner, logged_as)
        self._retain_duplicates = retain_duplicates
        self._log_key = log_key
        self._sequence = 0

    def put(self, key: bytes, value: bytes | None, window_start: int) -> None:
        self.inner.put(key, value, window_start)
        if self._retain_duplicates:
            self._sequence = (self._sequence + 1) & MAX_SEQUENCE
        self.log(self._log_key(key, window_start, self._sequence), value)


class ChangeLoggingSessionStore(ChangeLogging[BytesSessionStore]):
    """Logs the changes of a session store, dropped ones included."""

    reads = ("fetch_session", "find_sessions", "find_sessions_keys", "find_sessions_by_end")

    def put(self, session: SessionKey, value: bytes | None) -> None:
        self.inner.put(session, value)
        self.log(session_key(*session), value)

    def remove(self, session: SessionKey) -> None:
        """Remove and log a tombstone."""
        self.inner.remove(session)
        self.log(session_key(*session), None)
