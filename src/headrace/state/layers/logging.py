"""The changelog layer: every change of the store beneath is appended to its changelog topic."""

from __future__ import annotations

from collections.abc import Iterable

from headrace.records import NO_HEADERS
from headrace.serde.bytes_keys import numbered
from headrace.state.bytes_stores import BytesKeyValueStore, BytesTimedStore
from headrace.state.contracts import StateStore, StoreContext
from headrace.state.key_schemas import MAX_SEQUENCE
from headrace.state.layers.wrapped import S, Wrapped
from headrace.state.memory.lru import LRUStore
from headrace.state.value_codecs import PLAIN, ChangeWriter, ValueCodec

_READS = (
    *("get", "range", "prefix_scan", "approximate_num_entries"),
    *("fetch", "fetch_keys", "fetch_all"),
    *("all", "versions"),
)
"""The methods that change nothing: they go straight to the store beneath."""


class ChangeLogging(Wrapped[S]):
    """Appends changes as ``logged_as`` writes them. (The store beneath an adapter has another codec.)"""

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
        self._put = self.inner.put
        self._pass_on(_READS)

    def put(self, key: bytes, value: bytes | None) -> None:
        """Set and log, whether the store beneath dropped it or not."""
        self._put(key, value)
        self.log(key, value)


class ChangeLoggingKeyValueStore(ChangeLogging[BytesKeyValueStore]):
    """Logs the changes of a key-value store."""

    def init(self, context: StoreContext, root: StateStore | None = None) -> None:
        """Open the store beneath; what a plain LRU store evicts, the changelog forgets. (Of others it keeps it.)"""
        super().init(context, root)
        if isinstance(self.inner, LRUStore) and self.logged_as is PLAIN:
            self.inner.on_evict = self._log_eviction

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


class ChangeLoggingTimedStore(ChangeLogging[BytesTimedStore]):
    """Logs the changes of a window or session store."""

    def remove(self, key: bytes) -> None:
        """Remove and log a tombstone."""
        self.inner.remove(key)
        self.log(key, None)


class ChangeLoggingDuplicates(ChangeLogging[BytesTimedStore]):
    """Logs the changes of a window store that retains duplicates. They are numbered here once more."""

    remembered = ("_sequence",)
    _sequence = 0

    def put(self, key: bytes, value: bytes | None) -> None:
        self._put(key, value)
        self._sequence = (self._sequence + 1) & MAX_SEQUENCE
        self.log(numbered(key, self._sequence), value)
