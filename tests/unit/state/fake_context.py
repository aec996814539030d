"""A store's surroundings, just good enough to open it without a task."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from headrace.config import StreamsConfig
from headrace.records import NO_HEADERS, Headers, RecordContext
from headrace.state.cache import ThreadCache
from headrace.state.contracts import ChangeLogger, CurrentRecord, RestoreCallback, StateStore


class Logged(NamedTuple):
    """A record of a changelog."""

    key: bytes
    value: bytes | None
    timestamp: int | None
    headers: Headers


class NoMetrics:
    """Metrics that are off."""

    def store_sensor(self, scope: str, store: str, operation: str) -> None:
        """Nothing is measured."""


class FakeContext(CurrentRecord):
    """Keeps what stores log and drop."""

    application_id = "app"
    task_id = "0_0"

    def __init__(self, state_dir: Path, cache_bytes: int = 1_000_000) -> None:
        self.state_dir = state_dir
        self.config = StreamsConfig({"application.id": "app"})
        self.metrics: Any = NoMetrics()
        self.cache = ThreadCache(cache_bytes)
        self.record_context: RecordContext | None = RecordContext(0, 0, 0, "in")
        self.changelog: list[Logged] = []
        self.dropped: list[str] = []
        self.restore: RestoreCallback | None = None

    def register(self, store: StateStore, restore: RestoreCallback | None) -> None:
        """Keep the callback, so that a test can restore the store."""
        self.restore = restore

    def change_logger(self, store_name: str) -> ChangeLogger:
        """Keeps the records."""
        return lambda *record: self.changelog.append(Logged(*record))

    def changelog_topic(self, store_name: str) -> str:
        """As a task names it."""
        return f"app-{store_name}-changelog"

    def drop(self, reason: str) -> None:
        """Keep the reason."""
        self.dropped.append(reason)

    def at(self, timestamp: int, offset: int = 0, headers: Headers = NO_HEADERS) -> None:
        """Process a record of that time now."""
        self.record_context = RecordContext(timestamp, offset, 0, "in", headers)
