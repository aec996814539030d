"""The typed face of versioned stores, with their changelog, and their builder. Versioned stores are never cached."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

from headrace.errors import IllegalStateError, OperatorTypeError
from headrace.records import NO_HEADERS, VersionedRecord
from headrace.serde.defaults import resolve_key_serde, resolve_value_serde
from headrace.serde.given import given_serde
from headrace.state.contracts import FlushListener, StoreContext, StoreIterator
from headrace.state.kinds import VERSIONED
from headrace.state.position import Position, PositionBound
from headrace.state.query import Query, QueryResult, execute
from headrace.state.store_builder import StoreBuilder

if TYPE_CHECKING:
    from headrace.serde.contract import GivenSerde, Serde


class VersionedStore:
    """A versioned key-value store of typed keys and values.

    Refused puts are logged all the same, as in Kafka Streams: a restored store refuses them again.
    """

    kind = VERSIONED
    is_versioned = True
    retain_duplicates = False

    def __init__(
        self,
        bytes_store: Any,
        key_serde: Serde[Any] | None,
        value_serde: Serde[Any] | None,
        *,
        logging: bool,
        metrics_scope: str = "rocksdb",
    ) -> None:
        self.bytes_store = bytes_store
        self._key_serde_given = key_serde
        self._value_serde_given = value_serde
        self._logging = logging
        self._metrics_scope = metrics_scope

    @property
    def name(self) -> str:
        """The store's name."""
        return self.bytes_store.name  # type: ignore[no-any-return]

    @property
    def persistent(self) -> bool:
        """Whether the store outlives its task."""
        return self.bytes_store.persistent  # type: ignore[no-any-return]

    @property
    def is_open(self) -> bool:
        """Whether the store can be used."""
        return self.bytes_store.is_open  # type: ignore[no-any-return]

    @property
    def position(self) -> Position:
        """How far the store has come."""
        return self.bytes_store.position  # type: ignore[no-any-return]

    def init(self, context: StoreContext) -> None:
        """Resolve the serdes and open the store."""
        self._context = context
        if self._logging:
            self._append = context.change_logger(self.name)
        self.task_id = context.task_id
        self._topic = context.changelog_topic(self.name)
        self._key_serde = resolve_key_serde(self._key_serde_given, context.config)
        self._value_serde = resolve_value_serde(self._value_serde_given, context.config)
        sensor = context.metrics.store_sensor
        self._put_sensor = sensor(self._metrics_scope, self.name, "put")
        self._get_sensor = sensor(self._metrics_scope, self.name, "get")
        self._delete_sensor = sensor(self._metrics_scope, self.name, "delete")
        self.bytes_store.init(context, self)

    def flush(self) -> None:
        """Hand what was written to the store's files."""
        self.bytes_store.flush()

    def flush_cache(self) -> None:
        """Nothing is cached."""

    def close(self) -> None:
        self.bytes_store.close()

    def set_flush_listener(self, listener: FlushListener, send_old_values: bool) -> bool:
        """False: there is no cache that could flush."""
        return False

    def put(self, key: Any, value: Any | None, timestamp: int) -> int:
        """Store a version; returns until when it is valid, IS_LATEST, or NOT_PUT when it came too late."""
        started = perf_counter_ns() if self._put_sensor is not None else 0
        raw_key = self.key_bytes(key)
        raw_value = None if value is None else self._value_serde.serialize(self._topic, value)
        valid_to: int = self.bytes_store.put(raw_key, raw_value, timestamp)
        self._log(raw_key, raw_value, timestamp)
        if self._put_sensor is not None:
            self._put_sensor.record(perf_counter_ns() - started)
        return valid_to

    def delete(self, key: Any, timestamp: int) -> VersionedRecord | None:
        """Store a tombstone; returns the version that was valid at ``timestamp``."""
        started = perf_counter_ns() if self._delete_sensor is not None else 0
        raw_key = self.key_bytes(key)
        existing = self._without_end(self.bytes_store.delete(raw_key, timestamp))
        self._log(raw_key, None, timestamp)
        if self._delete_sensor is not None:
            self._delete_sensor.record(perf_counter_ns() - started)
        return existing

    def get(self, key: Any, as_of: int | None = None) -> VersionedRecord | None:
        """The latest version, or the one valid at ``as_of``."""
        started = perf_counter_ns() if self._get_sensor is not None else 0
        found = self._without_end(self.bytes_store.get(self.key_bytes(key), as_of))
        if self._get_sensor is not None:
            self._get_sensor.record(perf_counter_ns() - started)
        return found

    def all(self) -> StoreIterator[Any, VersionedRecord]:
        """The latest version of every key: for tables of the store; Kafka Streams has no such question."""
        found = self.bytes_store.all()
        key_of = partial(self._key_serde.deserialize, self._topic)
        return StoreIterator(((key_of(key), self.typed(record)) for key, record in found), found.close)

    def query(self, query: Query, bound: PositionBound | None = None) -> QueryResult:
        """Answer an interactive query."""
        return execute(self, query, bound)

    def versions(self, key: Any, time_from: int, time_to: int, *, descending: bool) -> Iterator[VersionedRecord]:
        """The versions valid in the span, for interactive queries."""
        found = self.bytes_store.versions(self.key_bytes(key), time_from, time_to, descending=descending)
        return (self.typed(record) for record in found)

    def version(self, key: Any, as_of: int | None) -> VersionedRecord | None:
        """As ``get``, but with the end of the version's validity, for interactive queries."""
        found = self.bytes_store.get(self.key_bytes(key), as_of)
        return None if found is None else self.typed(found)

    def key_bytes(self, key: Any) -> bytes:
        """The key as the store keeps it."""
        if key is None:
            raise OperatorTypeError("the key of a store cannot be None")
        raw = self._key_serde.serialize(self._topic, key)
        if raw is None:
            raise OperatorTypeError("the key of a store cannot be None once it is serialized")
        return raw

    def typed(self, record: VersionedRecord) -> VersionedRecord:
        """A version with its value deserialized."""
        return record._replace(value=self._value_serde.deserialize(self._topic, record.value))

    def _without_end(self, record: VersionedRecord | None) -> VersionedRecord | None:
        # The end of the validity does not survive Kafka Streams' typed layer; only queries show it.
        return None if record is None else self.typed(record)._replace(valid_to=None)

    def _log(self, key: bytes, value: bytes | None, timestamp: int) -> None:
        if self._logging:
            self._append(key, value, timestamp, NO_HEADERS)


class VersionedStoreBuilder(StoreBuilder):
    """Builds versioned stores from a supplier of the bytes store."""

    kind = VERSIONED
    is_versioned_store = True

    def __init__(
        self, supplier: Any, key_serde: GivenSerde[Any] | None = None, value_serde: GivenSerde[Any] | None = None
    ) -> None:
        super().__init__(supplier.name)
        self.supplier = supplier
        self.key_serde = given_serde("key_serde", key_serde)
        self.value_serde = given_serde("value_serde", value_serde)
        self.history_ms = supplier.history_ms

    def with_caching_enabled(self) -> VersionedStoreBuilder:
        """Refused: a cache would lose versions."""
        raise IllegalStateError("versioned stores cannot be cached", hint="Leave caching off for this store.")

    def build(self) -> VersionedStore:
        return VersionedStore(
            self.supplier.get(),
            self.key_serde,
            self.value_serde,
            logging=self.logging_enabled,
            metrics_scope=self.supplier.metrics_scope,
        )
