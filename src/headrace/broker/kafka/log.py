"""The port ``Log`` on Kafka: topics, records by ranges, appending, groups."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from headrace.broker.kafka import groups, metadata, offsets, topics
from headrace.broker.kafka.appending import Appender
from headrace.broker.kafka.clients import Clients
from headrace.broker.kafka.reading import Readers
from headrace.broker.port import Appended, NewRecord, OffsetAndMetadata, TopicDescription, TopicPartition
from headrace.records import RawRecord


class KafkaLog:
    """What a cluster stores, as one process reads and writes it. Safe in threads."""

    def __init__(self, clients: Clients) -> None:
        self._log_clients = clients
        self._readers = Readers(clients)
        self._appender = Appender(clients)

    def close(self) -> None:
        """End the consumers and the producer."""
        self._readers.close()
        self._appender.close()

    def create_topic(self, name: str, partitions: int = 1, config: Mapping[str, object] | None = None) -> None:
        """Make a topic; TopicExistsError where there is one."""
        topics.create(self._log_clients, name, partitions, config)

    def delete_topic(self, name: str) -> None:
        """Remove a topic, its records and what groups committed for it."""
        topics.delete(self._log_clients, name)

    def alter_topic(
        self, name: str, *, partitions: int | None = None, config: Mapping[str, object | None] | None = None
    ) -> None:
        """Add partitions, change settings; None brings a setting back to its default."""
        topics.alter(self._log_clients, name, partitions, config)

    def topics(self) -> dict[str, int]:
        """The names of all topics and their numbers of partitions."""
        return metadata.counts(self._log_clients)

    def topic_ids(self, names: Iterable[str]) -> dict[str, str]:
        """What tells each of these topics from an earlier one of its name, which was deleted; of those there are."""
        return topics.ids(self._log_clients, names)

    def describe_topic(self, name: str) -> TopicDescription:
        """Settings and offsets of one topic; of sizes Kafka's clients are not told."""
        return topics.describe(self._log_clients, name)

    def append(self, records: Iterable[NewRecord]) -> Appended:
        """Append records; all of them are visible when it returns. Where it fails, nobody knows of how many."""
        return self._appender.append(records)

    def start_offsets(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """The first offset of each partition."""
        return offsets.starts(self._log_clients, partitions)

    def end_offsets(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """One past the last record that can be read: the last stable offset, unless uncommitted records count."""
        return offsets.ends(self._log_clients, partitions)

    def offsets_for_time(self, times: Mapping[TopicPartition, int]) -> dict[TopicPartition, int | None]:
        """The first offset of each partition whose timestamp is at or after the given one; None where there is none."""
        return offsets.for_times(self._log_clients, times)

    def read(
        self, topic: str, partition: int, start: int, end: int | None = None, *, max_records: int = 4096
    ) -> Iterator[list[RawRecord]]:
        """The records from ``start`` up to, not including, ``end``, in lists of bounded size."""
        return self._readers.read(topic, partition, start, end, max_records)

    def commit_offsets(self, group: str, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        """Note how far a group has read; an error while it has members."""
        groups.commit(self._log_clients, group, offsets)

    def committed(self, group: str) -> dict[TopicPartition, OffsetAndMetadata]:
        """What a group committed; nothing where it is unknown."""
        return groups.committed(self._log_clients, group)

    def groups(self) -> list[str]:
        """The groups that the cluster knows."""
        return groups.names(self._log_clients)

    def lag(self, group: str) -> dict[TopicPartition, int]:
        """How many offsets are between what the group committed and the end."""
        return groups.lag(self._log_clients, group)

    def delete_group(self, group: str) -> None:
        """Forget what a group committed."""
        groups.delete(self._log_clients, group)
