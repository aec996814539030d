"""The buffer of a stream-table join with grace: stream records that wait for the table to catch up, in RocksDB.

Every record is kept, also several of one key. The changelog is written at once.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from headrace.errors import OperatorTypeError
from headrace.records import NO_HEADERS, NO_TIMESTAMP, Headers, Record, RecordContext
from headrace.state.buffers.suppress import Eviction
from headrace.state.buffers.values import BufferValue
from headrace.state.contracts import StoreContext
from headrace.state.key_schemas import MAX_SEQUENCE
from headrace.state.kinds import StoreKind
from headrace.state.operator_store import OperatorStore, OperatorStoreBuilder
from headrace.state.rocksdb.database import Database
from headrace.windows import MAX_TIMESTAMP

if TYPE_CHECKING:
    from headrace.serde import Serde

_PREFIX = b"\0"
_TIME = struct.Struct(">q")
_SEQUENCE = struct.Struct(">i")
_NO_BUFFER_TIME = bytes(8)


class StreamTableBuffer(OperatorStore):
    """Stream records by time, key and arrival, until stream time has passed them by the grace period."""

    persistent = True
    retain_duplicates = True
    kind = StoreKind("stream_table_buffer")
    null_key = "the key of a buffered record cannot be None"
    remembered = ("_stream_time", "_sequence", "num_records", "buffer_size", "min_timestamp")
    _database: Any = None

    def __init__(
        self,
        name: str,
        key_serde: Serde[Any] | None,
        value_serde: Serde[Any] | None,
        *,
        grace_ms: int,
        topic: str,
        logging: bool,
    ) -> None:
        super().__init__(name, key_serde, value_serde, logging=logging, topic=topic)
        self._grace_ms = grace_ms
        self._stream_time = NO_TIMESTAMP
        self._sequence = 0
        self.num_records = 0
        self.buffer_size = 0
        self.min_timestamp = MAX_TIMESTAMP

    @property
    def is_open(self) -> bool:
        return self._database is not None

    def _open(self, context: StoreContext) -> None:
        (self._value_serde,) = self._value_serdes
        self._database = Database.open(self.name, context)
        for key, value in self._database.scan():
            self._count(key, BufferValue.parse(value))

    def flush(self) -> None:
        """Hand what was written to RocksDB's files."""
        self._database.flush()

    def close(self) -> None:
        if self._database is not None:
            self._database.close()
            self._database = None

    def put(self, time: int, record: Record[Any, Any], record_context: RecordContext) -> bool:
        """Buffer a record; False when it is older than the grace period and must be joined right away."""
        if record.key is None or record.value is None:
            raise OperatorTypeError("a buffer takes records with key and value")
        if self._stream_time - self._grace_ms > record.timestamp:
            return False
        self._sequence = (self._sequence + 1) & MAX_SEQUENCE
        key = self._store_key(record)
        value = BufferValue(None, None, self._value_serde.serialize(self._topic, record.value), record_context)
        data = value.dump()
        self._database.put(key, data)
        self._count(key, value)
        self._append(key, data + _NO_BUFFER_TIME, None, NO_HEADERS)
        return True

    def evict_while(self, predicate: Callable[[], bool], callback: Callable[[Eviction], None]) -> None:
        """Hand over the records that stream time has passed by the grace period, earliest first."""
        if not predicate():
            return
        until = self._stream_time - self._grace_ms
        if until >= 0:
            for key, data in self._database.scan(_PREFIX, _PREFIX + _TIME.pack(until + 1)):
                if not predicate():
                    break
                self._evict(key, BufferValue.parse(data), callback)
        self.min_timestamp = until + 1 if self.num_records else MAX_TIMESTAMP

    def prior_value_for_buffered(self, key: Any) -> None:
        """None: this buffer keeps no earlier values."""
        return

    def restore(self, key: bytes, value: bytes | None, timestamp: int, headers: Headers = NO_HEADERS) -> None:
        held = self._database.get(key)
        if value is None and held is not None:
            self._discount(key, BufferValue.parse(held))
        if value is not None and held is None:
            self._count(key, BufferValue.parse(value))
        self._database.put(key, None if value is None else value[: -len(_NO_BUFFER_TIME)])

    def _store_key(self, record: Record[Any, Any]) -> bytes:
        raw = self._key_bytes(record.key)
        return b"".join((_PREFIX, _TIME.pack(record.timestamp), raw, _SEQUENCE.pack(self._sequence)))

    def _evict(self, key: bytes, value: BufferValue, callback: Callable[[Eviction], None]) -> None:
        typed_value = self._value_serde.deserialize(self._topic, value.new)
        callback(Eviction(self._typed_key(key[9:-4]), typed_value, value.context))
        self._database.put(key, None)
        self._discount(key, value)
        self._append(key, None, None, NO_HEADERS)

    def _count(self, key: bytes, value: BufferValue) -> None:
        time = _TIME.unpack_from(key, 1)[0]
        self._stream_time = max(self._stream_time, time)
        self._sequence = max(self._sequence, _SEQUENCE.unpack_from(key, len(key) - 4)[0])
        self.min_timestamp = min(self.min_timestamp, time)
        self.num_records += 1
        self.buffer_size += len(key) + value.memory_size

    def _discount(self, key: bytes, value: BufferValue) -> None:
        self.num_records -= 1
        self.buffer_size -= len(key) + value.memory_size


def stream_table_buffer(
    name: str,
    key_serde: Serde[Any] | None,
    value_serde: Serde[Any] | None,
    *,
    grace_ms: int,
    topic: str | None = None,
) -> OperatorStoreBuilder[StreamTableBuffer]:
    """The builder of the buffers of one join; ``topic`` is the name its serdes are given, by default the store's."""
    return OperatorStoreBuilder(
        StreamTableBuffer, name, key_serde, value_serde, grace_ms=grace_ms, topic=name if topic is None else topic
    )
