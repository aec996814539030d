"""What a task remembers beside the entries of its stores, as plain data: it can be put down and taken up again.

Kept are the times of the input, the numbers that travel with committed offsets, what operators and stores name
themselves (``headrace.state.keeping``), and the schedules of punctuations. The attributes of a user's own processor are
not: as after a restart in Kafka Streams, what must last belongs into a store.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from headrace.state import keeping
from headrace.state.version import Version
from headrace.task.checkpoint import TopicPartition
from headrace.task.context import TaskContext
from headrace.task.partition_group import PartitionGroup
from headrace.task.schedules import KeptSchedules


@dataclass(frozen=True, slots=True)
class Opening:
    """How a task's state was found at the start of a visit."""

    stale: Mapping[str, Version | None]
    """The stores to restore before ``start``, with the committed version each is at; None where it is empty."""
    positions: Mapping[TopicPartition, int]
    """Up to where changelogs were applied at those versions: the offsets to go on from. Empty stores need it all."""
    has_kept: bool
    """Whether what the task remembered was found; if not, it starts as after a restart in Kafka Streams."""


class Kept(msgspec.Struct, array_like=True, frozen=True):
    """Everything a task remembers."""

    stream_time: int
    partition_times: list[tuple[str, int, int]]
    consumed: list[tuple[str, int, int]]
    numbers: dict[str, int]
    nodes: dict[str, dict[str, Any]]
    stores: dict[str, list[dict[str, Any]]]
    schedules: KeptSchedules
    idle_deadlines: list[tuple[str, int, int]] = []
    """Until when partitions without records are waited for (``max.task.idle.ms``)."""


dump = msgspec.msgpack.Encoder().encode
parse = msgspec.msgpack.Decoder(Kept).decode


def keep(
    context: TaskContext,
    group: PartitionGroup,
    consumed: Mapping[TopicPartition, int],
    processors: Mapping[str, Any],
    schedules: KeptSchedules,
) -> Kept:
    """Put together what a task remembers."""
    return Kept(
        group.stream_time,
        [(*partition, timestamp) for partition, timestamp in group.partition_times.items()],
        [(*partition, offset) for partition, offset in consumed.items()],
        context.processor_metadata,
        keep_nodes(processors),
        keep_stores(context.registry),
        schedules,
        [(*partition, deadline_ms) for partition, deadline_ms in group.deadlines.items()],
    )


def take_up(kept: Kept, context: TaskContext, group: PartitionGroup, consumed: dict[TopicPartition, int]) -> None:
    """Restore what a task needs before its nodes are initialised."""
    mine = frozenset(group.partitions)
    for topic, partition, timestamp in kept.partition_times:
        if (topic, partition) in mine:
            group.set_partition_time((topic, partition), timestamp)
    group.stream_time = max(group.stream_time, kept.stream_time)
    group.deadlines.update({(t, p): ms for t, p, ms in kept.idle_deadlines if (t, p) in mine})
    consumed.update({(t, p): offset for t, p, offset in kept.consumed if (t, p) in mine})
    context.processor_metadata.update(kept.numbers)
    take_up_stores(context.registry, kept.stores)


def keep_nodes(processors: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """What the operators keep, by node; most keep nothing."""
    kept = {name: keeping.keep(processor) for name, processor in processors.items()}
    return {name: attributes for name, attributes in kept.items() if attributes}


def take_up_nodes(processors: Mapping[str, Any], kept: Mapping[str, dict[str, Any]]) -> None:
    """Give the operators back what they kept."""
    for name, attributes in kept.items():
        if name in processors:
            keeping.take_up(processors[name], attributes)


def keep_stores(stores: Iterable[Any]) -> dict[str, list[dict[str, Any]]]:
    """What the layers of the stores keep, by store."""
    return {store.name: keeping.keep_store(store) for store in stores}


def take_up_stores(stores: Iterable[Any], kept: Mapping[str, list[dict[str, Any]]]) -> None:
    """Give the stores back what they kept."""
    for store in stores:
        if store.name in kept:
            keeping.take_up_store(store, kept[store.name])
