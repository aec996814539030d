"""What all visits of a batch have to know, as plain data: made by the driver, read wherever a task runs."""

from __future__ import annotations

import msgspec

from headrace.application.progress import TaskProgress
from headrace.records import OffsetAndMetadata, TopicPartition, offsets_by_partition


class TaskOrder(msgspec.Struct, frozen=True):
    """What one task starts from."""

    before: TaskProgress | None
    """None before its first visit ever."""
    committed: list[tuple[str, int, int, str]]
    """What is committed of its partitions: topic, partition, offset, metadata."""
    changelog_ends: list[tuple[str, int, int]]
    """The ends of its changelogs; what it starts from reflects all that is before them."""

    @property
    def committed_offsets(self) -> dict[TopicPartition, OffsetAndMetadata]:
        """What is committed, by partition."""
        return offsets_by_partition(self.committed)

    @property
    def positions(self) -> dict[TopicPartition, int]:
        """The ends of the changelogs, by partition."""
        return {(topic, number): end for topic, number, end in self.changelog_ends}


class BatchOrder(msgspec.Struct, frozen=True):
    """One batch to run."""

    batch_id: int
    epoch: int
    now_ms: int
    tasks: list[TaskOrder]
    """By the number of the task."""
    global_ends: list[tuple[str, int, int]]
    """How far global stores are to be filled, the same for all tasks: topic, partition, end."""
    reading_seconds: float | None = None
    """For how long the tasks that one process has may read at a level, together; None: there is no limit."""
    state_id: str = ""
    """Whose the local state must be; see ``Progress.state_id``."""
