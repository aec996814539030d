"""Folds records into sessions, merging those that a record brings together (Java: KStreamSessionWindowAggregate)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from headrace.processors.aggregation import Aggregation, Aggregator, Initializer, Merger, UnversionedValueGetter
from headrace.processors.api import NodeContext, Processor
from headrace.processors.emit_final import EmitFinal
from headrace.processors.materialized import ValueGetterSupplier, rows_in_store
from headrace.records import NO_HEADERS, NO_TIMESTAMP, Change, Record, ValueAndTimestamp
from headrace.windows import MAX_TIMESTAMP, EmitStrategy, SessionWindow, SessionWindows, Windowed

_STEP_MS = 1000
"""A store on disk forgets by segments, which begin at full seconds unless somebody has chosen an odd retention."""


@dataclass
class SessionAggregate(Aggregation):
    windows: SessionWindows
    emit_strategy: EmitStrategy
    initializer: Initializer
    aggregator: Aggregator
    merger: Merger

    def __call__(self) -> SessionAggregateProcessor:
        return SessionAggregateProcessor(self)

    def view(self) -> ValueGetterSupplier:
        return rows_in_store(self.store_name, SessionValueGetter)


class SessionAggregateProcessor(Processor):
    """Merges all sessions of a key that lie within the gap of a record, and folds the record in.

    Sessions that grow or merge are removed first, each with a change of its own. A session takes records until stream
    time passes its end by gap and grace; later ones are dropped, as are records without key. The time of a result
    is the end of its session; as in Kafka, updates carry no headers.
    """

    remembered = ("_stream_time", "_final")
    _forward_update: Callable[[Record[Any, Any]], None] | None
    _final: EmitFinal | None

    def __init__(self, supplier: SessionAggregate) -> None:
        self._store_name = supplier.store_name
        self._send_old = supplier.send_old_values
        self._is_final = supplier.emit_strategy is EmitStrategy.ON_WINDOW_CLOSE
        self._gap_ms = supplier.windows.gap_ms
        self._close_after_ms = supplier.windows.gap_ms + supplier.windows.grace_ms
        self._initializer = supplier.initializer
        self._aggregator = supplier.aggregator
        self._merger = supplier.merger
        self._stream_time = NO_TIMESTAMP

    def init(self, context: NodeContext) -> None:
        """Look the store up; final results leave when sessions close, others at once or from the cache."""
        self.context = context
        self._store = store = context.store(self._store_name)
        self._find_sessions = store.find_sessions
        self._put = store.put
        self._remove = store.remove
        self._drop = context.drop
        self._forward = context.forward
        if self._is_final:
            self._final = EmitFinal(context, self._store_name)
            self._forward_update = None
        else:
            self._final = None
            cached = store.set_flush_listener(self._on_flush, self._send_old)
            self._forward_update = None if cached else context.forward

    def process(self, record: Record[Any, Any]) -> None:
        key, timestamp = record.key, record.timestamp
        if key is None:
            self._drop("null key")
            return
        if timestamp > self._stream_time:
            if self._final is not None:
                self._emit_before(timestamp, record, self._final)
            self._stream_time = timestamp
        close_ms = self._stream_time - self._close_after_ms
        aggregate = self._initializer()
        start = end = timestamp
        near = []
        until = min(timestamp + self._gap_ms, MAX_TIMESTAMP)
        with self._find_sessions(key, timestamp - self._gap_ms, until) as sessions:
            for session, held in sessions:
                near.append((session, held))
                aggregate = self._merger(key, aggregate, held)
                start = min(start, session.window.start)
                end = max(end, session.window.end)
        if end < close_ms:
            self._drop("expired window")
        else:
            if start != end:
                self._remove_sessions(near)
            self._update(Windowed(key, SessionWindow(start, end)), self._aggregator(key, record.value, aggregate))
        if self._final is not None:
            self._emit_closed(record, close_ms, self._final)

    def _remove_sessions(self, sessions: list[tuple[Windowed[Any], Any]]) -> None:
        for session, held in sessions:
            self._remove(session)
            self._send(session, None, held)

    def _update(self, session: Windowed[Any], aggregate: Any) -> None:
        self._put(session, aggregate)
        self._send(session, aggregate, None)

    def _send(self, session: Windowed[Any], new: Any, old: Any) -> None:
        if self._forward_update is not None:
            change = Change(new, old if self._send_old else None)
            self._forward_update(Record(session, change, session.window.end))

    def _on_flush(self, record: Record[Any, Any]) -> None:
        # A store with room for headers reports its own, and aggregations leave those empty.
        headers = NO_HEADERS if self._store.kind.headers else record.headers
        self._forward(Record(record.key, record.value, record.key.window.end, headers))

    def _emit_before(self, timestamp: int, record: Record[Any, Any], final: EmitFinal) -> None:
        """Emit what has closed by now, where it may be forgotten when a record of ``timestamp`` is written."""
        close_ms = timestamp - self._close_after_ms
        step_ms = _STEP_MS if self._store.persistent else 1
        if close_ms // step_ms > final.last_close_ms // step_ms:
            self._emit_closed(record, self._stream_time - self._close_after_ms, final, at_once=True)

    def _emit_closed(self, record: Record[Any, Any], close_ms: int, final: EmitFinal, *, at_once: bool = False) -> None:
        end_to = close_ms - 1
        if not final.is_due(close_ms, at_once=at_once) or end_to < 0:
            return
        end_from = max(0, final.last_close_ms)
        if end_to < end_from:
            return
        final.emitted(close_ms, self._emit(record, end_from, end_to))

    def _emit(self, record: Record[Any, Any], end_from: int, end_to: int) -> int:
        count = 0
        with self._store.find_sessions_by_end(end_from, end_to) as closed:
            for session, held in closed:
                self._forward(Record(session, Change(held, None), session.window.end, record.headers))
                count += 1
        return count


class SessionValueGetter(UnversionedValueGetter):
    def get(self, key: Any) -> ValueAndTimestamp | None:
        """The row of a session; its time is the session's end."""
        window = key.window
        held = self._store.fetch_session(key.key, window.start, window.end)
        return ValueAndTimestamp.make(held, window.end)
