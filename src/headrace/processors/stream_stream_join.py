"""Two streams joined within a window of time: the processors of both sides.

Unmatched records of an outer side wait in a store until stream time has passed their window and its grace period.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from headrace.processors.api import NodeContext, Processor
from headrace.processors.joiners import Joiner, Reversed
from headrace.records import NO_TIMESTAMP, Record
from headrace.state.kinds import WINDOW
from headrace.windows import MAX_TIMESTAMP, JoinWindows

EMIT_INTERVAL = "__emit.interval.ms.kstreams.outer.join.spurious.results.fix__"
"""How often, in wall-clock milliseconds, the waiting records are looked through at most."""
_DEFAULT_EMIT_INTERVAL_MS = 1000


@dataclass(slots=True)
class JoinClock:
    """What the two sides of a join in one task know together."""

    remembered: ClassVar[tuple[str, ...]] = ("stream_time", "oldest_waiting", "next_emit_ms")

    stream_time: int = NO_TIMESTAMP
    oldest_waiting: int = MAX_TIMESTAMP
    """No record waits that is older; the largest timestamp where that is not known."""
    next_emit_ms: int = 0
    emit_interval_ms: int = _DEFAULT_EMIT_INTERVAL_MS


@dataclass
class JoinClocks:
    """The clocks of a join, one per task. Those of running tasks do not travel with a pickled topology."""

    _clocks: dict[str, JoinClock] = field(default_factory=dict)

    def of(self, task_id: str) -> JoinClock:
        """The clock both sides of the task share."""
        return self._clocks.setdefault(task_id, JoinClock())

    def forget(self, task_id: str) -> None:
        self._clocks.pop(task_id, None)

    def __reduce__(self) -> tuple[type[JoinClocks], tuple[()]]:
        return (JoinClocks, ())


@dataclass(frozen=True)
class StreamStreamJoin:
    """Supplies the processors of one side. The joiner takes the left value first, whichever side this is."""

    windows: JoinWindows
    joiner: Joiner
    is_left: bool
    outer: bool
    """Whether records of this side give a result without a partner."""
    clocks: JoinClocks
    other_store: Any
    """The builder of the window store of the other side."""
    waiting_store: Any = None
    """The builder of the store of waiting records; None in an inner join, and where none waits."""

    @property
    def stores(self) -> tuple[Any, ...]:
        return (self.other_store,) if self.waiting_store is None else (self.other_store, self.waiting_store)

    def __call__(self) -> StreamStreamJoinProcessor:
        if self.waiting_store is not None:
            return OuterStreamStreamJoinProcessor(self)
        return EagerStreamStreamJoinProcessor(self) if self.outer else StreamStreamJoinProcessor(self)


class StreamStreamJoinProcessor(Processor):
    """Join each record with those of the other side, around its time and under its key."""

    def __init__(self, join: StreamStreamJoin) -> None:
        windows = join.windows
        self._joiner = join.joiner if join.is_left else Reversed(join.joiner)
        self._before_ms, self._after_ms = windows.before_ms, windows.after_ms
        if not join.is_left:
            self._before_ms, self._after_ms = self._after_ms, self._before_ms
        self._other_name = join.other_store.name

    def init(self, context: NodeContext) -> None:
        self._forward = context.forward
        self._drop = context.drop
        other = context.store(self._other_name)
        self._fetch = other.fetch_range
        self._is_plain = other.kind == WINDOW

    def process(self, record: Record[Any, Any]) -> None:
        if record.key is None or record.value is None:
            self._drop("null key or value")
        else:
            self._send_pairs(record)

    def _send_pairs(self, record: Record[Any, Any]) -> bool:
        """Send the record with each partner; whether there was one."""
        key, value, timestamp = record.key, record.value, record.timestamp
        found = False
        with self._fetch(key, max(0, timestamp - self._before_ms), max(0, timestamp + self._after_ms)) as others:
            for other_time, other in others:
                found = True
                joined = self._joiner(key, value, other if self._is_plain else other.value)
                self._forward(Record(key, joined, max(timestamp, other_time), record.headers))
        return found

    def _emit_alone(self, record: Record[Any, Any]) -> None:
        joined = self._joiner(record.key, record.value, None)
        self._forward(Record(record.key, joined, record.timestamp, record.headers))


class EagerStreamStreamJoinProcessor(StreamStreamJoinProcessor):
    """The outer side of a left or outer join in which nothing waits: without a partner, a record goes alone at once."""

    def process(self, record: Record[Any, Any]) -> None:
        if record.value is None:
            self._drop("null key or value")
        elif record.key is None or not self._send_pairs(record):
            self._emit_alone(record)


class OuterStreamStreamJoinProcessor(StreamStreamJoinProcessor):
    """A side of a left or outer join: on an outer side, records without a partner wait and then go alone."""

    remembered = ("_clock",)

    def __init__(self, join: StreamStreamJoin) -> None:
        super().__init__(join)
        self._is_left, self._outer = join.is_left, join.outer
        self._grace_ms = join.windows.grace_ms
        # How long a record waits for a partner: the left side's look ahead is the right side's look back.
        self._wait_ms = {True: join.windows.after_ms, False: join.windows.before_ms}
        self._waiting_name = join.waiting_store.name
        self._clocks = join.clocks

    def init(self, context: NodeContext) -> None:
        super().init(context)
        self._context = context
        self._waiting = context.store(self._waiting_name)
        self._clock = self._clocks.of(context.task_id)
        interval = context.app_configs().get(EMIT_INTERVAL, _DEFAULT_EMIT_INTERVAL_MS)
        self._clock.emit_interval_ms = int(interval)

    def process(self, record: Record[Any, Any]) -> None:
        """Emit the waiting records that are due, then the pairs of the record; let it wait where there are none."""
        clock = self._clock
        clock.stream_time = max(clock.stream_time, record.timestamp)
        if record.value is None or (record.key is None and not self._outer):
            self._drop("null key or value")
        elif record.key is None:
            self._emit_alone(record)
        else:
            if record.timestamp == clock.stream_time:
                self._emit_waiting(record)
            self._join(record)

    def close(self) -> None:
        self._clocks.forget(self._context.task_id)

    def _join(self, record: Record[Any, Any]) -> None:
        key, value, timestamp = record.key, record.value, record.timestamp
        time_to = max(0, timestamp + self._after_ms)
        found = False
        with self._fetch(key, max(0, timestamp - self._before_ms), time_to) as others:
            for other_time, other in others:
                found = True
                self._waiting.put_if_absent((other_time, not self._is_left, key), None)
                joined = self._joiner(key, value, other if self._is_plain else other.value)
                self._forward(Record(key, joined, max(timestamp, other_time), record.headers))
        if found or not self._outer:
            return
        if time_to < self._clock.stream_time:
            # Its window is behind both streams, even if the grace period is not: nothing is gained by waiting.
            self._emit_alone(record)
        else:
            self._clock.oldest_waiting = min(self._clock.oldest_waiting, timestamp)
            self._waiting.put((timestamp, self._is_left, key), value)

    def _emit_waiting(self, record: Record[Any, Any]) -> None:
        clock = self._clock
        earliest_close = clock.oldest_waiting + self._after_ms + self._grace_ms
        if earliest_close > MAX_TIMESTAMP:
            # Kafka Streams lets the sum overflow where the oldest is unknown, so that a restarted task looks once.
            earliest_close = NO_TIMESTAMP
        now_ms = self._context.current_system_time_ms
        if earliest_close >= clock.stream_time or now_ms < clock.next_emit_ms:
            return
        clock.next_emit_ms = now_ms + clock.emit_interval_ms
        clock.oldest_waiting = MAX_TIMESTAMP
        self._emit_due(record)

    def _emit_due(self, record: Record[Any, Any]) -> None:
        """Emit what waits and is due, with the headers of ``record``, which made time pass."""
        emitted = None
        still_open: set[bool] = set()
        with self._waiting.all() as entries:
            for waiting, value in entries:
                self._clock.oldest_waiting = waiting.timestamp
                if len(still_open) == 2:
                    break
                if self._is_open(waiting):
                    still_open.add(waiting.is_left)
                    continue
                self._emit_entry(waiting, value, record)
                # A key is removed after the last of its values went out: a failure in between must not lose them.
                if emitted is not None and emitted != waiting:
                    self._waiting.put(emitted, None)
                emitted = waiting
            if emitted is not None:
                self._waiting.put(emitted, None)

    def _is_open(self, waiting: Any) -> bool:
        close = waiting.timestamp + self._wait_ms[waiting.is_left] + self._grace_ms
        return bool(close >= self._clock.stream_time)

    def _emit_entry(self, waiting: Any, value: Any, record: Record[Any, Any]) -> None:
        this, other = (value, None) if waiting.is_left is self._is_left else (None, value)
        joined = self._joiner(waiting.key, this, other)
        self._forward(Record(waiting.key, joined, waiting.timestamp, record.headers))
