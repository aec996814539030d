"""The context of a replica's store: it has no task and no record, and writes only to its own directory."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from headrace.metrics import StreamsMetrics
from headrace.records import Headers
from headrace.state.cache import ThreadCache
from headrace.state.contracts import ChangeLogger, CurrentRecord, RestoreCallback, StateStore
from headrace.task.state_registry import StateRegistry

if TYPE_CHECKING:
    from headrace.config import StreamsConfig


class ReplicaContext(CurrentRecord):
    def __init__(self, config: StreamsConfig, task_id: str, topic: str, state_dir: Path) -> None:
        self.record_context = None
        self.config = config
        self.application_id = config.application_id
        self.task_id = task_id
        self.metrics = StreamsMetrics.of(config, config.application_id).for_task(task_id)
        self.cache = ThreadCache(0)
        self.registry = StateRegistry()
        self.state_dir = state_dir
        self._topic = topic

    def register(self, store: StateStore, restore: RestoreCallback | None) -> None:
        """Keep the store and what applies changelog records to it."""
        self.registry.register(store, restore)

    def change_logger(self, store_name: str) -> ChangeLogger:
        """Goes nowhere: only the application writes changelogs."""
        return _log_nothing

    def changelog_topic(self, store_name: str) -> str:
        return self._topic

    def drop(self, reason: str, *details: Any) -> None:
        """Nothing to count: the application has done so."""


def _log_nothing(key: bytes, value: bytes | None, timestamp: int | None, headers: Headers) -> None:
    """What a replica applies is in the changelog already."""
