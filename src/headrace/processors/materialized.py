"""How an operator keeps a table: one interface for timestamped and versioned stores, and who forwards changes.

With a cached store the operator itself forwards nothing: the cache does when it flushes an entry.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

from headrace.processors.api import NodeContext
from headrace.records import NO_HEADERS, Change, Headers, Record, ValueAndTimestamp
from headrace.state.contracts import IS_LATEST, FlushReceiver


class TableStore:
    """A table's store, timestamped or versioned, behind one interface."""

    __slots__ = ("_store", "get", "is_versioned", "put", "store")

    get: Callable[[Any], ValueAndTimestamp | None]
    put: Callable[[Any, Any, int], int]
    """``(key, value, timestamp)``; returns IS_LATEST, NOT_PUT, or until when the version is valid."""

    def __init__(self, context: NodeContext, name: str, *, as_flushed: bool = False) -> None:
        self.store = self._store = as_flushed_store(context.store(name)) if as_flushed else context.store(name)
        self.is_versioned = getattr(self.store, "is_versioned", False)
        if self.is_versioned:
            self.get = self._get_latest
            self.put = self.store.put
        else:
            self.get = self.store.get
            self.put = self._put_timestamped

    def get_as_of(self, key: Any, timestamp: int) -> ValueAndTimestamp | None:
        """The row as it was at ``timestamp``; only versioned stores know."""
        found = self._store.get(key, timestamp)
        return None if found is None else ValueAndTimestamp(found.value, found.timestamp)

    def _get_latest(self, key: Any) -> ValueAndTimestamp | None:
        found = self._store.get(key)
        return None if found is None else ValueAndTimestamp(found.value, found.timestamp)

    def _put_timestamped(self, key: Any, value: Any, timestamp: int, headers: Headers = NO_HEADERS) -> int:
        self._store.put(key, None if value is None else ValueAndTimestamp(value, timestamp, headers))
        return IS_LATEST


def as_flushed_store(store: Any) -> Any:
    """The store for reading single rows as its cache, if it has one, flushed them last."""
    return store.as_flushed() if hasattr(store, "as_flushed") else store


class ChangeForwarder:
    """Sends a table's changes on, unless its cache will do so."""

    __slots__ = ("_caching", "_forward", "_send_old")

    def __init__(self, context: NodeContext, store: Any | None, *, send_old_values: bool) -> None:
        self._forward = context.forward
        self._send_old = send_old_values
        self._caching = store is not None and _forward_flushed(store, context, send_old_values)

    @property
    def caching(self) -> bool:
        """Whether the cache forwards, so that the operator need not even make the change."""
        return self._caching

    def __call__(self, record: Record[Any, Change]) -> None:
        if self._caching:
            return
        if not self._send_old and record.value.old is not None:
            record = record.with_value(Change(record.value.new, None, record.value.is_latest))
        self._forward(record)


def _forward_flushed(store: Any, context: NodeContext, send_old_values: bool) -> bool:
    """Let the cache of a store, if it has one, forward what it flushes."""
    if hasattr(store, "set_flush_receiver"):
        return bool(store.set_flush_receiver(_flush_receiver(context.forward_parts), send_old_values))
    forward = context.forward
    receive = _flush_receiver(lambda *parts: forward(Record(*parts)))

    def listen(record: Record[Any, Change]) -> None:
        receive(record.key, record.value.new, record.value.old, record.timestamp, record.headers)

    return bool(store.set_flush_listener(listen, send_old_values))


def _flush_receiver(forward: Callable[[Any, Any, int, Headers], None]) -> FlushReceiver:
    def on_flush(
        key: Any, new: ValueAndTimestamp | None, old: ValueAndTimestamp | None, timestamp: int, headers: Headers
    ) -> None:
        old_value = None if old is None else old.value
        if new is None:
            forward(key, Change(None, old_value), timestamp, headers)
        else:
            forward(key, Change(new.value, old_value), new.timestamp, headers)

    return on_flush


class ValueGetter(Protocol):
    """Looks up a table's current row for a join, from its store or by recomputing it.

    With ``as_flushed`` it is the row that the table's changes have told of, not one that a cache still holds back.
    """

    def init(self, context: NodeContext, *, as_flushed: bool = False) -> None: ...
    def get(self, key: Any) -> ValueAndTimestamp | None: ...
    def get_as_of(self, key: Any, timestamp: int) -> ValueAndTimestamp | None: ...
    @property
    def is_versioned(self) -> bool: ...
    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class ValueGetterSupplier:
    """Makes value getters; names the stores that a processor must be connected to in order to use one."""

    store_names: tuple[str, ...]
    get: Callable[[], ValueGetter]


@dataclass(slots=True)
class StoreValueGetter:
    """Reads rows from a materialised table's store."""

    store_name: str
    _store: Any = None

    def init(self, context: NodeContext, *, as_flushed: bool = False) -> None:
        self._store = TableStore(context, self.store_name, as_flushed=as_flushed)

    def get(self, key: Any) -> ValueAndTimestamp | None:
        return self._store.get(key)  # type: ignore[no-any-return]

    def get_as_of(self, key: Any, timestamp: int) -> ValueAndTimestamp | None:
        return self._store.get_as_of(key, timestamp)  # type: ignore[no-any-return]

    @property
    def is_versioned(self) -> bool:
        return bool(self._store.is_versioned)

    def close(self) -> None: ...


def rows_in_store(store_name: str, getter: Callable[[str], ValueGetter] = StoreValueGetter) -> ValueGetterSupplier:
    """The value getters of a table that is kept in a store; ``getter`` fits the kind of it."""
    return ValueGetterSupplier((store_name,), partial(getter, store_name))


class TableSupplier(Protocol):
    """The supplier of a table's processor: a table can be looked up, and asked to send old values."""

    def __call__(self) -> Any: ...
    def view(self) -> ValueGetterSupplier: ...

    def enable_sending_old_values(self, force_materialization: bool) -> bool:
        """Make changes carry old values; False where that would need a store and none is forced."""
