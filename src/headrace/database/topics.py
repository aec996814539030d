"""The topics of a broker as the engine of SQL asks for them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

from headrace.broker.port import Log
from headrace.broker.port import NewRecord as BrokerRecord
from headrace.sql.engine.ports import NewRecord


class BrokerTopics:
    """Made, deleted and written on a broker."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._companions: list[BrokerRecord] = []

    def names(self) -> Iterable[str]:
        """All topics, those of applications among them."""
        return self._log.topics()

    def partitions(self, topic: str) -> int | None:
        """How many partitions the topic has; None where it does not exist."""
        return self._log.topics().get(topic)

    def create(self, topic: str, partitions: int, settings: Mapping[str, str]) -> None:
        """Make the topic."""
        self._log.create_topic(topic, partitions, settings)

    def delete(self, topic: str) -> None:
        """Delete the topic and what is in it."""
        if topic in self._log.topics():
            self._log.delete_topic(topic)

    def append(self, topic: str, record: NewRecord) -> None:
        """Write a record; it is there when this returns."""
        made = BrokerRecord(topic, record.key, record.value, record.timestamp, record.headers)
        self._log.append([made, *self._companions])

    @contextmanager
    def together_with(self, record: BrokerRecord) -> Iterator[None]:
        """Append ``record`` in one step with whatever is appended in the block."""
        self._companions.append(record)
        try:
            yield
        finally:
            self._companions.remove(record)
