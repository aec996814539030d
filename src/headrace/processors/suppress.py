"""Holds a table's changes back until their window has closed or a time limit has passed.

The buffer keeps the changes; this operator says when they may leave.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from headrace.errors import StreamsError, UnsupportedError
from headrace.processors.api import NodeContext, Processor
from headrace.processors.materialized import TableSupplier, ValueGetterSupplier
from headrace.records import NO_TIMESTAMP, Change, Record, RecordContext, ValueAndTimestamp
from headrace.windows import BufferConfig, BufferFull

if TYPE_CHECKING:
    from headrace.state.buffers.suppress import Eviction, SuppressBuffer
    from headrace.state.operator_store import OperatorStoreBuilder


@dataclass
class Suppress:
    """Supplies the processor that delays the changes of ``parent`` by ``wait_ms`` of stream time.

    With ``final`` the time runs from the end of the window, and only final results leave; otherwise it runs
    from the first change of a key.
    """

    parent: TableSupplier
    store: OperatorStoreBuilder[SuppressBuffer]
    """The builder of the buffer."""
    limits: BufferConfig
    wait_ms: int
    final: bool

    def __post_init__(self) -> None:
        # The buffer remembers what the outside still sees, which is the old value of the first change it holds.
        self.parent.enable_sending_old_values(True)

    def __call__(self) -> Processor:
        return SuppressProcessor(self)

    @property
    def stores(self) -> tuple[Any, ...]:
        return (self.store,)

    def view(self) -> ValueGetterSupplier:
        """Rows as the outside sees them: without the changes that are still held back."""
        rows, buffer = self.parent.view(), self.store.name
        return ValueGetterSupplier((buffer, *rows.store_names), partial(SuppressedValueGetter, rows, buffer))

    def enable_sending_old_values(self, force_materialization: bool) -> bool:
        """The parent sends them already."""
        return self.parent.enable_sending_old_values(force_materialization)


class SuppressProcessor(Processor):
    """Buffers each change, then lets go what is due, or what no longer fits."""

    remembered = ("_stream_time",)

    def __init__(self, settings: Suppress) -> None:
        self._store_name = settings.store.name
        self._limits, self._wait_ms, self._final = settings.limits, settings.wait_ms, settings.final
        self._stream_time = NO_TIMESTAMP

    def init(self, context: NodeContext) -> None:
        self._context = context
        self._forward = context.forward
        self._buffer: SuppressBuffer = context.store(self._store_name)
        self._emitted = context.metrics.node_sensor(context.node_name, "suppression-emit")

    def process(self, record: Record[Any, Change]) -> None:
        self._stream_time = max(self._stream_time, record.timestamp)
        time = record.key.window.end if self._final else record.timestamp
        self._buffer.put(time, record, self._origin(record))
        self._buffer.evict_while(self._is_due, self._emit)
        if self._is_full():
            self._make_room()

    def _origin(self, record: Record[Any, Change]) -> RecordContext:
        origin = self._context.record_context or RecordContext(record.timestamp, -1, -1, None)
        if origin.timestamp == record.timestamp and origin.headers == record.headers:
            return origin
        return origin._replace(timestamp=record.timestamp, headers=record.headers)

    def _is_due(self) -> bool:
        return self._buffer.min_timestamp <= self._stream_time - self._wait_ms

    def _is_full(self) -> bool:
        limits = self._limits
        return (limits.records is not None and self._buffer.num_records > limits.records) or (
            limits.bytes is not None and self._buffer.buffer_size > limits.bytes
        )

    def _make_room(self) -> None:
        if self._limits.when_full is BufferFull.EMIT:
            self._buffer.evict_while(self._is_full, self._emit)
            return
        message = f"the buffer of {self._context.node_name} exceeded its capacity"
        raise StreamsError(
            message,
            detail=f"{self._buffer.num_records} records of at most {self._limits.records}, "
            f"{self._buffer.buffer_size} bytes of at most {self._limits.bytes}",
            hint="Give the buffer more room, or let it emit early.",
        )

    def _emit(self, leaving: Eviction) -> None:
        # A window that was deleted before it closed never had a result that would have to be taken back.
        if self._final and leaving.value.new is None:
            return
        origin = leaving.record_context
        current, self._context.record_context = self._context.record_context, origin
        try:
            self._forward(Record(leaving.key, leaving.value, origin.timestamp, origin.headers))
            if self._emitted is not None:
                self._emitted.record()
        finally:
            self._context.record_context = current


class SuppressedValueGetter:
    """Looks up the row before the change that is held back; without one, the parent's row."""

    def __init__(self, parent: ValueGetterSupplier, buffer_name: str) -> None:
        self._parent = parent.get()
        self._buffer_name = buffer_name

    def init(self, context: NodeContext, *, as_flushed: bool = False) -> None:
        self._parent.init(context, as_flushed=as_flushed)
        self._buffer: SuppressBuffer = context.store(self._buffer_name)

    def get(self, key: Any) -> ValueAndTimestamp | None:
        """The row as the outside sees it."""
        prior = self._buffer.prior_value_for_buffered(key)
        return self._parent.get(key) if prior is None else prior.row

    def get_as_of(self, key: Any, timestamp: int) -> ValueAndTimestamp | None:
        """Refused: a suppressed table has no versions."""
        raise UnsupportedError("a suppressed table cannot be looked up as of a time")

    @property
    def is_versioned(self) -> bool:
        """Never: versioned tables cannot be suppressed."""
        return False

    def close(self) -> None:
        self._parent.close()
