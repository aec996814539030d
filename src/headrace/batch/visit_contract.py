"""What a visit is given and what it hands back; both travel between processes as plain data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from headrace.application.levels import PlannedVisit
from headrace.application.progress import TaskProgress
from headrace.batch.offsets import LostRecords
from headrace.batch.order import BatchOrder, TaskOrder
from headrace.batch.reading import Reading
from headrace.batch.spool import Spool
from headrace.broker.port import Handover
from headrace.records import OffsetAndMetadata, TopicPartition, offsets_by_partition
from headrace.state.version import Version, Visit

if TYPE_CHECKING:
    from headrace.application.task_id import TaskId

Delivery: TypeAlias = tuple[str, int, int, int]
"""Parcels from one visit to another: the attempt that sent them, the task and level they are for, and how many."""


class VisitResult(msgspec.Struct, frozen=True):
    """What a task hands back."""

    task: int
    level: int
    attempt: str
    staged: Handover
    """What it wrote to topics."""
    written: int
    """How many records of that are not for changelogs."""
    offsets: list[tuple[str, int, int, str]]
    """What to commit: topic, partition, offset, metadata."""
    progress: TaskProgress
    records: int
    """How many records of topics were read."""
    dropped: dict[str, int]
    lost: tuple[LostRecords, ...]
    """Records that were deleted before they were read."""
    restored: list[tuple[str, str, int, int]]
    """Changelog records replayed: store, topic, partition, count."""
    sent: list[Delivery]
    heard: list[Delivery]
    """What it sent to others and what it got from them: both sides of each delivery must agree."""
    reading_seconds: float
    """For how long it fed on topics."""
    working_seconds: float
    """For how long it worked in all, once it was open."""


@dataclass(frozen=True)
class VisitRequest:
    """What a task is asked to do."""

    number: int
    task: TaskId
    visit: PlannedVisit
    batch: BatchOrder
    attempt: str
    reading: Reading = field(default_factory=Reading)
    """What to read from topics."""
    records: Mapping[str, Spool] = field(default_factory=dict)
    """What other tasks sent in this batch, by repartition topic."""
    earlier: VisitResult | None = None
    """The task's visit at an earlier level of this batch."""
    reading_seconds: float | None = None
    """For how long it may feed on topics; None: for as long as there is something in the ranges."""

    @property
    def place(self) -> str:
        """What the visit is about, for messages."""
        read = [f"records {each.topic}-{each.partition}@{each.start} to {each.end - 1}" for each in self.reading.ranges]
        return ", ".join((f"task {self.task}", f"batch {self.batch.batch_id}", *read))

    @property
    def order(self) -> TaskOrder:
        """What the batch says of this task."""
        return self.batch.tasks[self.number]

    @property
    def before(self) -> TaskProgress | None:
        """What this visit goes on from."""
        return self.order.before if self.earlier is None else self.earlier.progress

    @property
    def stores(self) -> Visit:
        """The versions of the stores at the start and at the end."""
        target, before = Version(self.batch.batch_id, self.visit.level, self.batch.epoch), self.before
        return Visit(None, target) if before is None else Visit(before.version, target, frozenset(before.anew))

    @property
    def committed(self) -> dict[TopicPartition, OffsetAndMetadata]:
        """How far its partitions were read when it starts."""
        offsets = self.order.committed_offsets
        return offsets if self.earlier is None else offsets | offsets_by_partition(self.earlier.offsets)

    @property
    def heard(self) -> list[Delivery]:
        """Whose records it reads."""
        return deliveries(*self.records.values())


def deliveries(*spools: Spool) -> list[Delivery]:
    """Whose parcels are in the spools."""
    counts = Counter((parcel.attempt, parcel.target, parcel.level) for spool in spools for parcel in spool.index)
    return [(*delivery, count) for delivery, count in counts.items()]
