"""A context and stores just good enough to run one aggregation without a task."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from headrace.processors.emit_final import EMIT_INTERVAL
from headrace.records import Headers, Record
from headrace.state.contracts import StoreIterator
from headrace.state.kinds import SESSION
from headrace.windows import SessionWindow, TimeWindow, Windowed


@dataclass
class NamedBuilder:
    """The builder of a store that the test makes itself."""

    name: str = "S"


class FakeStore:
    """What all fake stores share: a cache that can be switched on and then swallows forwards."""

    is_versioned = False

    persistent = True

    def __init__(self, *, cached: bool = False) -> None:
        self.cached = cached
        self.rows: dict[Any, Any] = {}
        self.listener: Any = None

    def set_flush_listener(self, listener: Any, send_old_values: bool) -> bool:
        self.listener = listener
        return self.cached

    def _put(self, key: Any, value: Any) -> None:
        if value is None:
            self.rows.pop(key, None)
        else:
            self.rows[key] = value


class FakeKeyValueStore(FakeStore):
    def get(self, key: Any) -> Any:
        return self.rows.get(key)

    def put(self, key: Any, value: Any) -> None:
        self._put(key, value)


class FakeWindowStore(FakeStore):
    def __init__(self, size_ms: int, *, cached: bool = False) -> None:
        super().__init__(cached=cached)
        self.size_ms = size_ms

    def fetch(self, key: Any, start: int) -> Any:
        return self.rows.get((key, start))

    def put(self, key: Any, value: Any, start: int) -> None:
        self._put((key, start), value)

    def fetch_range(self, key: Any, time_from: int, time_to: int) -> StoreIterator[int, Any]:
        return StoreIterator(self._range(key, time_from, time_to))

    def backward_fetch_range(self, key: Any, time_from: int, time_to: int) -> StoreIterator[int, Any]:
        return StoreIterator(reversed(self._range(key, time_from, time_to)))

    def fetch_all(self, time_from: int, time_to: int) -> StoreIterator[Windowed[Any], Any]:
        return StoreIterator(self._all(time_from, time_to))

    def _all(self, time_from: int, time_to: int) -> Iterator[tuple[Windowed[Any], Any]]:
        for (key, start), value in sorted(self.rows.items(), key=lambda row: row[0][::-1]):
            if time_from <= start <= time_to:
                yield Windowed(key, TimeWindow(start, start + self.size_ms)), value

    def _range(self, key: Any, time_from: int, time_to: int) -> list[tuple[int, Any]]:
        starts = sorted(start for row_key, start in self.rows if row_key == key and time_from <= start <= time_to)
        return [(start, self.rows[key, start]) for start in starts]


class FakeSessionStore(FakeStore):
    kind = SESSION

    def put(self, session: Windowed[Any], value: Any) -> None:
        self._put(session, value)

    def remove(self, session: Windowed[Any]) -> None:
        self.rows.pop(session, None)

    def fetch_session(self, key: Any, start: int, end: int) -> Any:
        return self.rows.get(Windowed(key, SessionWindow(start, end)))

    def find_sessions(self, key: Any, earliest_end: int, latest_start: int) -> StoreIterator[Windowed[Any], Any]:
        found = [s for s in self.rows if s.key == key and s.end >= earliest_end and s.start <= latest_start]
        return StoreIterator([(s, self.rows[s]) for s in sorted(found, key=lambda s: s.end)])

    def find_sessions_by_end(self, earliest_end: int, latest_end: int) -> StoreIterator[Windowed[Any], Any]:
        found = [s for s in self.rows if earliest_end <= s.end <= latest_end]
        return StoreIterator([(s, self.rows[s]) for s in sorted(found, key=lambda s: (s.end, s.key))])


class NoMetrics:
    def node_sensor(self, node: str, operation: str) -> None:
        return None


@dataclass
class FakeContext:
    """Collects what is forwarded and dropped."""

    held: Any
    emit_interval_ms: int = 0
    current_system_time_ms: int = 0
    node_name: str = "node"
    forwarded: list[Record[Any, Any]] = field(default_factory=list)
    dropped: list[str] = field(default_factory=list)
    metadata: dict[str, int] = field(default_factory=dict)
    metrics: NoMetrics = field(default_factory=NoMetrics)

    @property
    def config(self) -> dict[str, Any]:
        return {EMIT_INTERVAL: self.emit_interval_ms}

    def store(self, name: str) -> Any:
        return self.held

    def forward(self, record: Record[Any, Any]) -> None:
        self.forwarded.append(record)

    def forward_parts(self, key: Any, value: Any, timestamp: int, headers: Headers) -> None:
        self.forwarded.append(Record(key, value, timestamp, headers))

    def drop(self, reason: str) -> None:
        self.dropped.append(reason)

    def processor_metadata(self, key: str) -> int | None:
        return self.metadata.get(key)

    def set_processor_metadata(self, key: str, value: int) -> None:
        self.metadata[key] = value

    def results(self) -> list[tuple[str, Any, int]]:
        """``(key, new value, timestamp)`` of what was forwarded since the last call."""
        results = [(str(record.key), record.value.new, record.timestamp) for record in self.forwarded]
        self.forwarded.clear()
        return results


def concat(key: Any, value: Any, aggregate: Any) -> Any:
    """The aggregator of most tests."""
    return f"{aggregate}{value}"
