"""A stream joined with itself, from one window store instead of two (``single.store.self.join``)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from headrace.processors.api import NodeContext, Processor
from headrace.processors.joiners import Joiner
from headrace.records import NO_TIMESTAMP, Record
from headrace.state.kinds import WINDOW
from headrace.windows import JoinWindows


@dataclass(frozen=True)
class SelfJoin:
    """Supplies the processors of a self-join; ``store`` is the builder of the one window store."""

    store: Any
    windows: JoinWindows
    joiner: Joiner

    @property
    def stores(self) -> tuple[Any, ...]:
        return (self.store,)

    def __call__(self) -> SelfJoinProcessor:
        return SelfJoinProcessor(self.store.name, self.windows, self.joiner)


class SelfJoinProcessor(Processor):
    """Join each record with those stored, as the left side, then as the right side, and with itself.

    The order is that of an inner join of two equal streams: the pair of the record with itself comes before the
    first pair of a later time.
    """

    remembered = ("_stream_time",)

    def __init__(self, store_name: str, windows: JoinWindows, joiner: Joiner) -> None:
        self._store_name = store_name
        self._before_ms, self._after_ms = windows.before_ms, windows.after_ms
        self._retention_ms = windows.size_ms + windows.grace_ms
        self._joiner = joiner
        self._stream_time = NO_TIMESTAMP

    def init(self, context: NodeContext) -> None:
        self._forward = context.forward
        self._drop = context.drop
        store = context.store(self._store_name)
        self._fetch = store.fetch_range
        self._is_plain = store.kind == WINDOW

    def process(self, record: Record[Any, Any]) -> None:
        if record.key is None or record.value is None:
            self._drop("null key or value")
            return
        with_itself = record.with_value(self._joiner(record.key, record.value, record.value))
        self._stream_time = max(self._stream_time, record.timestamp)
        self._join_as_left(record)
        # A record that the store would not keep any more does not meet itself either.
        expired = record.timestamp <= self._stream_time - self._retention_ms + 1
        self._join_as_right(record, None if expired else with_itself)

    def _join_as_left(self, record: Record[Any, Any]) -> None:
        key, value, timestamp = record.key, record.value, record.timestamp
        with self._fetch(key, max(0, timestamp - self._before_ms), max(0, timestamp + self._after_ms)) as others:
            for other_time, other in others:
                joined = self._joiner(key, value, other if self._is_plain else other.value)
                self._forward(Record(key, joined, max(timestamp, other_time), record.headers))

    def _join_as_right(self, record: Record[Any, Any], with_itself: Record[Any, Any] | None) -> None:
        key, value, timestamp = record.key, record.value, record.timestamp
        with self._fetch(key, max(0, timestamp - self._after_ms), max(0, timestamp + self._before_ms)) as others:
            for other_time, other in others:
                if other_time > timestamp and with_itself is not None:
                    self._forward(with_itself)
                    with_itself = None
                joined = self._joiner(key, other if self._is_plain else other.value, value)
                self._forward(Record(key, joined, max(timestamp, other_time), record.headers))
        if with_itself is not None:
            self._forward(with_itself)
