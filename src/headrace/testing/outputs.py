"""What the topology under test has written."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from headrace.errors import EmptyTopicError, user_line
from headrace.near_names import did_you_mean
from headrace.records import Headers
from headrace.task.handlers import ProducedRecord


class Outputs:
    """The producer of the driver's task: keeps all records it is sent, and sorts them into topics to be read.

    ``produced`` holds every record, in the order of production; ``by_topic`` those that nobody has read yet.
    """

    def __init__(self) -> None:
        self.produced: list[ProducedRecord] = []
        self.by_topic: dict[str, deque[ProducedRecord]] = {}
        self._pending: list[ProducedRecord] = []

    def send(
        self,
        topic: str,
        partition: int | None,
        timestamp: int | None,
        key: bytes | None,
        value: bytes | None,
        headers: Headers,
    ) -> None:
        """Take a record from the task."""
        record = ProducedRecord(topic, partition, timestamp, key, value, headers)
        self.produced.append(record)
        self._pending.append(record)

    def partitions_for(self, topic: str) -> int:
        """One, always."""
        return 1

    def flush(self) -> None:
        """Nothing is under way."""

    def sort(self) -> Iterator[ProducedRecord]:
        """Sort what was sent since the last time into its topics, one by one, all in their only partition."""
        pending, self._pending = self._pending, []
        for sent in pending:
            record = sent._replace(partition=0)
            self.by_topic.setdefault(record.topic, deque()).append(record)
            yield record

    def read(self, topic: str) -> ProducedRecord:
        """Take the next record of ``topic``; EmptyTopicError where there is none."""
        waiting = self.by_topic.get(topic)
        if waiting is None:
            message = f"nothing was ever written to the topic {topic!r}"
            detail = f"topics written to: {', '.join(self.by_topic) or 'none'}"
            raise EmptyTopicError(message, detail=detail, hint=did_you_mean(topic, self.by_topic), at=user_line())
        if not waiting:
            message = f"all records of the topic {topic!r} have been read"
            raise EmptyTopicError(message)
        return waiting.popleft()
