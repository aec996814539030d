"""When the final results of windows leave: at most once an interval, and only when stream time closed a window.

A store forgets windows soon after they close, and within an interval a batch may go through hours of stream time. So
windows that wait for the interval leave before a record is written that would make the store forget them.
"""

from __future__ import annotations

from headrace.processors.api import NodeContext
from headrace.records import NO_TIMESTAMP

EMIT_INTERVAL = "__emit.interval.ms.kstreams.windowed.aggregation__"
"""The setting (Kafka's own, internal) that says how many ms of wall-clock time lie between two looks at the store."""


class EmitFinal:
    """Remembers up to which close time windows were emitted; that time travels with the committed offsets."""

    __slots__ = ("_context", "_interval_ms", "_next_look_ms", "_sensor", "_store_name", "last_close_ms")

    remembered = ("_next_look_ms", "last_close_ms")

    def __init__(self, context: NodeContext, store_name: str) -> None:
        self._context = context
        self._store_name = store_name
        self._interval_ms = context.config[EMIT_INTERVAL]
        self._next_look_ms = 0
        self._sensor = context.metrics.node_sensor(context.node_name, "window-aggregate-final-emit")
        restored = context.processor_metadata(store_name)
        self.last_close_ms = NO_TIMESTAMP if restored is None else restored

    @property
    def emitted_before(self) -> bool:
        return self.last_close_ms != NO_TIMESTAMP

    def is_due(self, close_ms: int, *, at_once: bool = False) -> bool:
        """Whether it is time to look for windows that closed before ``close_ms``."""
        now = self._context.current_system_time_ms
        if not at_once:
            if now < self._next_look_ms:
                return False
            self._next_look_ms = now + self._interval_ms
        return not self.emitted_before or self.last_close_ms < close_ms

    def emitted(self, close_ms: int, count: int) -> None:
        """All windows that closed before ``close_ms`` have left, ``count`` of them just now."""
        if self._sensor is not None:
            self._sensor.record(count)
        self.last_close_ms = close_ms
        self._context.set_processor_metadata(self._store_name, close_ms)
