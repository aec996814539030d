"""The rows of a stream-stream outer join that have found no partner yet.

One entry per time, side and key holds the list of values that wait; entries are read in order of time.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from headrace.records import NO_HEADERS, Headers
from headrace.serde.lists import ListSerde
from headrace.serde.primitives import BytesSerde
from headrace.state.contracts import StoreContext, StoreIterator
from headrace.state.kinds import StoreKind
from headrace.state.memory.store import home_of
from headrace.state.operator_store import OperatorStore, OperatorStoreBuilder
from headrace.state.ordered_map import OrderedMap
from headrace.state.rocksdb.database import Database

if TYPE_CHECKING:
    from headrace.serde import Serde

_TIME_AND_SIDE = struct.Struct(">q?")
_LEFT, _RIGHT = b"\x01", b"\x00"
_VALUES = ListSerde(BytesSerde())


class WaitingKey(NamedTuple):
    """Which row waits: its time, its side and its key. A plain tuple of the three will do, too."""

    timestamp: int
    is_left: bool
    key: Any


class OuterJoinStore(OperatorStore):
    """Values waiting for a partner, several to a key.

    A value belongs to the side its key names: the serde of that side writes it.
    """

    kind = StoreKind("outer_join")
    null_key = "the key of a store cannot be None"
    _entries: Any = None

    def __init__(
        self,
        name: str,
        key_serde: Serde[Any] | None,
        left_serde: Serde[Any] | None,
        right_serde: Serde[Any] | None,
        *,
        in_memory: bool,
        logging: bool,
    ) -> None:
        super().__init__(name, key_serde, right_serde, left_serde, logging=logging)
        self.persistent = not in_memory

    @property
    def is_open(self) -> bool:
        return self._entries is not None

    def _open(self, context: StoreContext) -> None:
        self._home = None if self.persistent else home_of(self.name, context)
        if self.persistent:
            self._entries = Database.open(self.name, context)
        else:
            self._entries = OrderedMap[bytes, bytes]() if self._home is None else self._home

    def flush(self) -> None:
        """Hand what was written to the store's files."""
        if self.persistent:
            self._entries.flush()

    def close(self) -> None:
        if self._entries is not None and (self.persistent or self._home is not None):
            self._entries.close()
        self._entries = None

    def put(self, key: tuple[int, bool, Any], value: Any | None) -> None:
        """Add a value to those that wait under ``key``; None removes them all."""
        self._put(self._waiting_key(*key), None if value is None else self._value_bytes(key[1], value))

    def put_if_absent(self, key: tuple[int, bool, Any], value: Any | None) -> None:
        """Put, but only where something waits under ``key`` already: the name is Kafka's, the rule too."""
        raw_key = self._waiting_key(*key)
        if self._entries.get(raw_key) is not None:
            self._put(raw_key, None if value is None else self._value_bytes(key[1], value))

    def all(self) -> StoreIterator[WaitingKey, Any]:
        """Everything that waits, in order of time, right side before left, key and arrival."""
        return StoreIterator(self._all())

    def approximate_num_entries(self) -> int:
        """How many keys have values waiting."""
        return sum(1 for _ in self._entries.scan())

    def restore(self, key: bytes, value: bytes | None, timestamp: int, headers: Headers = NO_HEADERS) -> None:
        self._entries.put(key, value)

    def _put(self, key: bytes, value: bytes | None) -> None:
        entry = None
        if value is not None:
            waiting = _VALUES.deserialize(self._topic, self._entries.get(key)) or []
            entry = _VALUES.serialize(self._topic, [*waiting, value])
        self._entries.put(key, entry)
        self._append(key, entry, self._context.timestamp, NO_HEADERS)

    def _all(self) -> Iterator[tuple[WaitingKey, Any]]:
        for raw_key, entry in self._entries.scan():
            timestamp, is_left = _TIME_AND_SIDE.unpack_from(raw_key)
            key = WaitingKey(timestamp, is_left, self._typed_key(raw_key[9:]))
            for value in _VALUES.deserialize(self._topic, entry) or ():
                yield key, self._typed(value)

    def _typed(self, value: bytes) -> Any:
        return self._value_serdes[value[:1] == _LEFT].deserialize(self._topic, value[1:])

    def _waiting_key(self, timestamp: int, is_left: bool, key: Any) -> bytes:
        return _TIME_AND_SIDE.pack(timestamp, is_left) + self._key_bytes(key)

    def _value_bytes(self, is_left: bool, value: Any) -> bytes | None:
        raw = self._value_serdes[is_left].serialize(self._topic, value)
        return None if raw is None else (_LEFT if is_left else _RIGHT) + raw


def outer_join_store(
    name: str,
    key_serde: Serde[Any] | None,
    left_serde: Serde[Any] | None,
    right_serde: Serde[Any] | None,
    *,
    in_memory: bool,
) -> OperatorStoreBuilder[OuterJoinStore]:
    """The builder of the store of waiting rows."""
    return OperatorStoreBuilder(OuterJoinStore, name, key_serde, left_serde, right_serde, in_memory=in_memory)
