"""The typed stores: the outermost layer, which users and processors see.

They turn keys and values into bytes and back, and time what is done where metrics are on.
"""

from __future__ import annotations

import struct
from abc import ABC, abstractmethod
from collections.abc import Iterable
from copy import copy
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, NoReturn

from headrace.errors import ConfigError, OperatorTypeError, SerializationError, StreamsError
from headrace.records import Change, Headers, Record
from headrace.serde.bytes_keys import (
    parse_session_key,
    parse_window_store_key,
    session_key,
    window_store_start,
)
from headrace.serde.defaults import resolve_key_serde, resolve_value_serde
from headrace.serde.given import given_serde
from headrace.state.bytes_stores import BytesKeyValueStore, BytesTimedStore, Entries
from headrace.state.contracts import FlushListener, FlushReceiver, StoreContext, StoreIterator
from headrace.state.kinds import StoreKind
from headrace.state.layers.caching import Caching, Flushed
from headrace.state.layers.timing import measured
from headrace.state.layers.wrapped import S
from headrace.state.position import Position, PositionBound
from headrace.state.query import Query, QueryResult, execute
from headrace.state.value_codecs import PLAIN, Dumps, Loads, ValueCodec
from headrace.windows import MAX_TIMESTAMP, SessionWindow, TimeWindow, Windowed

if TYPE_CHECKING:
    from headrace.serde import Serde


_NO_KEY = object()
_START_AND_NO_NUMBER = struct.Struct(">qi").pack
"""The end of a window's key, as ``window_store_key`` writes it: here a call less counts."""


class TypedStore(ABC, Generic[S]):
    """A typed store over a store of bytes.

    ``codec`` says how values become bytes: bare, with a timestamp, with headers.
    """

    remembered = ("_seen",)
    retain_duplicates = False
    is_versioned = False
    measured: tuple[tuple[str, str], ...] = ()
    """``(method, name of its sensor)`` of the methods whose time is taken; iterators are measured until closed."""

    serdes: tuple[Serde[Any], Serde[Any]]
    """Those of keys and of values, once the store is open."""
    _raw_key: Dumps
    _typed_key: Loads
    _dumps: Dumps
    _loads: Loads

    def __init__(
        self,
        inner: S,
        kind: StoreKind,
        key_serde: Serde[Any] | None = None,
        value_serde: Serde[Any] | None = None,
        *,
        codec: ValueCodec = PLAIN,
        metrics_scope: str = "",
    ) -> None:
        self.inner = inner
        self.name = inner.name
        self.kind = kind
        self.persistent = inner.persistent
        self.value_codec = codec
        self.metrics_scope = metrics_scope
        self._key_serde = key_serde
        self._value_serde = value_serde
        self._seen: dict[tuple[str | None, int], int] = {}
        self._last_key: Any = _NO_KEY
        self._last_raw_key = b""

    def __repr__(self) -> str:
        return f"<{str(self.kind).replace('_', ' ')} store {self.name}>"

    @property
    def is_open(self) -> bool:
        return self.inner.is_open

    @property
    def position(self) -> Position:
        """The last offsets of the records that changed the store."""
        position = Position()
        for (topic, partition), offset in self._seen.items():
            if topic is not None:
                position.with_component(topic, partition, offset)
        return position

    @property
    def is_measured(self) -> bool:
        return any(method in vars(self) for method, _ in self.measured)

    def note(self, topic: str, partition: int, offset: int) -> None:
        """The record there has changed the store."""
        self._seen[topic, partition] = offset

    def init(self, context: StoreContext) -> None:
        """Resolve the serdes, open the store and make it known to its task."""
        self._context = context
        self.task_id = context.task_id
        topic = context.changelog_topic(self.name)
        try:
            key_serde = resolve_key_serde(self._key_serde, context.config)
            value_serde = resolve_value_serde(self._value_serde, context.config)
        except ConfigError as error:
            message = f"store {self.name} has no serdes"
            raise StreamsError(
                message, detail=str(error), hint="Give the store key_serde= and value_serde=."
            ) from error
        self.serdes = key_serde, value_serde
        self._raw_key = partial(key_serde.serialize, topic)
        self._typed_key = partial(key_serde.deserialize, topic)
        self._dumps, self._loads = self.value_codec.bind(value_serde, topic)
        self._take_times(context)
        self.inner.init(context, self)

    def flush_cache(self) -> None:
        """Write what is cached to the store and tell the listener."""
        self.inner.flush_cache()

    def flush(self) -> None:
        """Flush the cache, then the store."""
        self.inner.flush()

    def close(self) -> None:
        """Flush the cache and close the store."""
        self.inner.close()

    def set_flush_listener(self, listener: FlushListener, send_old_values: bool) -> bool:
        """Tell ``listener`` of every entry that the cache flushes; False where there is no cache."""
        return self.set_flush_receiver(
            lambda key, new, old, timestamp, headers: listener(Record(key, Change(new, old), timestamp, headers)),
            send_old_values,
        )

    def set_flush_receiver(self, receive: FlushReceiver, send_old_values: bool) -> bool:
        """The same in parts."""
        if not isinstance(self.inner, Caching):
            return False
        typed_key = self._entry_key

        def typed(key: bytes, new: bytes | None, old: bytes | None, timestamp: int, headers: Headers) -> None:
            loads = self._loads  # Bound when the store is initialised.
            new_value = None if new is None else loads(new)
            receive(typed_key(key), new_value, None if old is None else loads(old), timestamp, headers)

        return self.inner.set_flush_receiver(typed, send_old_values)

    def uncached(self) -> Any:
        """The same store without its cache: it shows what has been flushed."""
        return self._around(self.inner.inner) if isinstance(self.inner, Caching) else self

    def as_flushed(self) -> Any:
        """The same store for reading single rows as its cache flushed them last."""
        return self._around(Flushed(self.inner)) if isinstance(self.inner, Caching) else self

    def _around(self, inner: Any) -> Any:
        around = copy(self)
        around.inner = inner
        for method, _ in self.measured:
            # Timed methods are bound to this store.
            vars(around).pop(method, None)
        return around

    def entries(self) -> StoreIterator[Any, Any]:
        """Everything the store holds."""
        return self.all()  # type: ignore[no-any-return, attr-defined]

    def query(self, query: Query, bound: PositionBound | None = None) -> QueryResult:
        return execute(self, query, bound)

    def raw_key(self, key: Any) -> bytes:
        """The bytes of ``key``, which must not be None."""
        if key is self._last_key:
            return self._last_raw_key
        try:
            if key is None or (raw := self._raw_key(key)) is None:
                _refuse_none(self.name)
        except SerializationError as error:
            error.at = f"a key of the store {self.name}"
            raise
        if type(key) is str:
            # A key is often read and then written; text cannot have changed in between.
            self._last_key, self._last_raw_key = key, raw
        return raw

    def _raw_bound(self, key: Any | None) -> bytes | None:
        return None if key is None else self._raw_key(key)

    def _raw_value(self, value: Any | None) -> bytes | None:
        return None if value is None else self._dumps(value)

    def _typed_value(self, data: bytes | None) -> Any | None:
        return None if data is None else self._loads(data)

    def _typed_entries(self, found: Entries) -> StoreIterator[Any, Any]:
        key_of, value_of = self._entry_key, self._typed_value
        return StoreIterator(((key_of(key), value_of(value)) for key, value in found), found.close)

    @abstractmethod
    def _entry_key(self, data: bytes) -> Any:
        """The typed key of an entry of the store of bytes."""

    def _note(self) -> None:
        origin = self._context.origin
        if origin is not None:
            self._seen[origin[0], origin[1]] = origin[2]

    def _take_times(self, context: StoreContext) -> None:
        for method, name in self.measured:
            sensor = context.metrics.store_sensor(self.metrics_scope, self.name, name)
            if sensor is not None:
                setattr(self, method, measured(getattr(type(self), method).__get__(self), sensor))


def _refuse_none(store_name: str) -> NoReturn:
    message = f"the key of an entry of store {store_name} cannot be None"
    raise OperatorTypeError(message, hint="Filter records without a key before they reach the store.")


class TypedKeyValueStore(TypedStore[BytesKeyValueStore]):
    """A typed key-value store."""

    measured = (
        ("get", "get"),
        ("put", "put"),
        ("put_if_absent", "put-if-absent"),
        ("put_all", "put-all"),
        ("delete", "delete"),
        ("range", "range"),
        ("reverse_range", "range"),
        ("all", "all"),
        ("reverse_all", "all"),
        ("prefix_scan", "prefix-scan"),
        ("flush", "flush"),
    )

    def get(self, key: Any) -> Any | None:
        data = self.inner.get(self.raw_key(key))
        return None if data is None else self._loads(data)

    def put(self, key: Any, value: Any | None) -> None:
        """Set the value; None deletes."""
        self.inner.put(self.raw_key(key), None if value is None else self._dumps(value))
        origin = self._context.origin
        if origin is not None:
            self._seen[origin[0], origin[1]] = origin[2]

    def put_if_absent(self, key: Any, value: Any | None) -> Any | None:
        """Set the value unless there is one, which is returned."""
        current = self.inner.put_if_absent(self.raw_key(key), self._raw_value(value))
        self._note()
        return self._typed_value(current)

    def put_all(self, entries: Iterable[tuple[Any, Any | None]]) -> None:
        """Set several values."""
        self.inner.put_all([(self.raw_key(key), self._raw_value(value)) for key, value in entries])
        self._note()

    def delete(self, key: Any) -> Any | None:
        """Delete; returns the value there was."""
        current = self.inner.delete(self.raw_key(key))
        self._note()
        return self._typed_value(current)

    def range(self, key_from: Any | None = None, key_to: Any | None = None) -> StoreIterator[Any, Any]:
        """The entries of both ends and between, in order of the keys' bytes; None leaves an end open."""
        return self._entries(key_from, key_to, True)

    def reverse_range(self, key_from: Any | None = None, key_to: Any | None = None) -> StoreIterator[Any, Any]:
        """As ``range``, from the end."""
        return self._entries(key_from, key_to, False)

    def all(self) -> StoreIterator[Any, Any]:
        """All entries, in order of the keys' bytes."""
        return self._entries(None, None, True)

    def reverse_all(self) -> StoreIterator[Any, Any]:
        """All entries, from the end."""
        return self._entries(None, None, False)

    def prefix_scan(self, prefix: Any, prefix_serde: Any) -> StoreIterator[Any, Any]:
        """The entries whose keys, as bytes, begin with ``prefix`` as ``prefix_serde`` writes it."""
        serde = given_serde("prefix_serde", prefix_serde)
        if prefix is None or serde is None:
            raise OperatorTypeError("a prefix scan needs a prefix and its serde")
        return self._typed_entries(self.inner.prefix_scan(serde.serialize(self.name, prefix) or b""))

    def approximate_num_entries(self) -> int:
        """About how many entries there are."""
        return self.inner.approximate_num_entries()

    def _entries(self, key_from: Any | None, key_to: Any | None, forward: bool) -> StoreIterator[Any, Any]:
        found = self.inner.range(self._raw_bound(key_from), self._raw_bound(key_to), forward=forward)
        return self._typed_entries(found)

    def _entry_key(self, data: bytes) -> Any:
        return self._typed_key(data)


class TypedWindowStore(TypedStore[BytesTimedStore]):
    """A typed window store."""

    measured = (
        ("put", "put"),
        ("fetch", "fetch"),
        ("fetch_range", "fetch"),
        ("backward_fetch", "fetch"),
        ("backward_fetch_range", "fetch"),
        ("fetch_keys", "fetch"),
        ("backward_fetch_keys", "fetch"),
        ("fetch_all", "fetch"),
        ("backward_fetch_all", "fetch"),
        ("all", "fetch"),
        ("backward_all", "fetch"),
        ("flush", "flush"),
    )

    def __init__(
        self,
        inner: BytesTimedStore,
        kind: StoreKind,
        key_serde: Serde[Any] | None = None,
        value_serde: Serde[Any] | None = None,
        *,
        window_size_ms: int,
        codec: ValueCodec = PLAIN,
        metrics_scope: str = "",
        retain_duplicates: bool = False,
    ) -> None:
        super().__init__(inner, kind, key_serde, value_serde, codec=codec, metrics_scope=metrics_scope)
        self.window_size_ms = window_size_ms
        self.retain_duplicates = retain_duplicates

    def put(self, key: Any, value: Any | None, window_start: int) -> None:
        """Set the value of the window that starts at ``window_start``; None deletes. Expired windows are dropped."""
        raw_key = self.raw_key(key) + _START_AND_NO_NUMBER(window_start, 0)
        self.inner.put(raw_key, None if value is None else self._dumps(value))
        origin = self._context.origin
        if origin is not None:
            self._seen[origin[0], origin[1]] = origin[2]

    def fetch(self, key: Any, time: int, time_to: int | None = None) -> Any:
        """The value of the window that starts at ``time``; with ``time_to`` as ``fetch_range``."""
        if time_to is not None:
            return self._typed_values(self.inner.fetch(self.raw_key(key), time, time_to))
        data = self.inner.get(self.raw_key(key) + _START_AND_NO_NUMBER(time, 0))
        return None if data is None else self._loads(data)

    def fetch_range(self, key: Any, time_from: int, time_to: int) -> StoreIterator[int, Any]:
        """``(window start, value)`` of the windows of one key that start in the span, by time."""
        return self._typed_values(self.inner.fetch(self.raw_key(key), time_from, time_to))

    def backward_fetch_range(self, key: Any, time_from: int, time_to: int) -> StoreIterator[int, Any]:
        """As ``fetch_range``, latest first."""
        return self._typed_values(self.inner.fetch(self.raw_key(key), time_from, time_to, forward=False))

    backward_fetch = backward_fetch_range

    def fetch_keys(
        self, key_from: Any | None, key_to: Any | None, time_from: int, time_to: int
    ) -> StoreIterator[Windowed[Any], Any]:
        """The windows of a range of keys that start in the span; None leaves an end open."""
        lower, upper = self._raw_bound(key_from), self._raw_bound(key_to)
        return self._typed_entries(self.inner.fetch_keys(lower, upper, time_from, time_to))

    def backward_fetch_keys(
        self, key_from: Any | None, key_to: Any | None, time_from: int, time_to: int
    ) -> StoreIterator[Windowed[Any], Any]:
        """As ``fetch_keys``, from the end."""
        lower, upper = self._raw_bound(key_from), self._raw_bound(key_to)
        return self._typed_entries(self.inner.fetch_keys(lower, upper, time_from, time_to, forward=False))

    def fetch_all(self, time_from: int, time_to: int) -> StoreIterator[Windowed[Any], Any]:
        """The windows of all keys that start in the span."""
        return self._typed_entries(self.inner.fetch_all(time_from, time_to))

    def backward_fetch_all(self, time_from: int, time_to: int) -> StoreIterator[Windowed[Any], Any]:
        """As ``fetch_all``, from the end."""
        return self._typed_entries(self.inner.fetch_all(time_from, time_to, forward=False))

    def all(self) -> StoreIterator[Windowed[Any], Any]:
        """All windows of all keys."""
        return self._typed_entries(self.inner.fetch_all(0, MAX_TIMESTAMP))

    def backward_all(self) -> StoreIterator[Windowed[Any], Any]:
        """All windows of all keys, from the end."""
        return self._typed_entries(self.inner.fetch_all(0, MAX_TIMESTAMP, forward=False))

    def _typed_values(self, found: Entries) -> StoreIterator[int, Any]:
        value_of = self._typed_value
        return StoreIterator(((window_store_start(key), value_of(value)) for key, value in found), found.close)

    def _entry_key(self, data: bytes) -> Any:
        key, start, _ = parse_window_store_key(data)
        return Windowed(self._typed_key(key), TimeWindow(start, min(start + self.window_size_ms, MAX_TIMESTAMP)))


class TypedSessionStore(TypedStore[BytesTimedStore]):
    """A typed session store."""

    measured = (
        ("put", "put"),
        ("remove", "remove"),
        ("fetch_session", "fetch"),
        ("fetch", "fetch"),
        ("backward_fetch", "fetch"),
        ("fetch_keys", "fetch"),
        ("backward_fetch_keys", "fetch"),
        ("find_sessions", "fetch"),
        ("backward_find_sessions", "fetch"),
        ("find_sessions_keys", "fetch"),
        ("backward_find_sessions_keys", "fetch"),
        ("find_sessions_by_end", "fetch"),
        ("flush", "flush"),
    )

    def put(self, session: Windowed[Any], aggregate: Any | None) -> None:
        """Set the value of the session; None removes it. Expired sessions are dropped."""
        self.inner.put(self._raw_session(session), None if aggregate is None else self._dumps(aggregate))
        self._note()

    def remove(self, session: Windowed[Any]) -> None:
        """Take the session out."""
        self.inner.remove(self._raw_session(session))
        self._note()

    def fetch_session(self, key: Any, start: int, end: int) -> Any | None:
        """The value of the session of ``key`` from ``start`` to ``end``."""
        return self._typed_value(self.inner.get(session_key(self.raw_key(key), start, end)))

    def fetch(self, key: Any) -> StoreIterator[Windowed[Any], Any]:
        return self.find_sessions(key, 0, MAX_TIMESTAMP)

    def backward_fetch(self, key: Any) -> StoreIterator[Windowed[Any], Any]:
        """The sessions of one key, from the end."""
        return self.backward_find_sessions(key, 0, MAX_TIMESTAMP)

    def fetch_keys(self, key_from: Any | None, key_to: Any | None) -> StoreIterator[Windowed[Any], Any]:
        """The sessions of a range of keys; None leaves an end open."""
        return self.find_sessions_keys(key_from, key_to, 0, MAX_TIMESTAMP)

    def backward_fetch_keys(self, key_from: Any | None, key_to: Any | None) -> StoreIterator[Windowed[Any], Any]:
        """As ``fetch_keys``, from the end."""
        return self.backward_find_sessions_keys(key_from, key_to, 0, MAX_TIMESTAMP)

    def entries(self) -> StoreIterator[Windowed[Any], Any]:
        return self.fetch_keys(None, None)

    def find_sessions(self, key: Any, earliest_end: int, latest_start: int) -> StoreIterator[Windowed[Any], Any]:
        """The sessions of one key that end no earlier and start no later."""
        return self._typed_entries(self.inner.fetch(self.raw_key(key), earliest_end, latest_start))

    def backward_find_sessions(
        self, key: Any, earliest_end: int, latest_start: int
    ) -> StoreIterator[Windowed[Any], Any]:
        found = self.inner.fetch(self.raw_key(key), earliest_end, latest_start, forward=False)
        return self._typed_entries(found)

    def find_sessions_keys(
        self, key_from: Any | None, key_to: Any | None, earliest_end: int, latest_start: int
    ) -> StoreIterator[Windowed[Any], Any]:
        """The sessions of a range of keys that end no earlier and start no later."""
        lower, upper = self._raw_bound(key_from), self._raw_bound(key_to)
        return self._typed_entries(self.inner.fetch_keys(lower, upper, earliest_end, latest_start))

    def backward_find_sessions_keys(
        self, key_from: Any | None, key_to: Any | None, earliest_end: int, latest_start: int
    ) -> StoreIterator[Windowed[Any], Any]:
        lower, upper = self._raw_bound(key_from), self._raw_bound(key_to)
        found = self.inner.fetch_keys(lower, upper, earliest_end, latest_start, forward=False)
        return self._typed_entries(found)

    def find_sessions_by_end(self, earliest_end: int, latest_end: int) -> StoreIterator[Windowed[Any], Any]:
        """The sessions of all keys that end in that span; only stores ordered by time can tell."""
        return self._typed_entries(self.inner.fetch_all(earliest_end, latest_end))

    def _raw_session(self, session: Windowed[Any]) -> bytes:
        if session is None or session.window is None:
            raise OperatorTypeError("a session cannot be None", hint="Give a Windowed key with a SessionWindow.")
        return session_key(self.raw_key(session.key), session.window.start, session.window.end)

    def _entry_key(self, data: bytes) -> Any:
        key, start, end = parse_session_key(data)
        return Windowed(self._typed_key(key), SessionWindow(start, end))
