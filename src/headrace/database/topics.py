"""The topics of a broker as the engine of SQL asks for them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from headrace.broker.port import Log
from headrace.broker.port import NewRecord as BrokerRecord
from headrace.sql.engine.ports import NewRecord


class BrokerTopics:
    """Made, deleted and written on a broker. ``together`` appends records to several topics, all or none of them.

    ``until_left`` waits until the queries that are stopped do not write to a topic any more.
    """

    def __init__(
        self, log: Log, together: Callable[[Sequence[BrokerRecord]], None], until_left: Callable[[str], None]
    ) -> None:
        self._log, self._together, self._until_left = log, together, until_left

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
            self._until_left(topic)
            self._log.delete_topic(topic)

    def append(self, topic: str, record: NewRecord, *beside: tuple[str, NewRecord]) -> None:
        """Write a record, in one step with those ``beside`` it in other topics; it is there when this returns."""
        records = [
            BrokerRecord(name, each.key, each.value, each.timestamp, each.headers)
            for name, each in ((topic, record), *beside)
        ]
        if beside:
            self._together(records)
        else:
            self._log.append(records)
