"""Places in a topic that each partition has for itself, and the offsets they stand for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from headrace.broker.port import Log, TopicPartition


@dataclass(frozen=True, slots=True)
class TopicPosition:
    kind: Literal["beginning", "end", "offset", "last", "time"]
    value: int = 0


def resolve(broker: Log, position: TopicPosition, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
    """The offset at ``position`` in each partition; never before its start nor after its end."""
    wanted = list(partitions)
    starts, ends = broker.start_offsets(wanted), broker.end_offsets(wanted)
    found = _offsets(broker, position, starts, ends)
    return {one: min(max(found[one], starts[one]), ends[one]) for one in wanted}


def _offsets(
    broker: Log, position: TopicPosition, starts: dict[TopicPartition, int], ends: dict[TopicPartition, int]
) -> dict[TopicPartition, int]:
    if position.kind == "beginning":
        return starts
    if position.kind == "offset":
        return dict.fromkeys(starts, position.value)
    if position.kind == "last":
        return {one: end - position.value for one, end in ends.items()}
    if position.kind == "time":
        found = broker.offsets_for_time(dict.fromkeys(starts, position.value))
        return {one: ends[one] if offset is None else offset for one, offset in found.items()}
    return ends
