"""What a task remembers beside the entries of its stores, as plain data: with it another process can go on.

These are the times of the input, the numbers that travel with committed offsets, what operators and stores name
themselves (``headrace.state.snapshots``), and the schedules of punctuations. The attributes of a user's own processor
are not: as after a restart in Kafka Streams, what must last belongs into a store.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from headrace.records import TopicPartition
from headrace.state.snapshots import apply_snapshot, apply_store_snapshot, snapshot, store_snapshot
from headrace.task.context import TaskContext
from headrace.task.partition_group import PartitionGroup
from headrace.task.schedules import ScheduleSnapshot


class TaskSnapshot(msgspec.Struct, array_like=True, frozen=True):
    stream_time: int
    partition_times: list[tuple[str, int, int]]
    consumed: list[tuple[str, int, int]]
    numbers: dict[str, int]
    nodes: dict[str, dict[str, Any]]
    stores: dict[str, list[dict[str, Any]]]
    schedules: ScheduleSnapshot
    idle_deadlines: list[tuple[str, int, int]] = []
    """Until when partitions without records are waited for (``max.task.idle.ms``)."""


dump = msgspec.msgpack.Encoder().encode
parse = msgspec.msgpack.Decoder(TaskSnapshot).decode


def take_snapshot(
    context: TaskContext,
    group: PartitionGroup,
    consumed: Mapping[TopicPartition, int],
    processors: Mapping[str, Any],
    schedules: ScheduleSnapshot,
) -> TaskSnapshot:
    nodes = {name: snapshot(processor) for name, processor in processors.items()}
    return TaskSnapshot(
        group.stream_time,
        [(*partition, timestamp) for partition, timestamp in group.partition_times.items()],
        [(*partition, offset) for partition, offset in consumed.items()],
        context.processor_metadata,
        {name: attributes for name, attributes in nodes.items() if attributes},
        {store.name: store_snapshot(store) for store in context.registry},
        schedules,
        [(*partition, deadline_ms) for partition, deadline_ms in group.deadlines.items()],
    )


def apply_before_init(
    found: TaskSnapshot, context: TaskContext, group: PartitionGroup, consumed: dict[TopicPartition, int]
) -> None:
    """Give back what a task needs before its nodes are initialised."""
    mine = frozenset(group.partitions)
    for topic, partition, timestamp in found.partition_times:
        if (topic, partition) in mine:
            group.set_partition_time((topic, partition), timestamp)
    group.stream_time = max(group.stream_time, found.stream_time)
    group.deadlines.update({(t, p): ms for t, p, ms in found.idle_deadlines if (t, p) in mine})
    consumed.update({(t, p): offset for t, p, offset in found.consumed if (t, p) in mine})
    context.processor_metadata.update(found.numbers)
    for store in context.registry:
        if store.name in found.stores:
            apply_store_snapshot(store, found.stores[store.name])


def apply_to_nodes(found: TaskSnapshot, processors: Mapping[str, Any]) -> None:
    for name, attributes in found.nodes.items():
        if name in processors:
            apply_snapshot(processors[name], attributes)
