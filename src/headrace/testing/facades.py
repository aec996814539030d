"""Stores as the test driver shows them: read as ``app.store(...)`` reads them, written too.

Values may be simpler than what the store keeps: a timestamped store read as a plain one, one with headers as one
without.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from headrace.instants import Instant, to_timestamp
from headrace.query.read_only import (
    ReadOnlyKeyValueStore,
    ReadOnlySessionStore,
    ReadOnlyStore,
    ReadOnlyVersionedStore,
    ReadOnlyWindowStore,
)
from headrace.records import NO_TIMESTAMP, ValueAndTimestamp, VersionedRecord
from headrace.state.contracts import StoreIterator
from headrace.windows import Windowed


class StoreFacade(ReadOnlyStore):
    """A store whose values are shown and taken in another form. Other methods are those of the store."""

    def __init__(self, store: Any, show: Callable[[Any], Any], keep: Callable[[Any], Any]) -> None:
        super().__init__(store.name, lambda: (store,), show)
        self._store = store
        self._keep = keep

    def __getattr__(self, name: str) -> Any:
        if hasattr(self._store, name):
            return getattr(self._store, name)
        return super().__getattr__(name)  # type: ignore[misc]

    def __repr__(self) -> str:
        return repr(self._store)

    def _shown(self, value: Any | None) -> Any | None:
        return None if value is None else self._show(value)

    def _kept(self, value: Any | None) -> Any | None:
        return None if value is None else self._keep(value)


class KeyValueFacade(StoreFacade, ReadOnlyKeyValueStore[Any, Any]):
    """A key-value store."""

    def put(self, key: Any, value: Any | None) -> None:  # type: ignore[override]
        """Write a value."""
        self._store.put(key, self._kept(value))

    def put_if_absent(self, key: Any, value: Any | None) -> Any | None:  # type: ignore[override]
        """Write a value unless there is one; returns the one there was."""
        return self._shown(self._store.put_if_absent(key, self._kept(value)))

    def put_all(self, entries: Iterable[tuple[Any, Any | None]]) -> None:  # type: ignore[override]
        """Write values one after the other."""
        for key, value in entries:
            self.put(key, value)

    def delete(self, key: Any) -> Any | None:  # type: ignore[override]
        """Delete; returns the value there was."""
        return self._shown(self._store.delete(key))


class VersionedFacade(StoreFacade, ReadOnlyVersionedStore[Any, Any]):
    """A key-value store that keeps versions."""

    def put(self, key: Any, value: Any | None, timestamp: Instant) -> int:  # type: ignore[override]
        """Write a version."""
        return self._store.put(key, value, to_timestamp(timestamp))  # type: ignore[no-any-return]

    def delete(self, key: Any, timestamp: Instant) -> VersionedRecord | None:  # type: ignore[override]
        """End the version of that time; returns it."""
        return self._store.delete(key, to_timestamp(timestamp))  # type: ignore[no-any-return]


class WindowFacade(StoreFacade, ReadOnlyWindowStore[Any, Any]):
    """A window store."""

    def put(self, key: Any, value: Any | None, window_start: Instant) -> None:  # type: ignore[override]
        """Write the value of a window."""
        self._store.put(key, self._kept(value), to_timestamp(window_start, "window_start"))


class SessionFacade(StoreFacade, ReadOnlySessionStore[Any, Any]):
    """A session store."""

    def put(self, session: Windowed[Any], aggregate: Any | None) -> None:  # type: ignore[override]
        """Write the value of a session."""
        self._store.put(session, self._kept(aggregate))

    def remove(self, session: Windowed[Any]) -> None:  # type: ignore[override]
        """Remove a session."""
        self._store.remove(session)

    def find_sessions_by_end(self, earliest_end: Instant, latest_end: Instant) -> StoreIterator[Windowed[Any], Any]:
        """The sessions of all keys that end in the span."""
        times = to_timestamp(earliest_end, "earliest_end"), to_timestamp(latest_end, "latest_end")
        return self._each("find_sessions_by_end", *times)


_SHAPES: dict[str, type[StoreFacade]] = {
    "kv": KeyValueFacade,
    "versioned": VersionedFacade,
    "window": WindowFacade,
    "session": SessionFacade,
}


def as_kept(store: Any) -> StoreFacade:
    """A store with its values as they are."""
    return _SHAPES[store.kind.shape](store, _same, _same)


def plain(store: Any) -> StoreFacade:
    """A timestamped store as a plain one; what is put through it has no timestamp (-1)."""
    return _SHAPES[store.kind.shape](store, _value, _without_timestamp)


def without_headers(store: Any) -> StoreFacade:
    """A store with headers as one without."""
    return _SHAPES[store.kind.shape](store, _value_and_timestamp, _value_and_timestamp)


def _same(held: Any) -> Any:
    return held


def _value(held: ValueAndTimestamp) -> Any:
    return held.value


def _without_timestamp(value: Any) -> ValueAndTimestamp:
    return ValueAndTimestamp(value, NO_TIMESTAMP)


def _value_and_timestamp(held: ValueAndTimestamp) -> ValueAndTimestamp:
    return ValueAndTimestamp(held.value, held.timestamp)
