"""Views of stores with simpler values: a timestamped store read as a plain one, one with headers as one without."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from headrace.instants import Instant, to_timestamp
from headrace.records import NO_TIMESTAMP, ValueAndTimestamp
from headrace.state.contracts import StoreIterator

_SINGLE = frozenset({"get", "delete", "fetch_session"})
_ITERATORS = frozenset(
    prefix + name
    for name in ("fetch_range", "fetch_keys", "fetch_all", "find_sessions", "find_sessions_keys", "all")
    for prefix in ("", "backward_")
) | {"range", "reverse_range", "reverse_all", "prefix_scan", "find_sessions_by_end"}


class StoreFacade:
    """A store whose values are shown and taken in another form. Other methods are those of the store."""

    def __init__(self, store: Any, show: Callable[[Any], Any], keep: Callable[[Any], Any]) -> None:
        self._store = store
        self._show = show
        self._keep = keep

    def put(self, key: Any, value: Any | None, *window_start: int) -> None:
        """Write a value."""
        self._store.put(key, self._kept(value), *window_start)

    def put_if_absent(self, key: Any, value: Any | None) -> Any | None:
        """Write a value unless there is one; returns the one there was."""
        return self._shown(self._store.put_if_absent(key, self._kept(value)))

    def put_all(self, entries: Iterable[tuple[Any, Any | None]]) -> None:
        """Write values one after the other."""
        for key, value in entries:
            self.put(key, value)

    def fetch(self, key: Any, *time: Instant) -> Any:
        """A window's value; for sessions, which take no time, all sessions of the key."""
        found = self._store.fetch(key, *map(to_timestamp, time))
        return self._iterator(found) if isinstance(found, StoreIterator) else self._shown(found)

    def backward_fetch(self, key: Any) -> Any:
        """All sessions of the key, latest first."""
        return self._iterator(self._store.backward_fetch(key))

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._store, name)
        if name in _SINGLE:
            return lambda *arguments: self._shown(found(*arguments))
        if name in _ITERATORS:
            return lambda *arguments: self._iterator(found(*arguments))
        return found

    def _iterator(self, entries: StoreIterator[Any, Any]) -> StoreIterator[Any, Any]:
        return entries.mapped(self._shown)

    def _shown(self, value: Any | None) -> Any | None:
        return None if value is None else self._show(value)

    def _kept(self, value: Any | None) -> Any | None:
        return None if value is None else self._keep(value)


def plain(store: Any) -> StoreFacade:
    """A timestamped store as a plain one; what is put through it has no timestamp (-1)."""
    return StoreFacade(store, _value, _without_timestamp)


def without_headers(store: Any) -> StoreFacade:
    """A store with headers as one without."""
    return StoreFacade(store, _value_and_timestamp, _value_and_timestamp)


def _value(held: ValueAndTimestamp) -> Any:
    return held.value


def _without_timestamp(value: Any) -> ValueAndTimestamp:
    return ValueAndTimestamp(value, NO_TIMESTAMP)


def _value_and_timestamp(held: ValueAndTimestamp) -> ValueAndTimestamp:
    return ValueAndTimestamp(held.value, held.timestamp)
