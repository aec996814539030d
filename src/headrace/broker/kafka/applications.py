"""Who may decide for an application, and what it publishes: the ports ``Ownership`` and ``Outbox`` of one process."""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Iterator, Mapping
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.broker.kafka.metadata import cluster_id
from headrace.broker.kafka.outbox import KafkaOutbox
from headrace.broker.kafka.ownership import KafkaLease, KafkaOwnership
from headrace.broker.kafka.staging_directory import StagingDirectory
from headrace.broker.port import Decided, Decision, Handover, OffsetAndMetadata, Outcome, Owner, Stage, TopicPartition
from headrace.records import RawRecord

if TYPE_CHECKING:
    from headrace.broker.kafka.clients import Clients
    from headrace.broker.kafka.log import KafkaLog

_STATE = Path(tempfile.gettempdir(), "headrace")
_STAGING = ".staging"
"""Below the state directory, beside those of the applications: cleaning up one of them must not lose results."""


class KafkaApplications:
    """The ports ``Ownership`` and ``Outbox``. ``log`` is the same broker's."""

    def __init__(self, clients: Clients, log: KafkaLog) -> None:
        settings = clients.config.settings
        default = Path(str(settings.get("state.dir") or _STATE), _STAGING)
        directory = StagingDirectory(str(settings.get("staging.dir") or default), cache(partial(cluster_id, clients)))
        self._ownership = KafkaOwnership(clients, log, directory)
        self._outbox = KafkaOutbox(clients, self._ownership, log, directory)

    def close(self) -> None:
        """End what it opened."""
        self._outbox.close()
        self._ownership.close()

    def owned_offsets(self, group: str) -> dict[TopicPartition, OffsetAndMetadata] | None:
        """What the application of this name has read, by what it decided; None where it is not ours."""
        return self._ownership.owned_offsets(group)

    def add_committed(self, group: str, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        """Offsets were committed by hand."""
        self._ownership.add_committed(group, offsets)

    def acquire_lease(self, application: str, *, note: str = "") -> KafkaLease:
        """Fence whoever has it; what was decided before is definite and published then."""
        return self._ownership.acquire_lease(application, note=note)

    def lease_owner(self, application: str) -> Owner | None:
        """Who runs it, as far as anybody can tell."""
        return self._ownership.lease_owner(application)

    def check_lease(self, application: str, epoch: int) -> None:
        """FencedError where another process has it."""
        self._ownership.check_lease(application, epoch)

    def last_decided(self, application: str) -> Decided | None:
        """The last decision; None before the first."""
        return self._ownership.last_decided(application)

    def applications(self) -> list[str]:
        """Those that are owned or have decided something."""
        return self._ownership.applications()

    def delete_application(self, application: str) -> None:
        """Forget its decisions and notes, and its group."""
        self._ownership.delete_application(application)

    def stage(self, application: str, epoch: int, batch_id: int, attempt: str) -> Stage:
        """Write output: seen after a decision, or at once with ``at_least_once``."""
        return self._outbox.stage(application, epoch, batch_id, attempt)

    def read_staged(self, staged: Handover, partition: TopicPartition) -> Iterator[list[RawRecord]]:
        """The records of one partition that a stage handed over."""
        return self._outbox.read_staged(staged, partition)

    def decide(self, decision: Decision) -> Outcome:
        """Let a batch count."""
        return self._outbox.decide(decision)

    def outcome(self, decision: Decision) -> Outcome:
        """What became of it."""
        return self._outbox.outcome(decision)

    def begin_publishing(self, application: str, epoch: int) -> None:
        """Begin to let readers see what is decided."""
        self._outbox.begin_publishing(application, epoch)

    def publish(self, application: str, epoch: int) -> None:
        """Let readers see everything that is decided."""
        self._outbox.publish(application, epoch)

    def await_published(self, application: str, places: Collection[TopicPartition]) -> None:
        """Wait until what is decided can be read from these changelogs."""
        self._outbox.await_published(application, places)
