"""What every state store can do, however it keeps its bytes.

The typed protocols are what processors and users see. Inside, every store is a stack: typed around
caching around change-logging around a bytes store.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Protocol, overload

from headrace.errors import IllegalStateError
from headrace.records import NO_HEADERS, NO_TIMESTAMP, Headers, Record, RecordContext, VersionedRecord
from headrace.type_variables import V2, K, KIn, V, VIn

if TYPE_CHECKING:
    from headrace.config import StreamsConfig
    from headrace.metrics import StreamsMetrics
    from headrace.state.cache import ThreadCache
    from headrace.windows import Windowed

FlushListener = Callable[[Record[Any, Any]], None]
"""Called when a cached entry is flushed: key typed, value ``Change(new, old)`` of what the store keeps."""

FlushReceiver = Callable[[Any, Any, Any, int, Headers], None]
"""The same in parts: ``(key, new, old, timestamp, headers)``."""

RestoreCallback = Callable[[bytes, bytes | None, int, Headers], None]
"""``(key, value, timestamp, headers)`` of one changelog record, applied to the bytes store."""

ChangeLogger = Callable[[bytes, "bytes | None", "int | None", Headers], None]
"""Appends ``(key, value, timestamp, headers)`` to a changelog; without a timestamp the producer gives one."""

NOT_PUT = -(2**63)
"""What a versioned put returns when history retention refused it."""
IS_LATEST = -1
"""What a versioned put returns when the version is the latest (its validity has no end)."""


class CurrentRecord:
    """The parts of ``record_context`` that stores look at with every write, for contexts that keep just that."""

    record_context: RecordContext | None

    @property
    def timestamp(self) -> int:
        """Its time; NO_TIMESTAMP where there is no record."""
        return NO_TIMESTAMP if self.record_context is None else self.record_context.timestamp

    @property
    def headers(self) -> Headers:
        """Its headers."""
        return NO_HEADERS if self.record_context is None else self.record_context.headers

    @property
    def origin(self) -> tuple[Any, ...] | None:
        """Topic, partition and offset, and maybe more; None where there is no record."""
        return None if self.record_context is None else self.record_context.metadata


class StoreContext(Protocol):
    """What a store may ask of its task."""

    record_context: RecordContext | None
    """The record being processed. ``timestamp``, ``headers`` and ``origin`` give parts of it at less cost."""

    @property
    def timestamp(self) -> int: ...
    @property
    def headers(self) -> Headers: ...
    @property
    def origin(self) -> tuple[Any, ...] | None: ...

    @property
    def application_id(self) -> str: ...
    @property
    def task_id(self) -> str: ...
    @property
    def state_dir(self) -> Path:
        """The directory of this task; a persistent store keeps its files below it."""

    @property
    def config(self) -> StreamsConfig: ...
    @property
    def metrics(self) -> StreamsMetrics: ...
    @property
    def cache(self) -> ThreadCache: ...

    def register(self, store: StateStore, restore: RestoreCallback | None) -> None:
        """Make the store known to the task: it will be flushed, restored and closed with it."""

    def change_logger(self, store_name: str) -> ChangeLogger:
        """What appends to the store's changelog."""

    def changelog_topic(self, store_name: str) -> str: ...

    def drop(self, reason: str) -> None:
        """Count a dropped record (an expired put)."""


class StateStore(Protocol):
    """The part every store has."""

    @property
    def name(self) -> str: ...
    @property
    def persistent(self) -> bool: ...
    @property
    def is_open(self) -> bool: ...

    def init(self, context: StoreContext) -> None: ...
    def flush(self) -> None: ...
    def close(self) -> None: ...


class StoreIterator(Generic[K, V]):
    """Entries of a store in order, as ``(key, value)``: an iterator that is closed after use.

    A ``with`` block closes it; so does reading it to its end. Using it after ``close`` is an error.
    """

    __slots__ = ("_close", "_entries", "_next", "is_open")

    def __init__(self, entries: Iterable[tuple[K, V]], close: Callable[[], None] | None = None) -> None:
        self._entries: Iterator[tuple[K, V]] = iter(entries)
        self._close = close
        self._next: tuple[K, V] | None = None
        self.is_open = True

    def __iter__(self) -> StoreIterator[K, V]:
        return self

    def __next__(self) -> tuple[K, V]:
        self._check_open()
        if self._next is not None:
            entry, self._next = self._next, None
            return entry
        return next(self._entries)

    @property
    def has_next(self) -> bool:
        """Whether another entry follows."""
        self._check_open()
        if self._next is None:
            self._next = next(self._entries, None)
        return self._next is not None

    def peek_next_key(self) -> K:
        """The key of the next entry, which stays."""
        if not self.has_next:
            raise StopIteration
        assert self._next is not None
        return self._next[0]

    def mapped(self, value_of: Callable[[V], V2]) -> StoreIterator[K, V2]:
        """The same entries with other values; closing it closes this one."""
        return StoreIterator(((key, value_of(value)) for key, value in self), self.close)

    def close(self) -> None:
        """Release what the iterator holds; calling it twice does no harm."""
        if self.is_open:
            self.is_open = False
            if self._close is not None:
                self._close()

    def __enter__(self) -> StoreIterator[K, V]:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _check_open(self) -> None:
        if not self.is_open:
            raise IllegalStateError("the iterator is closed", hint="Read it before close(), or inside its with block.")


class KeyValueStore(StateStore, Protocol[KIn, VIn]):
    """One value per key. A timestamped store holds ``ValueAndTimestamp`` values."""

    def get(self, key: KIn) -> VIn | None: ...
    def put(self, key: KIn, value: VIn | None) -> None: ...
    def put_if_absent(self, key: KIn, value: VIn | None) -> VIn | None: ...
    def put_all(self, entries: Iterable[tuple[KIn, VIn | None]]) -> None: ...
    def delete(self, key: KIn) -> VIn | None: ...
    def range(self, key_from: KIn | None = None, key_to: KIn | None = None) -> StoreIterator[KIn, VIn]: ...
    def reverse_range(self, key_from: KIn | None = None, key_to: KIn | None = None) -> StoreIterator[KIn, VIn]: ...
    def all(self) -> StoreIterator[KIn, VIn]: ...
    def reverse_all(self) -> StoreIterator[KIn, VIn]: ...
    def prefix_scan(self, prefix: Any, prefix_serde: Any) -> StoreIterator[KIn, VIn]: ...
    def approximate_num_entries(self) -> int: ...


class VersionedKeyValueStore(StateStore, Protocol):
    """Every version of a key within the history retention."""

    def put(self, key: Any, value: Any | None, timestamp: int) -> int: ...
    def delete(self, key: Any, timestamp: int) -> VersionedRecord | None: ...
    def get(self, key: Any, as_of: int | None = None) -> VersionedRecord | None: ...


class WindowStore(StateStore, Protocol[KIn, VIn]):
    """One value per key and window start. Keys of multi-key iterators are ``Windowed``."""

    def put(self, key: KIn, value: VIn | None, window_start: int) -> None: ...
    @overload
    def fetch(self, key: KIn, time: int) -> VIn | None: ...
    @overload
    def fetch(self, key: KIn, time: int, time_to: int) -> StoreIterator[int, VIn]: ...
    def fetch_range(self, key: KIn, time_from: int, time_to: int) -> StoreIterator[int, VIn]: ...
    def backward_fetch(self, key: KIn, time_from: int, time_to: int) -> StoreIterator[int, VIn]: ...
    def backward_fetch_range(self, key: KIn, time_from: int, time_to: int) -> StoreIterator[int, VIn]: ...
    def fetch_keys(
        self, key_from: KIn | None, key_to: KIn | None, time_from: int, time_to: int
    ) -> StoreIterator[Windowed[KIn], VIn]: ...
    def backward_fetch_keys(
        self, key_from: KIn | None, key_to: KIn | None, time_from: int, time_to: int
    ) -> StoreIterator[Windowed[KIn], VIn]: ...
    def fetch_all(self, time_from: int, time_to: int) -> StoreIterator[Windowed[KIn], VIn]: ...
    def backward_fetch_all(self, time_from: int, time_to: int) -> StoreIterator[Windowed[KIn], VIn]: ...
    def all(self) -> StoreIterator[Windowed[KIn], VIn]: ...
    def backward_all(self) -> StoreIterator[Windowed[KIn], VIn]: ...


class SessionStore(StateStore, Protocol[KIn, VIn]):
    """Sessions per key: keys are ``Windowed`` with a ``SessionWindow``."""

    def put(self, session: Windowed[KIn], aggregate: VIn | None) -> None: ...
    def remove(self, session: Windowed[KIn]) -> None: ...
    def fetch_session(self, key: KIn, start: int, end: int) -> VIn | None: ...
    def fetch(self, key: KIn) -> StoreIterator[Windowed[KIn], VIn]: ...
    def backward_fetch(self, key: KIn) -> StoreIterator[Windowed[KIn], VIn]: ...
    def fetch_keys(self, key_from: KIn | None, key_to: KIn | None) -> StoreIterator[Windowed[KIn], VIn]: ...
    def backward_fetch_keys(self, key_from: KIn | None, key_to: KIn | None) -> StoreIterator[Windowed[KIn], VIn]: ...
    def find_sessions(self, key: KIn, earliest_end: int, latest_start: int) -> StoreIterator[Windowed[KIn], VIn]: ...
    def backward_find_sessions(
        self, key: KIn, earliest_end: int, latest_start: int
    ) -> StoreIterator[Windowed[KIn], VIn]: ...
    def find_sessions_keys(
        self, key_from: KIn | None, key_to: KIn | None, earliest_end: int, latest_start: int
    ) -> StoreIterator[Windowed[KIn], VIn]: ...
    def backward_find_sessions_keys(
        self, key_from: KIn | None, key_to: KIn | None, earliest_end: int, latest_start: int
    ) -> StoreIterator[Windowed[KIn], VIn]: ...
    def find_sessions_by_end(self, earliest_end: int, latest_end: int) -> StoreIterator[Windowed[KIn], VIn]: ...
