"""How far a task has come in its input, and the offsets it commits for that."""

from __future__ import annotations

from collections.abc import Mapping

from headrace.records import OffsetAndMetadata, TopicPartition
from headrace.task import commit_metadata
from headrace.task.context import TaskContext
from headrace.task.partition_group import PartitionGroup, RecordQueue


class InputProgress:
    """What a task has consumed of its partitions, and whether that is to be committed."""

    __slots__ = ("_context", "_group", "commit_needed", "consumed")

    def __init__(self, group: PartitionGroup, context: TaskContext) -> None:
        self.consumed: dict[TopicPartition, int] = {}
        """The offset of the last record that is done, by partition."""
        self.commit_needed = False
        self._group = group
        self._context = context

    def committed(self) -> None:
        self.commit_needed = False

    def committable_offsets(self) -> dict[TopicPartition, OffsetAndMetadata]:
        """What is to be committed for what was done, by partition."""
        offsets = {}
        for partition in self._group.partitions:
            queue = self._group.queue(partition)
            offset = self._next_offset(queue)
            if offset is not None:
                metadata = commit_metadata.encode(queue.partition_time, self._context.processor_metadata)
                offsets[partition] = OffsetAndMetadata(offset, metadata)
        return offsets

    def go_on_from(self, committed: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        """Continue with the partition times and the numbers that were committed."""
        numbers = self._context.processor_metadata
        for partition, (_, metadata) in committed.items():
            partition_time, committed_numbers = commit_metadata.decode(metadata)
            self._group.set_partition_time(partition, partition_time)
            for name, number in committed_numbers.items():
                numbers[name] = max(number, numbers.get(name, number))

    def _next_offset(self, queue: RecordQueue) -> int | None:
        """The first offset of a partition that is not done; None where nothing was read of it."""
        # Partitions with buffered records commit too, even if none was processed yet: the buffered ones are read again.
        if queue.head is not None:
            return queue.head[3][2]
        consumed = self.consumed.get(queue.topic_partition)
        return None if consumed is None else consumed + 1
