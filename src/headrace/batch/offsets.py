"""What a batch reads: ranges of offsets, from what is committed to the end of the log or as far as the limit allows.

A task takes the records of its ranges in order of time and stops when its time is up or, as Kafka's does, when a
partition runs dry of which there is more (``ReadRange.lag`` is above 0): what it did not take stays for the next batch.
It reads on, beyond its ranges, only where that comes before records that other tasks sent it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from headrace.application.positions import OffsetForTime, PartitionState, ReadPosition, position_of
from headrace.records import TopicPartition


@dataclass(frozen=True, slots=True)
class ReadRange:
    """The offsets from ``start`` up to, not including, ``end`` of one partition. Some may have no record."""

    topic: str
    partition: int
    start: int
    end: int
    log_end: int
    is_reset: bool = False
    """The start was not committed yet: commit it, even if the range is empty."""

    @property
    def size(self) -> int:
        """How many records there may be in it."""
        return self.end - self.start

    @property
    def lag(self) -> int:
        """How many records there may be after it."""
        return self.log_end - self.end


@dataclass(frozen=True, slots=True)
class LostRecords:
    """Records that were deleted before they were read. The user's reset policy said to go on; it must be reported."""

    topic: str
    partition: int
    start: int
    end: int

    def __str__(self) -> str:
        place = f"{self.topic}-{self.partition}@{self.start}"
        return (
            f"{self.end - self.start} records from {place} on were deleted before they were read; going on after them"
        )


@dataclass(frozen=True, slots=True)
class BatchPlan:
    """One batch. Partitions with nothing to read are left out, unless their position is still to be committed."""

    ranges: tuple[ReadRange, ...] = ()
    lost: tuple[LostRecords, ...] = ()
    due: tuple[int, ...] = ()
    """The numbers of tasks that are visited even if they read nothing."""

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to do."""
        return not (self.ranges or self.due)

    @property
    def records(self) -> int:
        """How many records it reads at most."""
        return sum(each.size for each in self.ranges)

    @property
    def begins(self) -> dict[TopicPartition, int]:
        """Where it begins to read."""
        return {(each.topic, each.partition): each.start for each in self.ranges}


def plan_batch(
    partitions: Iterable[PartitionState],
    *,
    now_ms: int,
    limit: int | None = None,
    offset_for_time: OffsetForTime | None = None,
) -> BatchPlan:
    """The next batch. ``limit`` is ``max.records.per.batch``."""
    states = sorted(partitions, key=lambda state: (state.topic, state.partition))
    found = [position_of(state, now_ms, offset_for_time) for state in states]
    sizes = fair_shares([state.log_end - at.offset for state, at in zip(states, found, strict=True)], limit)
    planned = [_range(state, at, size) for state, at, size in zip(states, found, sizes, strict=True)]
    lost = [
        LostRecords(state.topic, state.partition, *at.lost) for state, at in zip(states, found, strict=True) if at.lost
    ]
    return BatchPlan(tuple(each for each in planned if each.size or each.is_reset), tuple(lost))


def fair_shares(waiting: Sequence[int], limit: int | None) -> list[int]:
    """How many records to take from each partition: equal shares, and what some do not need goes to the others.

    At least one record is taken from every partition that has any, even beyond the limit: a task waits for partitions
    that have more, so without one it would never go on. The remainder of the division goes to the first partitions.

    >>> fair_shares([100, 3, 100], 20)
    [9, 3, 8]
    """
    budget = max(limit or 0, sum(1 for count in waiting if count))
    if limit is None or sum(waiting) <= budget:
        return list(waiting)
    level = _level(waiting, budget)
    shares = [min(count, level) for count in waiting]
    more = [index for index, count in enumerate(waiting) if count > level]
    for index in more[: budget - sum(shares)]:
        shares[index] += 1
    return shares


def _level(waiting: Sequence[int], budget: int) -> int:
    """The most that can be taken of every partition that has as much. There is more waiting than ``budget``."""
    smallest_first = sorted(waiting)
    for done, count in enumerate(smallest_first):
        level = budget // (len(smallest_first) - done)
        if count > level:
            return level
        budget -= count
    raise AssertionError("not reached: there is more waiting than the budget")


def _range(state: PartitionState, position: ReadPosition, size: int) -> ReadRange:
    start = position.offset
    return ReadRange(state.topic, state.partition, start, start + size, state.log_end, position.is_reset)
