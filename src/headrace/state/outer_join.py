"""The rows of a stream-stream outer join that have found no partner yet.

One entry per time, side and key holds the list of values that wait; entries are read in order of time.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from headrace.errors import OperatorTypeError
from headrace.records import NO_HEADERS, Headers
from headrace.serde.defaults import resolve_key_serde, resolve_value_serde
from headrace.serde.lists import ListSerde
from headrace.serde.primitives import BytesSerde
from headrace.state.contracts import FlushListener, StoreContext, StoreIterator
from headrace.state.kinds import StoreKind
from headrace.state.memory.store import home_of
from headrace.state.ordered_map import OrderedMap
from headrace.state.rocksdb.database import Database
from headrace.state.store_builder import StoreBuilder

if TYPE_CHECKING:
    from headrace.serde import Serde

_TIME_AND_SIDE = struct.Struct(">q?")
_LEFT, _RIGHT = b"\x01", b"\x00"
_VALUES = ListSerde(BytesSerde())
_KIND = StoreKind("outer_join")


class WaitingKey(NamedTuple):
    """Which row waits: its time, its side and its key. A plain tuple of the three will do, too."""

    timestamp: int
    is_left: bool
    key: Any


class OuterJoinStore:
    """Values waiting for a partner, several to a key.

    A value belongs to the side its key names: the serde of that side writes it.
    """

    kind = _KIND
    retain_duplicates = False

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
        self.name = name
        self.persistent = not in_memory
        self._serdes_given = key_serde, left_serde, right_serde
        self._logging = logging
        self._entries: Any = None

    @property
    def is_open(self) -> bool:
        return self._entries is not None

    def init(self, context: StoreContext) -> None:
        key_serde, left_serde, right_serde = self._serdes_given
        self._context = context
        if self._logging:
            self._append = context.change_logger(self.name)
        self._topic = context.changelog_topic(self.name)
        self._key_serde = resolve_key_serde(key_serde, context.config)
        self._left_serde = resolve_value_serde(left_serde, context.config)
        self._right_serde = resolve_value_serde(right_serde, context.config)
        self._home = None if self.persistent else home_of(self.name, context)
        if self.persistent:
            self._entries = Database.open(self.name, context)
        else:
            self._entries = OrderedMap[bytes, bytes]() if self._home is None else self._home
        context.register(self, self.restore)

    def flush(self) -> None:
        """Hand what was written to the store's files."""
        if self.persistent:
            self._entries.flush()

    def flush_cache(self) -> None:
        """Nothing is cached."""

    def close(self) -> None:
        if self._entries is not None and (self.persistent or self._home is not None):
            self._entries.close()
        self._entries = None

    def set_flush_listener(self, listener: FlushListener, send_old_values: bool) -> bool:
        """False: there is no cache that could flush."""
        return False

    def put(self, key: tuple[int, bool, Any], value: Any | None) -> None:
        """Add a value to those that wait under ``key``; None removes them all."""
        raw_key = self._key_bytes(key)
        raw_value = None if value is None else self._value_bytes(key[1], value)
        self._put(raw_key, raw_value)

    def put_if_absent(self, key: tuple[int, bool, Any], value: Any | None) -> None:
        """Put, but only where something waits under ``key`` already: the name is Kafka's, the rule too."""
        raw_key = self._key_bytes(key)
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
        if self._logging:
            self._append(key, entry, self._context.timestamp, NO_HEADERS)

    def _all(self) -> Iterator[tuple[WaitingKey, Any]]:
        for raw_key, entry in self._entries.scan():
            timestamp, is_left = _TIME_AND_SIDE.unpack_from(raw_key)
            key = WaitingKey(timestamp, is_left, self._key_serde.deserialize(self._topic, raw_key[9:]))
            for value in _VALUES.deserialize(self._topic, entry) or ():
                yield key, self._typed(value)

    def _typed(self, value: bytes) -> Any:
        serde = self._left_serde if value[:1] == _LEFT else self._right_serde
        return serde.deserialize(self._topic, value[1:])

    def _key_bytes(self, key: tuple[int, bool, Any]) -> bytes:
        timestamp, is_left, inner = key
        raw = self._key_serde.serialize(self._topic, inner)
        if raw is None:
            raise OperatorTypeError("the key of a store cannot be None")
        return _TIME_AND_SIDE.pack(timestamp, is_left) + raw

    def _value_bytes(self, is_left: bool, value: Any) -> bytes | None:
        raw = (self._left_serde if is_left else self._right_serde).serialize(self._topic, value)
        return None if raw is None else (_LEFT if is_left else _RIGHT) + raw


class OuterJoinStoreBuilder(StoreBuilder):
    """Builds the store of waiting rows."""

    kind = _KIND

    def __init__(
        self,
        name: str,
        key_serde: Serde[Any] | None,
        left_value_serde: Serde[Any] | None,
        right_value_serde: Serde[Any] | None,
        *,
        in_memory: bool,
    ) -> None:
        super().__init__(name)
        self.key_serde = key_serde
        self.left_value_serde = left_value_serde
        self.right_value_serde = right_value_serde
        self.in_memory = in_memory

    def build(self) -> OuterJoinStore:
        return OuterJoinStore(
            self.name,
            self.key_serde,
            self.left_value_serde,
            self.right_value_serde,
            in_memory=self.in_memory,
            logging=self.logging_enabled,
        )
