"""A Kafka cluster as one process has it open: the log, and who may decide and publish for applications."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from headrace.broker.config import BrokerConfig
from headrace.broker.kafka.applications import KafkaApplications
from headrace.broker.kafka.clients import Clients
from headrace.broker.kafka.log import KafkaLog
from headrace.broker.port import OffsetAndMetadata, TopicPartition
from headrace.errors import BrokerError


class KafkaBroker(KafkaLog, KafkaApplications):
    """The cluster that ``config.address`` leads to. See ``headrace.broker.port.Broker``.

    Opening it asks nothing: a cluster that does not answer is noticed by the first question.
    """

    def __init__(self, config: BrokerConfig) -> None:
        self._config = config
        self._clients = Clients(config)
        KafkaLog.__init__(self, self._clients)
        KafkaApplications.__init__(self, self._clients, self)

    @property
    def config(self) -> BrokerConfig:
        """What opens the same broker in another process."""
        return self._config

    @property
    def address(self) -> str:
        """Where it is, as ``bootstrap.servers`` says it."""
        return self._config.address

    def commit_offsets(self, group: str, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        """Note how far a group has read; an error while it has members."""
        KafkaLog.commit_offsets(self, group, offsets)
        self.add_committed(group, offsets)

    def committed(self, group: str) -> dict[TopicPartition, OffsetAndMetadata]:
        """What a group committed. That of an application that is ours nobody else changes, so nobody is asked."""
        ours = self.owned_offsets(group)
        return KafkaLog.committed(self, group) if ours is None else ours

    def __repr__(self) -> str:
        return f"KafkaBroker({self.address!r})"

    def __enter__(self) -> KafkaBroker:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def maintain(self) -> None:
        """Nothing is due: the cluster keeps itself."""

    def problems(self, topic: str) -> Sequence[BrokerError]:
        """Nothing that a client could find: brokers verify what they store."""
        return ()

    def close(self) -> None:
        """End the clients of this process."""
        KafkaApplications.close(self)
        KafkaLog.close(self)
        self._clients.close()
