"""What a task is made of: its context, and the queue of each of its partitions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headrace.metrics import StreamsMetrics
from headrace.state.cache import ThreadCache
from headrace.task.context import TaskContext
from headrace.task.handlers import Handle, LogAndFailExceptionHandler
from headrace.task.nodes import SourceNode
from headrace.task.partition_group import RecordQueue, TopicPartition
from headrace.task.state_registry import StateRegistry
from headrace.timestamps import EXTRACTORS, TimestampExtractor

if TYPE_CHECKING:
    from headrace.config import StreamsConfig
    from headrace.topology.task_plan import TaskPlan


def make_context(
    task_id: str,
    plan: TaskPlan,
    config: StreamsConfig,
    *,
    clock: Callable[[], int],
    state_dir: Path | Callable[[], Path],
    cache: ThreadCache | None,
    metrics: StreamsMetrics | None,
    global_stores: Mapping[str, Any] | None = None,
    partition: int = 0,
) -> TaskContext:
    """The context of a task; a host that shares no cache and no metrics between tasks gets new ones."""
    return TaskContext(
        task_id,
        config,
        metrics=(metrics or StreamsMetrics.of(config, config.application_id, clock)).for_task(task_id),
        cache=cache if cache is not None else ThreadCache(max(0, config["statestore.cache.max.bytes"])),
        registry=StateRegistry(),
        state_dir=state_dir,
        prefix=plan.prefix,
        changelogs=plan.store_to_changelog,
        global_stores=global_stores or {},
        partition=partition,
    )


def make_queue(
    partition: TopicPartition, node: SourceNode, plan: TaskPlan, context: TaskContext, handler: Handle
) -> RecordQueue:
    """The queue of a partition that ``node`` reads, with gauges for what it takes in."""
    # Records of internal topics must be readable: skipping one would lose what the application wrote itself.
    is_own = partition[0] in plan.repartition_topics
    handler = LogAndFailExceptionHandler().handle if is_own else handler
    queue = RecordQueue(partition, node, _extractor(node, context.config), handler, context)
    gauge = context.metrics.topic_gauge
    gauge(node.name, partition[0], "records-consumed-total", lambda: queue.consumed.records)
    gauge(node.name, partition[0], "bytes-consumed-total", lambda: queue.consumed.size)
    return queue


def _extractor(node: SourceNode, config: StreamsConfig) -> TimestampExtractor:
    extractor = node.extractor
    if extractor is None:
        return config.default_timestamp_extractor
    return EXTRACTORS[extractor] if isinstance(extractor, str) else extractor
