"""A Kafka cluster as one process has it open: the log, and who may decide and publish for applications."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from functools import cache, partial
from pathlib import Path

from headrace.broker.config import BrokerConfig
from headrace.broker.kafka.clients import Clients
from headrace.broker.kafka.log import KafkaLog
from headrace.broker.kafka.metadata import cluster_id
from headrace.broker.kafka.outbox import KafkaOutbox
from headrace.broker.kafka.ownership import KafkaOwnership
from headrace.broker.kafka.staging_directory import StagingDirectory
from headrace.broker.port import OffsetAndMetadata, TopicPartition
from headrace.errors import BrokerError

_STATE = Path(tempfile.gettempdir(), "headrace")
_STAGING = ".staging"
"""Below the state directory, beside those of the applications: cleaning up one of them must not lose results."""


class KafkaBroker(KafkaLog):
    """The cluster that ``config.address`` leads to. See ``headrace.broker.port.Broker``.

    Opening it asks nothing: a cluster that does not answer is noticed by the first question.
    """

    def __init__(self, config: BrokerConfig) -> None:
        self._config = config
        self._clients = clients = Clients(config)
        super().__init__(clients)
        staging = config.settings.get("staging.dir") or Path(str(config.settings.get("state.dir") or _STATE), _STAGING)
        self._cluster = cache(partial(cluster_id, clients))
        directory = StagingDirectory(str(staging), self._cluster)
        self._ownership = ownership = KafkaOwnership(clients, self, directory)
        self._outbox = outbox = KafkaOutbox(clients, ownership, self, directory)
        # The ports Ownership and Outbox are what these two offer.
        self.acquire_lease, self.lease_owner = ownership.acquire_lease, ownership.lease_owner
        self.check_lease, self.last_decided = ownership.check_lease, ownership.last_decided
        self.applications, self.delete_application = ownership.applications, ownership.delete_application
        self.stage, self.read_staged, self.await_published = outbox.stage, outbox.read_staged, outbox.await_published
        self.decide, self.outcome = outbox.decide, outbox.outcome
        self.begin_publishing, self.publish = outbox.begin_publishing, outbox.publish

    @property
    def config(self) -> BrokerConfig:
        """What opens the same broker in another process."""
        return self._config

    @property
    def address(self) -> str:
        """Where it is, as ``bootstrap.servers`` says it."""
        return self._config.address

    @property
    def identity(self) -> str:
        """Which cluster it is: several addresses may lead to it, and one to another cluster tomorrow."""
        return f"Kafka cluster {self._cluster()}"

    def commit_offsets(self, group: str, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        """Note how far a group has read; an error while it has members."""
        super().commit_offsets(group, offsets)
        self._ownership.add_committed(group, offsets)

    def committed(self, group: str) -> dict[TopicPartition, OffsetAndMetadata]:
        """What a group committed. That of an application that is ours nobody else changes, so nobody is asked."""
        ours = self._ownership.owned_offsets(group)
        return super().committed(group) if ours is None else ours

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
        self._outbox.close()
        self._ownership.close()
        super().close()
        self._clients.close()
