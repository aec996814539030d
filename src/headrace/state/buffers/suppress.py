"""The buffer of ``suppress``: table changes held back in memory until their time has come.

Per key only the last change is kept, at the time of the first. The changelog is written when the buffer is
flushed, one record per key that changed since.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from headrace.errors import IllegalStateError, OperatorTypeError, StoreError
from headrace.records import NO_HEADERS, NO_TIMESTAMP, Change, Headers, Record, RecordContext, ValueAndTimestamp
from headrace.state.buffers.hash_order import HashOrderedSet
from headrace.state.buffers.values import BufferValue
from headrace.state.contracts import StoreContext
from headrace.state.kinds import StoreKind
from headrace.state.memory.store import home_of
from headrace.state.operator_store import OperatorStore, OperatorStoreBuilder
from headrace.state.ordered_map import OrderedMap
from headrace.windows import MAX_TIMESTAMP

if TYPE_CHECKING:
    from headrace.serde import Serde
    from headrace.state.rocksdb.visits import VisitedDatabase

_LONG = struct.Struct(">q")
_VERSION_3 = Headers([("v", b"\x03")])


class _Entry(msgspec.Struct, array_like=True, frozen=True):
    """A buffered change as it is saved: whole, whereas the changelog leaves some of it out."""

    time: int
    values: tuple[bytes | None, bytes | None, bytes | None]
    origin: tuple[int, int, int, str | None]
    headers: list[tuple[str, bytes | None]]
    raw: tuple[bytes | None, bytes | None]


_read_entry = msgspec.msgpack.Decoder(_Entry).decode


class Eviction(NamedTuple):
    """A record that leaves a buffer, with the context it came in."""

    key: Any
    value: Any
    record_context: RecordContext


class Prior(NamedTuple):
    """The row before the change that is buffered: what the outside still sees. None is a row, too: an absent one."""

    row: ValueAndTimestamp | None


class SuppressBuffer(OperatorStore):
    """Changes by time; per key the last one, with the time of the first."""

    persistent = False
    kind = StoreKind("suppress_buffer")
    null_key = "the key of a buffered record cannot be None"
    remembered = ("_dirty",)
    _is_open = False

    def __init__(
        self, name: str, key_serde: Serde[Any] | None, value_serde: Serde[Any] | None, *, logging: bool
    ) -> None:
        super().__init__(name, key_serde, value_serde, logging=logging)
        self._times: dict[bytes, int] = {}
        self._sorted: OrderedMap[tuple[int, bytes], BufferValue] = OrderedMap()
        self._dirty = HashOrderedSet()
        self.buffer_size = 0
        self.min_timestamp = MAX_TIMESTAMP
        self._home: VisitedDatabase | None = None
        # The keys that have changed since the buffer was saved.
        self._changed: set[bytes] = set()

    @property
    def is_open(self) -> bool:
        return self._is_open

    @property
    def num_records(self) -> int:
        """How many keys are buffered."""
        return len(self._times)

    def _open(self, context: StoreContext) -> None:
        """Empty until it is restored, or as it was saved."""
        (self._value_serde,) = self._value_serdes
        self._home = home_of(self.name, context)
        if self._home is not None:
            self._load(self._home)
        self._is_open = True

    def flush(self) -> None:
        """Write the changelog: what changed since the last time, in the order of Java's hash set."""
        if self._logging:
            for key in self._dirty.in_order():
                self._log(key)
            self._dirty.clear()
        if self._home is not None:
            self._save(self._home)

    flush_cache = flush

    def close(self) -> None:
        self._is_open = False
        self._times.clear()
        self._sorted.clear()
        self._dirty.clear()
        self.buffer_size = 0
        self.min_timestamp = MAX_TIMESTAMP
        if self._home is not None:
            self._home.close()
            self._home = None

    def put(self, time: int, record: Record[Any, Change], record_context: RecordContext) -> bool:
        """Buffer a change until ``time``, or until the time of the change it replaces."""
        if record.value is None:
            raise OperatorTypeError("a buffer takes changes, not None")
        key = self._key_bytes(record.key)
        new = self._value_serde.serialize(self._topic, record.value.new)
        old = self._value_serde.serialize(self._topic, record.value.old)
        buffered = self._buffered(key)
        prior = old if buffered is None else buffered.prior
        self._put(time, key, BufferValue(prior, old, new, record_context))
        if self._logging:
            self._dirty.add(key)
        return True

    def evict_while(self, predicate: Callable[[], bool], callback: Callable[[Eviction], None]) -> None:
        """Hand over the earliest records, one by one, as long as ``predicate`` says so."""
        while predicate() and (first := self._sorted.first()) is not None:
            (time, key), buffered = first
            if time != self.min_timestamp:
                message = f"the buffer's earliest time is {time}, but it was taken for {self.min_timestamp}"
                raise IllegalStateError(message)
            callback(self._eviction(key, buffered))
            self._remove(key)
            if self._logging:
                self._dirty.add(key)

    def prior_value_for_buffered(self, key: Any) -> Prior | None:
        """What the row of ``key`` was before it was buffered; None when nothing of it is buffered."""
        buffered = self._buffered(self._key_bytes(key))
        if buffered is None:
            return None
        value = self._value_serde.deserialize(self._topic, buffered.prior)
        return Prior(ValueAndTimestamp.make(value, NO_TIMESTAMP))

    def restore(self, key: bytes, value: bytes | None, timestamp: int, headers: Headers = NO_HEADERS) -> None:
        if value is None:
            self._remove(key)
        elif headers.last("v") == b"\x03":
            self._put(_LONG.unpack_from(value, len(value) - 8)[0], key, BufferValue.parse(value))
        else:
            message = f"the changelog of {self.name} has a record in an unknown format"
            raise StoreError(message, detail=f"header v is {headers.last('v')!r}, known is 3")

    def _buffered(self, key: bytes) -> BufferValue | None:
        time = self._times.get(key)
        return None if time is None else self._sorted.get((time, key))

    def _eviction(self, key: bytes, buffered: BufferValue) -> Eviction:
        loads = self._value_serde.deserialize
        change = Change(loads(self._topic, buffered.new), loads(self._topic, buffered.old))
        return Eviction(self._typed_key(key), change, buffered.context)

    def _put(self, time: int, key: bytes, value: BufferValue) -> None:
        known = self._times.get(key)
        if known is None:
            self._times[key] = known = time
            self.min_timestamp = min(self.min_timestamp, time)
            self.buffer_size += 8 + len(key)
        else:
            replaced = self._sorted.get((known, key))
            self.buffer_size -= 0 if replaced is None else replaced.memory_size
        if self._home is not None:
            self._changed.add(key)
        self._sorted.put((known, key), value)
        self.buffer_size += value.memory_size

    def _remove(self, key: bytes) -> None:
        time = self._times.pop(key, None)
        if time is None:
            return
        if self._home is not None:
            self._changed.add(key)
        removed = self._sorted.pop((time, key))
        if removed is not None:
            self.buffer_size -= 8 + len(key) + removed.memory_size
        first = self._sorted.first()
        self.min_timestamp = MAX_TIMESTAMP if first is None else first[0][0]

    def _log(self, key: bytes) -> None:
        buffered = self._buffered(key)
        if buffered is None:
            self._append(key, None, None, NO_HEADERS)
        else:
            value = buffered.dump() + _LONG.pack(self._times[key])
            self._append(key, value, None, _VERSION_3)

    def _load(self, home: VisitedDatabase) -> None:
        for key, data in home.scan():
            held = _read_entry(data)
            origin = RecordContext(*held.origin, Headers(held.headers), *held.raw)
            self._put(held.time, key, BufferValue(*held.values, origin))
        self._changed.clear()

    def _save(self, home: VisitedDatabase) -> None:
        for key in sorted(self._changed):
            buffered = self._buffered(key)
            home.put(key, None if buffered is None else _dump_entry(self._times[key], buffered))
        self._changed.clear()


def _dump_entry(time: int, value: BufferValue) -> bytes:
    timestamp, offset, partition, topic, headers, *raw = value.context
    origin = (timestamp, offset, partition, topic)
    values = (value.prior, value.old, value.new)
    return msgspec.msgpack.encode(_Entry(time, values, origin, list(headers), (raw[0], raw[1])))


def suppress_buffer(
    name: str, key_serde: Serde[Any] | None, value_serde: Serde[Any] | None
) -> OperatorStoreBuilder[SuppressBuffer]:
    """The builder of the buffers of one ``suppress``."""
    return OperatorStoreBuilder(SuppressBuffer, name, key_serde, value_serde)
