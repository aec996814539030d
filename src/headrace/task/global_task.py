"""The task that fills global stores: it reads all partitions of their topics and commits nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headrace.clock import now_ms
from headrace.errors import UnsupportedError
from headrace.metrics import StreamsMetrics
from headrace.processors.api import Cancellable, PunctuationType, Punctuator
from headrace.records import NO_TIMESTAMP, RawRecord, RecordContext, TopicPartition
from headrace.state.cache import ThreadCache
from headrace.task.context import TaskContext
from headrace.task.failures import note_part
from headrace.task.handlers import (
    Handle,
    deserialization_handler,
    processing_handler,
)
from headrace.task.nodes import TaskSource, connect, handle_unreadable, make_nodes
from headrace.task.state_registry import ChangelogEntry

if TYPE_CHECKING:
    from headrace.config import StreamsConfig
    from headrace.topology.task_plan import TaskPlan

TASK_ID = "-1_-1"


class GlobalTask:
    def __init__(
        self,
        plan: TaskPlan,
        config: StreamsConfig,
        *,
        clock: Callable[[], int] = now_ms,
        cache: ThreadCache | None = None,
        metrics: StreamsMetrics | None = None,
        state_dir: Path | Callable[[], Path] | None = None,
        on_unreadable: Handle | None = None,
    ) -> None:
        """``on_unreadable`` is asked in place of the configured handler of records that cannot be read."""
        self.plan = plan
        self.offsets: dict[TopicPartition, int] = {}
        """The next offset to read, by partition."""
        self.stream_time = NO_TIMESTAMP
        self._clock = clock
        self._deserialization_handler = on_unreadable or deserialization_handler(config)
        self.context = TaskContext(
            TASK_ID,
            plan,
            config,
            clock=clock,
            state_dir=state_dir or config.state_dir / config.application_id / "global",
            cache=cache,
            metrics=metrics,
        )
        self.context.host = self
        self.registry = self.context.registry
        # Without this setting Kafka lets the raw error through, whatever the handler.
        enabled = bool(config["processing.exception.handler.global.enabled"])
        self._nodes = make_nodes(plan, self.context, processing_handler(config) if enabled else None, is_global=True)

    @property
    def stores(self) -> dict[str, Any]:
        """The global stores by name, for the contexts of other tasks."""
        return {store.name: store for store in self.registry}

    def initialize(self) -> None:
        for builder in self.plan.global_stores.values():
            builder.build().init(self.context)
        for node in self._nodes.values():
            with self.context.active(None, self._clock()):
                node.init()
        connect(self.plan, self._nodes)

    def restore(self, store: str, entries: Iterable[ChangelogEntry]) -> int:
        """Apply records of a store's topic as they are; only where its processor need not see them."""
        return self.registry.restore(store, entries)

    def update(self, record: RawRecord) -> None:
        topic, partition, offset, timestamp, raw_key, raw_value, headers = record
        source = self._nodes[self.plan.source_topics[topic]]
        assert isinstance(source, TaskSource)
        part = "key"
        try:
            key = source.read_key(topic, raw_key)
            part = "value"
            value = source.read_value(topic, raw_value)
        except Exception as error:
            note_part(error, part)
            handle_unreadable(self.context, self._deserialization_handler, source.name, record, part, error)
        else:
            context = RecordContext(timestamp, offset, partition, topic, headers)
            with self.context.active(context, self._clock()):
                source.take(key, value, timestamp, headers)
        self.offsets[topic, partition] = offset + 1

    def flush(self) -> None:
        with self.context.active(self.context.record_context, self._clock()):
            self.registry.flush()

    def close(self) -> None:
        """Flush and close the stores. As in Kafka the processors are not told."""
        try:
            self.flush()
        finally:
            self.registry.close()

    def schedule(
        self, node: str, interval_ms: int, punctuation: PunctuationType, callback: Punctuator, start: int | None
    ) -> Cancellable:
        raise UnsupportedError("a global processor cannot schedule punctuations")
