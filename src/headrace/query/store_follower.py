"""One store of an application over all its partitions, each a replica, all brought to the same commit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.errors import UnknownTopicError
from headrace.query.following import PartitionReplica

if TYPE_CHECKING:
    from headrace.broker.port import Broker, TopicDescription, TopicPartition
    from headrace.config import StreamsConfig
    from headrace.query.layout import StoreLayout
    from headrace.query.places import Place


class StoreFollower:
    """The replicas of one store."""

    def __init__(self, layout: StoreLayout, config: StreamsConfig, broker: Broker, place: Place) -> None:
        assert layout.topic is not None, "only stores with a changelog can be followed"
        self._layout = layout
        self._config = config
        self._broker = broker
        self._partitions: list[TopicPartition] = [(layout.topic, number) for number in range(layout.partitions)]
        topic = self._description(layout.topic)
        self._replicas: dict[int, PartitionReplica] = {}
        for number in range(layout.partitions):
            directory = place.of_store(f"{layout.subtopology}_{number}", layout.name)
            replica = PartitionReplica(layout, number, config, directory)
            replica.open(topic)
            self._replicas[number] = replica

    @property
    def stores(self) -> dict[int, Any]:
        """The typed stores by partition."""
        return {number: replica.store for number, replica in self._replicas.items()}

    def catch_up(self) -> int:
        """Apply what was committed since the last time; how many records that was."""
        try:
            starts = self._broker.start_offsets(self._partitions)
            # All ends at once: the partitions are then at the same batch.
            ends = self._ends(starts)
        except UnknownTopicError:  # the application has never run, or was reset
            starts = ends = dict.fromkeys(self._partitions, 0)
        return sum(
            self._replicas[number].follow(self._broker, starts[topic, number], ends[topic, number])
            for topic, number in self._partitions
        )

    def close(self) -> None:
        """Close the stores."""
        for replica in self._replicas.values():
            replica.close()

    def _ends(self, starts: dict[TopicPartition, int]) -> dict[TopicPartition, int]:
        ends = self._broker.end_offsets(self._partitions)
        if not self._layout.is_source:
            return ends
        # What the application has not read yet is no part of its state.
        committed = self._broker.committed(self._config.application_id)
        read = {one: committed[one].offset if one in committed else starts[one] for one in ends}
        return {one: max(starts[one], min(end, read[one])) for one, end in ends.items()}

    def _description(self, topic: str) -> TopicDescription | None:
        try:
            return self._broker.describe_topic(topic)
        except UnknownTopicError:
            return None
