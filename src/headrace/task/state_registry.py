"""The stores of one task: made known, restored from changelog records, flushed and closed, always in order."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from headrace.errors import ArgumentError, BrokerError, ProcessingError, StoreError, StreamsError, WrongTypeError
from headrace.records import Headers
from headrace.state.contracts import RestoreCallback, StateStore
from headrace.state.layers.caching import Caching
from headrace.state.snapshots import layers
from headrace.task.checkpoint import FILE_NAME
from headrace.task.failures import details, headline, raised_at

log = logging.getLogger(__name__)

ChangelogEntry = tuple[bytes, "bytes | None", int, Headers]
"""``(key, value, timestamp, headers)`` of one changelog record."""


class StateRegistry:
    """Keeps the stores in the order in which they were registered."""

    def __init__(self) -> None:
        self._stores: dict[str, StateStore] = {}
        self._restore: dict[str, RestoreCallback | None] = {}

    def register(self, store: StateStore, restore: RestoreCallback | None) -> None:
        """Take up a store; its name must be new."""
        if FILE_NAME.startswith(store.name):
            store.close()
            message = f"a store cannot be called {store.name!r}: the checkpoint file needs that name"
            raise ArgumentError(message)
        if store.name in self._stores:
            store.close()
            message = f"the store {store.name!r} is already registered"
            raise ArgumentError(message)
        self._stores[store.name] = store
        self._restore[store.name] = restore

    def __iter__(self) -> Iterator[Any]:
        return iter(self._stores.values())

    def find(self, name: str) -> Any | None:
        return self._stores.get(name)

    def store(self, name: str) -> Any:
        return self._stores[name]

    def restore(self, name: str, entries: Iterable[ChangelogEntry]) -> int:
        """Apply changelog records to a store, without logging them again; returns how many."""
        apply = self._restore.get(name)
        if apply is None:
            message = f"the store {name!r} cannot be restored"
            raise StoreError(message, hint="Is logging on for it?")
        count = 0
        for key, value, timestamp, headers in entries:
            if key is not None:
                apply(key, value, timestamp, headers)
                count += 1
        return count

    def flush_caches(self) -> None:
        """Flush caches and buffers; this may process records downstream."""
        self._each("flush the cache of", lambda store: getattr(store, "flush_cache", store.flush)())

    def clear_caches(self) -> None:
        """Forget what is cached, written or not: what is read next comes from the stores."""
        for store in self._stores.values():
            for layer in layers(store):
                if isinstance(layer, Caching):
                    layer.clear_cache()

    def flush(self) -> None:
        self._each("flush", lambda store: store.flush())

    def close(self) -> None:
        try:
            self._each("close", lambda store: store.close())
        finally:
            self._stores.clear()
            self._restore.clear()

    def _each(self, what: str, action: Callable[[Any], None]) -> None:
        """Do it to every store even if one fails; then raise the first failure."""
        first: Exception | None = None
        for store in self._stores.values():
            try:
                action(store)
            except Exception as error:
                failure = _store_failure(what, store.name, error)
                if first is not None:
                    log.error("could not %s the store %s either: %s", what, store.name, headline(error))
                first = first or failure
        if first is not None:
            raise first


def _store_failure(what: str, store: str, error: Exception) -> Exception:
    # A broker that does not answer is waited for: the store is well.
    if isinstance(error, BrokerError):
        return error
    # Where a serde does not fit, the program is wrong and not the store.
    if isinstance(error, StreamsError) and (
        not isinstance(error, ProcessingError) or isinstance(error.__cause__, WrongTypeError)
    ):
        return error
    failure = StoreError(
        headline(error),
        detail="; ".join(filter(None, (f"could not {what} the store {store!r}", details(error)))),
        hint=getattr(error, "hint", None),
        at=getattr(error, "at", None) or raised_at(error),
    )
    failure.__cause__ = error.__cause__ if isinstance(error, ProcessingError) else error
    return failure
