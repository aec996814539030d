"""One store of an application over all its partitions, each a replica, all brought to the same commit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.errors import UnknownTopicError
from headrace.query.following import PartitionReplica

if TYPE_CHECKING:
    from headrace.broker.port import Log, TopicDescription, TopicPartition
    from headrace.config import StreamsConfig
    from headrace.query.layout import StoreLayout
    from headrace.query.replica_files import ReplicaDirectory
    from headrace.query.standby import StandbyListener


class StoreFollower:
    """The replicas of one store."""

    def __init__(
        self,
        layout: StoreLayout,
        config: StreamsConfig,
        broker: Log,
        home: ReplicaDirectory,
        listeners: list[StandbyListener],
    ) -> None:
        assert layout.topic is not None, "only stores with a changelog can be followed"
        self._layout = layout
        self._config = config
        self._broker = broker
        self._topic = layout.topic
        topic = self._description()
        self._replicas: dict[int, PartitionReplica] = {}
        for number in range(layout.partitions):
            directory = home.of_store(f"{layout.subtopology}_{number}", layout.name)
            replica = PartitionReplica(layout, number, config, directory, listeners)
            replica.open(topic)
            self._replicas[number] = replica

    @property
    def stores(self) -> dict[int, Any]:
        return {number: replica.store for number, replica in self._replicas.items()}

    @property
    def offsets(self) -> dict[int, int]:
        """The next offset of the changelog that each copy needs, by partition."""
        return {number: replica.offset for number, replica in self._replicas.items()}

    def catch_up(self) -> int:
        """Apply what was committed since the last time; how many records that was."""
        starts, ends = bounds(self._layout, self._config.application_id, self._broker)
        return sum(
            replica.follow(self._broker, starts[self._topic, number], ends[self._topic, number])
            for number, replica in self._replicas.items()
        )

    def close(self) -> None:
        for replica in self._replicas.values():
            replica.close()

    def _description(self) -> TopicDescription | None:
        try:
            return self._broker.describe_topic(self._topic)
        except UnknownTopicError:
            return None


def bounds(
    layout: StoreLayout, application: str, broker: Log
) -> tuple[dict[TopicPartition, int], dict[TopicPartition, int]]:
    """Where the partitions of a store's changelog begin and end, as far as they are part of its committed state."""
    assert layout.topic is not None
    partitions: list[TopicPartition] = [(layout.topic, number) for number in range(layout.partitions)]
    try:
        starts = broker.start_offsets(partitions)
        # All ends at once: the partitions are then at the same batch.
        ends = broker.end_offsets(partitions)
    except UnknownTopicError:  # the application has never run, or was reset
        return dict.fromkeys(partitions, 0), dict.fromkeys(partitions, 0)
    if not layout.is_source:
        return starts, ends
    # What the application has not read yet is no part of its state.
    committed = broker.committed(application)
    read = {one: committed[one].offset if one in committed else starts[one] for one in ends}
    return starts, {one: max(starts[one], min(end, read[one])) for one, end in ends.items()}
