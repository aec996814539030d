"""The topics of a broker as the engine of SQL asks for them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from headrace.broker.port import Log
from headrace.broker.port import NewRecord as BrokerRecord
from headrace.sql.engine.ports import NewRecord


class BrokerTopics:
    """Made, deleted and written on a broker."""

    def __init__(self, log: Log) -> None:
        self._log = log

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

    def append(self, topic: str, record: NewRecord, *beside: tuple[str, NewRecord]) -> None:
        """Write a record, in one step with those ``beside`` it in other topics; it is there when this returns."""
        self._log.append(
            [
                BrokerRecord(name, each.key, each.value, each.timestamp, each.headers)
                for name, each in ((topic, record), *beside)
            ]
        )
