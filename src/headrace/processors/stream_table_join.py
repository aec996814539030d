"""A stream that looks up a table, or a global table: only records of the stream give results."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from headrace.errors import ArgumentError
from headrace.processors.api import NodeContext, Processor
from headrace.processors.materialized import ValueGetter, ValueGetterSupplier
from headrace.records import NO_TIMESTAMP, Record


@dataclass(frozen=True)
class StreamTableJoin:
    """Supplies the processors of a join; with ``buffer``, a store builder, records wait out a grace period."""

    getters: ValueGetterSupplier
    joiner: Callable[..., Any]
    with_key: bool
    left: bool
    buffer: Any = None

    @property
    def stores(self) -> tuple[Any, ...]:
        return () if self.buffer is None else (self.buffer,)

    def __call__(self) -> StreamTableJoinProcessor:
        if self.buffer is not None:
            return BufferedStreamTableJoinProcessor(self, self.buffer.name)
        return StreamTableJoinProcessor(self)


@dataclass(frozen=True)
class StreamGlobalTableJoin:
    """Supplies the processors of a join with a global table by the key that ``key_selector`` returns."""

    getters: ValueGetterSupplier
    joiner: Callable[..., Any]
    with_key: bool
    left: bool
    key_selector: Callable[[Any, Any], Any]

    def __call__(self) -> StreamGlobalTableJoinProcessor:
        return StreamGlobalTableJoinProcessor(self)


class StreamTableJoinProcessor(Processor):
    """Join each record with the row of its key.

    A record without a value is dropped, in an inner join also one without a key.
    """

    def __init__(self, join: StreamTableJoin | StreamGlobalTableJoin) -> None:
        self._getter: ValueGetter = join.getters.get()
        self._joiner, self._with_key, self._left = join.joiner, join.with_key, join.left

    def init(self, context: NodeContext) -> None:
        self._forward = context.forward
        self._drop = context.drop
        self._getter.init(context)
        self._get = self._getter.get
        self._get_as_of = self._getter.get_as_of if self._getter.is_versioned else None

    def process(self, record: Record[Any, Any]) -> None:
        if record.value is None or (record.key is None and not self._left):
            self._drop("null join key or value")
        else:
            self._join(record, record.key)

    def close(self) -> None:
        self._getter.close()

    def _join(self, record: Record[Any, Any], table_key: Any) -> None:
        row = None
        if table_key is not None:
            as_of = self._get_as_of
            row = self._get(table_key) if as_of is None else as_of(table_key, record.timestamp)
        if row is None and not self._left:
            return
        value = None if row is None else row.value
        joined = self._joiner(record.key, record.value, value) if self._with_key else self._joiner(record.value, value)
        self._forward(Record(record.key, joined, record.timestamp, record.headers))


class StreamGlobalTableJoinProcessor(StreamTableJoinProcessor):
    """Join each record with the row of the key that the selector returns.

    A record without a value is dropped, in an inner join also one for which the selector returns None.
    """

    def __init__(self, join: StreamGlobalTableJoin) -> None:
        super().__init__(join)
        self._select = join.key_selector

    def process(self, record: Record[Any, Any]) -> None:
        table_key = self._select(record.key, record.value)
        if record.value is None or (table_key is None and not self._left):
            self._drop("null join key or value")
            return
        # Kafka Streams calls the selector once to decide on dropping and once to join; it may have side effects.
        self._join(record, self._select(record.key, record.value))


class BufferedStreamTableJoinProcessor(StreamTableJoinProcessor):
    """Let each record wait until stream time has passed it by the grace period, then join it.

    Records leave in the order of their timestamps. One that comes later than that is joined at once.
    """

    remembered = ("_stream_time",)

    def __init__(self, join: StreamTableJoin, buffer_name: str) -> None:
        super().__init__(join)
        self._buffer_name = buffer_name
        self._stream_time = NO_TIMESTAMP

    def init(self, context: NodeContext) -> None:
        super().init(context)
        if self._get_as_of is None:
            raise ArgumentError("the table must be versioned to use a grace period in a stream-table join")
        self._context = context
        self._buffer = context.store(self._buffer_name)

    def process(self, record: Record[Any, Any]) -> None:
        """Put the record into the buffer and join those that are due."""
        self._stream_time = max(self._stream_time, record.timestamp)
        if record.value is None or (record.key is None and not self._left):
            self._drop("null join key or value")
        elif self._buffer.put(self._stream_time, record, self._context.record_context):
            self._buffer.evict_while(_always, self._emit)
        else:
            self._join(record, record.key)

    def _emit(self, eviction: Any) -> None:
        origin = eviction.record_context
        current = self._context.record_context
        self._context.record_context = origin
        try:
            self._join(Record(eviction.key, eviction.value, origin.timestamp, origin.headers), eviction.key)
        finally:
            self._context.record_context = current


def _always() -> bool:
    return True
