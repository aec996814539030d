"""Folds each record into every time window that holds its timestamp (Java: KStreamWindowAggregate)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from headrace.processors.aggregation import Aggregator, Initializer, WindowedAggregation
from headrace.processors.api import NodeContext, Processor
from headrace.processors.emit_final import EmitFinal
from headrace.processors.materialized import ChangeForwarder
from headrace.records import NO_TIMESTAMP, Change, Headers, Record, ValueAndTimestamp
from headrace.windows import EmitStrategy, TimeWindows, UnlimitedWindows, Windowed


@dataclass
class WindowAggregate(WindowedAggregation):
    windows: TimeWindows | UnlimitedWindows
    emit_strategy: EmitStrategy
    initializer: Initializer
    aggregator: Aggregator

    def __call__(self) -> WindowAggregateProcessor:
        return WindowAggregateProcessor(self)


class WindowUpdater(Processor):
    """What aggregations over time and sliding windows share: the store, stream time, updates and final results."""

    remembered = ("_stream_time", "_final")

    _forward_update: Callable[[Any, Any, int, Headers], None] | None
    _final: EmitFinal | None

    def __init__(self, supplier: Any) -> None:
        self._store_name = supplier.store_name
        self._send_old = supplier.send_old_values
        self._is_final = supplier.emit_strategy is EmitStrategy.ON_WINDOW_CLOSE
        self._grace_ms = supplier.windows.grace_ms
        self._initializer = supplier.initializer
        self._aggregator = supplier.aggregator
        self._stream_time = NO_TIMESTAMP

    def init(self, context: NodeContext) -> None:
        """Look the store up; final results leave when windows close, others at once or from the cache."""
        self.context = context
        self._store = context.store(self._store_name)
        self._fetch = self._store.fetch
        self._put = self._store.put
        self._drop = context.drop
        if self._is_final:
            self._final = EmitFinal(context, self._store_name)
            self._forward_update = None
        else:
            self._final = None
            forwarder = ChangeForwarder(context, self._store, send_old_values=self._send_old)
            self._forward_update = None if forwarder.caching else context.forward_parts

    def _emit(self, headers: Headers, start_from: int, start_to: int) -> int:
        """Send on the windows that start in this span, with the headers of the record that closed them; how many."""
        count = 0
        with self._store.fetch_all(start_from, start_to) as closed:
            for key, held in closed:
                # Make a Record, which refuses negative timestamps: a store without timestamps gives -1.
                self.context.forward(Record(key, Change(held.value, None), held.timestamp, headers))
                count += 1
        return count


class WindowAggregateProcessor(WindowUpdater):
    """Folds each record into every window that holds its timestamp.

    A window takes records until stream time passes its end by the grace period. A record that comes later is
    dropped and counted, once for each window it came too late for. A record without key is dropped; one without
    value is not.
    """

    def __init__(self, supplier: WindowAggregate) -> None:
        super().__init__(supplier)
        self._size_ms = supplier.windows.size_ms
        self._starts_for = supplier.windows.starts_for
        self._window_at = supplier.windows.window_at

    def process(self, record: Record[Any, Any]) -> None:
        self.take(record.key, record.value, record.timestamp, record.headers)

    def take(self, key: Any, value: Any, timestamp: int, headers: Headers) -> None:
        if key is None:
            self._drop("null key")
            return
        if timestamp > self._stream_time:
            if self._final is not None:
                self._emit_before(timestamp, headers, self._final)
            self._stream_time = timestamp
        close_ms = self._stream_time - self._grace_ms
        for start in self._starts_for(timestamp):
            if start + self._size_ms > close_ms:
                self._update(key, value, timestamp, headers, start)
            else:
                self._drop("expired window")
        if self._final is not None:
            self._emit_closed(headers, close_ms, self._final)

    def _update(self, key: Any, value: Any, timestamp: int, headers: Headers, start: int) -> None:
        held = self._fetch(key, start)
        old = None if held is None else held.value
        if old is None:
            old = self._initializer()
        elif held.timestamp > timestamp:
            timestamp = held.timestamp
        new = self._aggregator(key, value, old)
        self._put(key, None if new is None else ValueAndTimestamp(new, timestamp), start)
        if self._forward_update is not None:
            change = Change(new, old if self._send_old else None)
            self._forward_update(Windowed(key, self._window_at(start)), change, timestamp, headers)

    def _emit_before(self, timestamp: int, headers: Headers, final: EmitFinal) -> None:
        """Emit what has closed by now and is forgotten when a record of ``timestamp`` is written."""
        starts = self._starts_for(timestamp)
        kept_from = (starts[-1] if starts else 0) - self._size_ms - self._grace_ms + (not self._store.persistent)
        if kept_from > max(0, final.last_close_ms - self._size_ms + 1):
            self._emit_closed(headers, self._stream_time - self._grace_ms, final, at_once=True)

    def _emit_closed(self, headers: Headers, close_ms: int, final: EmitFinal, *, at_once: bool = False) -> None:
        start_to = close_ms - self._size_ms
        if not final.is_due(close_ms, at_once=at_once) or start_to < 0:
            return
        start_from = 0
        if final.emitted_before:
            emitted_to = max(0, final.last_close_ms - self._size_ms)
            if self._starts_for(start_to) == self._starts_for(emitted_to):
                return
            start_from = emitted_to + 1
        final.emitted(close_ms, self._emit(headers, start_from, start_to))
