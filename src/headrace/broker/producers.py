"""Plain producers: which partition a record goes to."""

from __future__ import annotations

import random

from headrace.broker.port import NewRecord
from headrace.partitioning import default_partition

STICKY_BYTES = 16 * 1024


class StickyPartitioner:
    """Kafka's default: murmur2 of the key; records without one fill a partition for a while, then the next one."""

    def __init__(self) -> None:
        self._current: dict[str, tuple[int, int]] = {}

    def __call__(self, record: NewRecord, partitions: int) -> int:
        if record.partition is not None:
            return record.partition
        if record.key is not None:
            return default_partition(record.key, partitions)
        partition, size = self._current.get(record.topic) or (random.randrange(partitions), 0)
        if size >= STICKY_BYTES:
            partition, size = partition + 1, 0
        self._current[record.topic] = partition, size + len(record.value or b"") + 16
        return partition % partitions
