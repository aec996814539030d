"""State stores, as users name them: ``from headrace import stores``.

A *supplier* says which store keeps the bytes (``stores.in_memory("counts")``); tables take one as ``store=``.
A *builder* adds the serdes, for ``add_state_store`` (``stores.key_value(stores.persistent("seen"))``).
``ROCKSDB`` and ``IN_MEMORY`` are the kinds of stores that the DSL makes by itself.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from headrace.durations import Duration, to_ms
from headrace.errors import ArgumentError, ConfigError, OperatorTypeError
from headrace.guesses import missing_name
from headrace.state.builders import TypedStoreBuilder
from headrace.state.kinds import (
    KEY_VALUE,
    SESSION,
    TIMESTAMPED_KEY_VALUE,
    TIMESTAMPED_WINDOW,
    VERSIONED,
    WINDOW,
    StoreKind,
)
from headrace.state.suppliers import (
    InMemoryKeyValueSupplier,
    InMemorySessionSupplier,
    InMemoryWindowSupplier,
    LRUSupplier,
    RocksDBKeyValueSupplier,
    RocksDBSessionSupplier,
    RocksDBWindowSupplier,
    TimeOrderedSessionSupplier,
    TimeOrderedWindowSupplier,
    VersionedSupplier,
)
from headrace.windows import EmitStrategy

if TYPE_CHECKING:
    from headrace.serde.contract import GivenSerde

__all__ = [
    "IN_MEMORY",
    "ROCKSDB",
    "dsl_store",
    "in_memory",
    "in_memory_session",
    "in_memory_window",
    "key_value",
    "lru",
    "persistent",
    "persistent_session",
    "persistent_session_with_headers",
    "persistent_timestamped",
    "persistent_timestamped_window",
    "persistent_timestamped_window_with_headers",
    "persistent_timestamped_with_headers",
    "persistent_window",
    "session",
    "timestamped_key_value",
    "timestamped_window",
    "versioned",
    "versioned_key_value",
    "window",
]


# Suppliers


def in_memory(name: str) -> InMemoryKeyValueSupplier:
    """A key-value store in memory. A restart fills it again from its changelog.

    >>> builder = StreamsBuilder()
    >>> _ = builder.stream("in").group_by_key().count(store=stores.in_memory("counts"))
    >>> with TopologyTestDriver(builder.build()) as driver:
    ...     driver.create_input_topic("in").pipe_input("a", "x")
    ...     driver.key_value_store("counts").get("a")
    1
    """
    return InMemoryKeyValueSupplier(_name(name))


def lru(name: str, max_entries: int) -> LRUSupplier:
    """A key-value store in memory that keeps the ``max_entries`` entries used last and forgets the others.

    >>> lru("recent", 100).name
    'recent'
    """
    if not isinstance(max_entries, int):
        message = f"max_entries must be a whole number, found {max_entries!r}"
        raise OperatorTypeError(message, hint='For example stores.lru("recent", 1000).')
    _not_negative(max_entries, "max_entries")
    return LRUSupplier(_name(name), max_entries)


def persistent(name: str) -> RocksDBKeyValueSupplier:
    """A key-value store in RocksDB, below ``state.dir``.

    >>> persistent("seen").name
    'seen'
    """
    return RocksDBKeyValueSupplier(_name(name))


def persistent_timestamped(name: str) -> RocksDBKeyValueSupplier:
    """A key-value store in RocksDB that keeps a timestamp with each value: what tables use by default.

    >>> persistent_timestamped("rows").name
    'rows'
    """
    return RocksDBKeyValueSupplier(_name(name), is_timestamped=True)


def persistent_timestamped_with_headers(name: str) -> RocksDBKeyValueSupplier:
    """A key-value store in RocksDB that keeps a timestamp and headers with each value."""
    return RocksDBKeyValueSupplier(_name(name), is_timestamped=True, has_headers=True)


def versioned(name: str, history: Duration, segment_interval: Duration | None = None) -> VersionedSupplier:
    """A key-value store in RocksDB that keeps every version of a key for the time of ``history``.

    A put that is older than the history is dropped and counted. Tables kept in one join by the time of the record.

    >>> versioned("prices", history=timedelta(days=1)).name
    'prices'
    """
    history_ms = _not_negative(to_ms(history, "history"), "history")
    if segment_interval is None:
        return VersionedSupplier(_name(name), history_ms, _versioned_segment_interval(history_ms))
    interval_ms = to_ms(segment_interval, "segment_interval")
    if interval_ms < 1:
        message = f"segment_interval must be at least 1 ms ({interval_ms} ms)"
        raise ArgumentError(message)
    return VersionedSupplier(_name(name), history_ms, interval_ms)


def persistent_window(
    name: str, retention: Duration, size: Duration, retain_duplicates: bool = False
) -> RocksDBWindowSupplier:
    """A window store in RocksDB that forgets windows when stream time has passed their start by ``retention``.

    A retention shorter than the window is an ArgumentError. ``retain_duplicates`` keeps several values per key and
    window, as stream joins need.

    >>> persistent_window("views", retention=timedelta(hours=1), size=timedelta(minutes=5)).name
    'views'
    """
    retention_ms, size_ms = _window_times(name, retention, size)
    return RocksDBWindowSupplier(_name(name), retention_ms, size_ms, retain_duplicates)


def persistent_timestamped_window(
    name: str, retention: Duration, size: Duration, retain_duplicates: bool = False
) -> RocksDBWindowSupplier:
    """A window store in RocksDB that keeps a timestamp with each value; see ``persistent_window``.

    >>> persistent_timestamped_window("views", retention=60_000, size=5_000).name
    'views'
    """
    retention_ms, size_ms = _window_times(name, retention, size)
    return RocksDBWindowSupplier(_name(name), retention_ms, size_ms, retain_duplicates, is_timestamped=True)


def persistent_timestamped_window_with_headers(
    name: str, retention: Duration, size: Duration, retain_duplicates: bool = False
) -> RocksDBWindowSupplier:
    """A window store in RocksDB that keeps a timestamp and headers with each value."""
    retention_ms, size_ms = _window_times(name, retention, size)
    return RocksDBWindowSupplier(_name(name), retention_ms, size_ms, retain_duplicates, True, has_headers=True)


def in_memory_window(
    name: str, retention: Duration, size: Duration, retain_duplicates: bool = False
) -> InMemoryWindowSupplier:
    """A window store in memory; see ``persistent_window``.

    >>> in_memory_window("views", retention=60_000, size=5_000).name
    'views'
    """
    retention_ms, size_ms = _window_times(name, retention, size)
    return InMemoryWindowSupplier(_name(name), retention_ms, size_ms, retain_duplicates)


def persistent_session(name: str, retention: Duration) -> RocksDBSessionSupplier:
    """A session store in RocksDB that forgets sessions when stream time has passed their end by ``retention``.

    >>> persistent_session("visits", retention=timedelta(hours=1)).name
    'visits'
    """
    return RocksDBSessionSupplier(_name(name), _not_negative(to_ms(retention, "retention"), "retention"))


def persistent_session_with_headers(name: str, retention: Duration) -> RocksDBSessionSupplier:
    """A session store in RocksDB that keeps headers with each value."""
    retention_ms = _not_negative(to_ms(retention, "retention"), "retention")
    return RocksDBSessionSupplier(_name(name), retention_ms, has_headers=True)


def in_memory_session(name: str, retention: Duration) -> InMemorySessionSupplier:
    """A session store in memory; see ``persistent_session``.

    >>> in_memory_session("visits", retention=60_000).name
    'visits'
    """
    return InMemorySessionSupplier(_name(name), _not_negative(to_ms(retention, "retention"), "retention"))


# Builders


def key_value(
    supplier: Any, key_serde: GivenSerde[Any] | None = None, value_serde: GivenSerde[Any] | None = None
) -> TypedStoreBuilder:
    """A builder of key-value stores with bare values, for ``add_state_store``; without serdes the defaults.

    The store is logged and not cached unless ``with_logging_disabled()`` and ``with_caching_enabled()`` say otherwise.

    >>> key_value(in_memory("seen")).with_logging_disabled().logging_enabled
    False
    """
    return TypedStoreBuilder(KEY_VALUE, supplier, key_serde, value_serde)


def timestamped_key_value(
    supplier: Any, key_serde: GivenSerde[Any] | None = None, value_serde: GivenSerde[Any] | None = None
) -> TypedStoreBuilder:
    """A builder of key-value stores with ``ValueAndTimestamp`` values; with headers where the supplier keeps them.

    >>> timestamped_key_value(persistent_timestamped("rows")).name
    'rows'
    """
    return TypedStoreBuilder(_with_headers(TIMESTAMPED_KEY_VALUE, supplier), supplier, key_serde, value_serde)


def versioned_key_value(
    supplier: Any, key_serde: GivenSerde[Any] | None = None, value_serde: GivenSerde[Any] | None = None
) -> TypedStoreBuilder:
    """A builder of versioned key-value stores: ``put(key, value, timestamp)``, ``get(key, as_of)``.

    >>> versioned_key_value(versioned("prices", history=60_000)).name
    'prices'
    """
    if supplier is None:
        raise OperatorTypeError("a store builder needs a supplier", hint='For example stores.versioned("name", day).')
    return TypedStoreBuilder(VERSIONED, supplier, key_serde, value_serde)


def window(
    supplier: Any, key_serde: GivenSerde[Any] | None = None, value_serde: GivenSerde[Any] | None = None
) -> TypedStoreBuilder:
    """A builder of window stores with bare values: ``put(key, value, window_start)``, ``fetch(key, window_start)``.

    >>> window(in_memory_window("views", 60_000, 5_000)).name
    'views'
    """
    return TypedStoreBuilder(WINDOW, supplier, key_serde, value_serde)


def timestamped_window(
    supplier: Any, key_serde: GivenSerde[Any] | None = None, value_serde: GivenSerde[Any] | None = None
) -> TypedStoreBuilder:
    """A builder of window stores with ``ValueAndTimestamp`` values; with headers where the supplier keeps them.

    >>> timestamped_window(persistent_timestamped_window("views", 60_000, 5_000)).name
    'views'
    """
    return TypedStoreBuilder(_with_headers(TIMESTAMPED_WINDOW, supplier), supplier, key_serde, value_serde)


def session(
    supplier: Any, key_serde: GivenSerde[Any] | None = None, value_serde: GivenSerde[Any] | None = None
) -> TypedStoreBuilder:
    """A builder of session stores; with headers where the supplier keeps them.

    >>> session(in_memory_session("visits", 60_000)).name
    'visits'
    """
    return TypedStoreBuilder(_with_headers(SESSION, supplier), supplier, key_serde, value_serde)


# The kinds of stores that the DSL makes by itself


@dataclass(frozen=True, slots=True)
class NamedStore:
    """A kind of store and a name: ``store=stores.IN_MEMORY("counts")`` keeps the operator's own retention and sizes."""

    name: str
    kind: Any


class DslStores:
    """What the kinds share: called with a name, they say it along with the kind.

    >>> stores.IN_MEMORY("counts").name
    'counts'
    """

    def __call__(self, name: str) -> NamedStore:
        """A store of this kind called ``name``."""
        return NamedStore(name, self)


class RocksDBStores(DslStores):
    """Stores in RocksDB: the default. Those of aggregations that emit when a window closes are ordered by time."""

    def key_value_store(self, name: str, format: str = "TIMESTAMPED") -> RocksDBKeyValueSupplier:
        """The supplier of a table's store."""
        return RocksDBKeyValueSupplier(
            _name(name), is_timestamped=format in ("TIMESTAMPED", "HEADERS"), has_headers=format == "HEADERS"
        )

    def window_store(
        self,
        name: str,
        retention_ms: int,
        size_ms: int,
        retain_duplicates: bool,
        emit_strategy: EmitStrategy,
        is_sliding: bool,
        is_timestamped: bool,
        format: str = "TIMESTAMPED",
    ) -> RocksDBWindowSupplier | TimeOrderedWindowSupplier:
        """The supplier of a windowed table's store, or of one side of a stream join."""
        _window_times(name, retention_ms, size_ms)
        has_headers = format == "HEADERS"
        if emit_strategy is EmitStrategy.ON_WINDOW_CLOSE:
            return TimeOrderedWindowSupplier(
                _name(name),
                retention_ms,
                size_ms,
                retain_duplicates,
                with_index=is_sliding or has_headers,
                has_headers=has_headers,
            )
        is_timestamped = format in ("TIMESTAMPED", "HEADERS")
        return RocksDBWindowSupplier(_name(name), retention_ms, size_ms, retain_duplicates, is_timestamped, has_headers)

    def session_store(
        self, name: str, retention_ms: int, emit_strategy: EmitStrategy, format: str = "PLAIN"
    ) -> RocksDBSessionSupplier | TimeOrderedSessionSupplier:
        """The supplier of a session table's store."""
        has_headers = format == "HEADERS"
        if emit_strategy is EmitStrategy.ON_WINDOW_CLOSE:
            return TimeOrderedSessionSupplier(_name(name), retention_ms, has_headers)
        return RocksDBSessionSupplier(_name(name), _not_negative(retention_ms, "retention"), has_headers)


class InMemoryStores(DslStores):
    """Stores in memory: ``store=stores.IN_MEMORY`` for one operator, ``dsl.store.suppliers.class`` for all."""

    def key_value_store(self, name: str, format: str = "TIMESTAMPED") -> InMemoryKeyValueSupplier:
        """The supplier of a table's store."""
        return in_memory(name)

    def window_store(
        self,
        name: str,
        retention_ms: int,
        size_ms: int,
        retain_duplicates: bool,
        emit_strategy: EmitStrategy,
        is_sliding: bool,
        is_timestamped: bool,
        format: str = "TIMESTAMPED",
    ) -> InMemoryWindowSupplier:
        """The supplier of a windowed table's store, or of one side of a stream join."""
        return in_memory_window(name, retention_ms, size_ms, retain_duplicates)

    def session_store(
        self, name: str, retention_ms: int, emit_strategy: EmitStrategy, format: str = "PLAIN"
    ) -> InMemorySessionSupplier:
        """The supplier of a session table's store."""
        return in_memory_session(name, retention_ms)


ROCKSDB = RocksDBStores()
IN_MEMORY = InMemoryStores()

_BY_NAME = {"rocksdb": ROCKSDB, "inmemory": IN_MEMORY}


def dsl_store(kind: Any) -> Any:
    """The kind of stores that a setting means: a name, a class or an object with ``key_value_store`` and so on."""
    if kind is None:
        return ROCKSDB
    if isinstance(kind, str):
        found = _BY_NAME.get(kind.replace("_", "").lower())
        if found is None:
            message = f"there is no kind of store called {kind!r}"
            raise ConfigError(message, hint='Use "rocksDB" or "in_memory", or give an object that makes suppliers.')
        return found
    if isinstance(kind, type):
        return kind()
    if not hasattr(kind, "key_value_store"):
        message = f"{kind!r} does not make store suppliers"
        raise ConfigError(message, hint="It needs key_value_store(), window_store() and session_store().")
    return kind


def _with_headers(kind: StoreKind, supplier: Any) -> StoreKind:
    return replace(kind, headers=True) if getattr(supplier, "has_headers", False) else kind


def _name(name: str) -> str:
    if name is None:
        raise OperatorTypeError("a store needs a name")
    return name


def _not_negative(number: int, what: str) -> int:
    if number < 0:
        message = f"{what} cannot be negative ({number})"
        raise ArgumentError(message)
    return number


def _window_times(name: str, retention: Duration, size: Duration) -> tuple[int, int]:
    retention_ms = _not_negative(to_ms(retention, "retention"), "retention")
    size_ms = _not_negative(to_ms(size, "size"), "size")
    if size_ms > retention_ms:
        message = f"the retention of window store {name!r} cannot be smaller than its window size"
        raise ArgumentError(message, detail=f"size {size_ms} ms, retention {retention_ms} ms")
    return retention_ms, size_ms


def _versioned_segment_interval(history_ms: int) -> int:
    # Kafka Streams' choice: a few segments for short histories, more and longer ones for long histories.
    for up_to_ms, parts, at_least_ms in ((60_000, 3, 2_000), (300_000, 5, 20_000), (3_600_000, 12, 60_000)):
        if history_ms <= up_to_ms:
            return max(history_ms // parts, at_least_ms)
    return max(history_ms // 24, 300_000)


if not TYPE_CHECKING:  # A type checker should miss what is not there.

    def __getattr__(name: str) -> Any:
        raise missing_name(__name__, name, __all__, sys._getframe(1))


def __dir__() -> list[str]:
    return __all__
