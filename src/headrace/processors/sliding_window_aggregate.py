"""Folds records into windows that slide with the data (Java: KStreamSlidingWindowAggregate, KIP-450).

A record at ``t`` ends the window ``[t - difference, t]`` (its left window) and, where later records lie near, begins
the window ``[t + 1, t + 1 + difference]`` (its right window). Only windows that differ in their content exist.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from headrace.processors.aggregation import Aggregator, Initializer, WindowedAggregation
from headrace.processors.api import NodeContext
from headrace.processors.emit_final import EmitFinal
from headrace.processors.window_aggregate import WindowUpdater
from headrace.records import Change, Record, ValueAndTimestamp
from headrace.windows import EmitStrategy, SlidingWindows, TimeWindow, Windowed


@dataclass
class SlidingWindowAggregate(WindowedAggregation):
    windows: SlidingWindows
    emit_strategy: EmitStrategy
    initializer: Initializer
    aggregator: Aggregator

    def __call__(self) -> SlidingWindowAggregateProcessor:
        return SlidingWindowAggregateProcessor(self)


class SlidingWindowAggregateProcessor(WindowUpdater):
    """Folds each record into the windows that hold it, and creates the windows that begin or end with it.

    The timestamp of a window's row is that of its latest record. A record without key or value is dropped, and one
    whose right window is already closed.
    """

    def __init__(self, supplier: SlidingWindowAggregate) -> None:
        super().__init__(supplier)
        self._difference_ms = supplier.windows.difference_ms

    def init(self, context: NodeContext) -> None:
        super().init(context)
        self._fetch_range = self._store.fetch_range
        self._backward_fetch_range = self._store.backward_fetch_range

    def process(self, record: Record[Any, Any]) -> None:
        if record.key is None or record.value is None:
            self._drop("null key or value")
            return
        timestamp, difference_ms = record.timestamp, self._difference_ms
        if timestamp > self._stream_time:
            if self._final is not None and timestamp - self._grace_ms - difference_ms >= self._final.last_close_ms:
                # What has closed by now is forgotten when this record is written.
                self._emit_closed(record, self._stream_time - self._grace_ms, self._final, at_once=True)
            self._stream_time = timestamp
        close_ms = self._stream_time - self._grace_ms
        if timestamp + difference_ms < close_ms:
            self._drop("expired window")
        elif timestamp < difference_ms:
            # As in Kafka, such a record closes no windows.
            self._process_early(record, close_ms)
        else:
            self._process_usual(record, close_ms)
            if self._final is not None:
                self._emit_closed(record, close_ms, self._final)

    def _process_usual(self, record: Record[Any, Any], close_ms: int) -> None:
        timestamp, difference_ms = record.timestamp, self._difference_ms
        if difference_ms == 0:
            # A window needs a length above zero; as in Kafka, that is noticed when the first record comes.
            TimeWindow(timestamp, timestamp)
        starts = set()
        left = right = previous = None
        has_left = has_right = False
        nearest = self._backward_fetch_range(record.key, max(0, timestamp - 2 * difference_ms), timestamp + 1)
        with nearest as windows:
            for start, held in windows:
                starts.add(start)
                end = start + difference_ms
                if start == timestamp + 1:
                    has_right = True
                elif end > timestamp:
                    right = held if right is None else right
                    self._update(record, start, held, close_ms)
                elif end == timestamp:
                    has_left = True
                    self._update(record, start, held, close_ms)
                    if held.timestamp >= timestamp:
                        # An earlier record with the same timestamp has created all windows already.
                        return
                    previous = held.timestamp
                else:
                    left, previous = held, held.timestamp
                    break
        if previous is not None and previous + 1 not in starts and previous + 1 + difference_ms >= timestamp:
            self._create(record, previous + 1, close_ms)
        if not has_left:
            follows = previous is not None and previous >= timestamp - difference_ms
            aggregate = left.value if follows and left is not None else self._initializer()
            window = None if aggregate is None else ValueAndTimestamp(aggregate, timestamp)
            self._update(record, timestamp - difference_ms, window, close_ms)
        if not has_right:
            self._create_right(record, right)

    def _process_early(self, record: Record[Any, Any], close_ms: int) -> None:
        """A record whose left window would start before 0: all of these share the window from 0."""
        timestamp = record.timestamp
        starts = set()
        combined = right = previous = None
        has_right = False
        with self._fetch_range(record.key, 0, timestamp + 1) as windows:
            for start, held in windows:
                starts.add(start)
                if start == 0:
                    combined = held
                    if held.timestamp < timestamp:
                        previous = held.timestamp
                elif start <= timestamp:
                    right = held
                    self._update(record, start, held, close_ms)
                else:
                    has_right = True
        if right is None and combined is not None and combined.timestamp > timestamp:
            # Whatever the first window holds then came after this record, or there would be a window in between.
            right = combined
        if not has_right:
            self._create_right(record, right)
        if previous is not None and previous + 1 not in starts:
            self._create(record, previous + 1, close_ms)
        if combined is None:
            self._create(record, 0, close_ms)
        else:
            self._update(record, 0, combined, close_ms)

    def _create(self, record: Record[Any, Any], start: int, close_ms: int) -> None:
        initial = self._initializer()
        window = None if initial is None else ValueAndTimestamp(initial, record.timestamp)
        self._update(record, start, window, close_ms)

    def _create_right(self, record: Record[Any, Any], right: ValueAndTimestamp | None) -> None:
        """The window that begins after the record: it holds what later windows around the record hold."""
        if right is None or right.timestamp <= record.timestamp:
            return
        start = record.timestamp + 1
        self._put(record.key, right, start)
        self._send(record, start, None, right.value, right.timestamp)

    def _update(self, record: Record[Any, Any], start: int, held: ValueAndTimestamp | None, close_ms: int) -> None:
        if start + self._difference_ms < close_ms:
            self._drop("expired window")
            return
        old = None if held is None else held.value
        timestamp = record.timestamp
        new = self._aggregator(record.key, record.value, old)
        if held is not None and old is not None and held.timestamp > timestamp:
            timestamp = held.timestamp
        self._put(record.key, None if new is None else ValueAndTimestamp(new, timestamp), start)
        self._send(record, start, old, new, timestamp)

    def _send(self, record: Record[Any, Any], start: int, old: Any, new: Any, timestamp: int) -> None:
        if self._forward_update is not None:
            window = TimeWindow(start, start + self._difference_ms)
            change = Change(new, old if self._send_old else None)
            self._forward_update(Windowed(record.key, window), change, timestamp, record.headers)

    def _emit_closed(self, record: Record[Any, Any], close_ms: int, final: EmitFinal, *, at_once: bool = False) -> None:
        start_to = close_ms - self._difference_ms - 1
        if final.is_due(close_ms, at_once=at_once) and start_to >= 0:
            start_from = max(0, final.last_close_ms - self._difference_ms) if final.emitted_before else 0
            final.emitted(close_ms, self._emit(record.headers, start_from, start_to))
