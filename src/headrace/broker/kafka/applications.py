"""Who may decide for an application, and what it publishes."""

from __future__ import annotations

from collections.abc import Iterator

from headrace.broker.kafka.clients import Clients
from headrace.broker.kafka.log import KafkaLog
from headrace.broker.port import Decided, Decision, Handover, Lease, Outcome, Owner, Stage, TopicPartition
from headrace.errors import UnsupportedError
from headrace.records import RawRecord


class KafkaApplications:
    """The ports ``Ownership`` and ``Outbox``. ``log`` is the same broker's."""

    def __init__(self, clients: Clients, log: KafkaLog) -> None:
        self._application_clients, self._application_log = clients, log

    def close(self) -> None:
        """End what it opened."""

    def acquire_lease(self, application: str, *, note: str = "") -> Lease:
        raise _not_yet(application)

    def lease_owner(self, application: str) -> Owner | None:
        return None

    def check_lease(self, application: str, epoch: int) -> None:
        raise _not_yet(application)

    def last_decided(self, application: str) -> Decided | None:
        return None

    def applications(self) -> list[str]:
        return []

    def delete_application(self, application: str) -> None:
        self._application_log.delete_group(application)

    def stage(self, application: str, epoch: int, batch_id: int, attempt: str) -> Stage:
        raise _not_yet(application)

    def read_staged(self, staged: Handover, partition: TopicPartition) -> Iterator[list[RawRecord]]:
        raise _not_yet(partition[0])

    def decide(self, decision: Decision) -> Outcome:
        raise _not_yet(decision.application)

    def outcome(self, decision: Decision) -> Outcome:
        raise _not_yet(decision.application)

    def publish(self, application: str, epoch: int) -> None:
        raise _not_yet(application)


def _not_yet(application: str) -> UnsupportedError:
    message = f"applications do not run on Kafka yet: {application}"
    return UnsupportedError(message, hint="Use the embedded broker, a directory: embedded:DIRECTORY.")
