"""The port ``Ownership`` on Kafka: who asks for an application *fences* whoever has it."""

from __future__ import annotations

import os
import socket
import threading
import time
import uuid
from collections.abc import Callable, Mapping
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING

from confluent_kafka.admin import AclOperation

from headrace.broker.kafka import groups, staging_sweep
from headrace.broker.kafka.chunks import Chunk
from headrace.broker.kafka.control import CONFIG, SUFFIX, ControlTopics, OwnerRecord, control_topic
from headrace.broker.kafka.owned import OwnedApplication, fenced
from headrace.broker.kafka.publishing import Publishers, fence_unfinished
from headrace.broker.kafka.topics import check_allowed
from headrace.broker.leases import has_ended, process_mark
from headrace.broker.port import Decided, OffsetAndMetadata, Owner, TopicPartition
from headrace.clock import now_ms
from headrace.errors import AuthorizationError, FencedError, LeaseHeldError, TopicExistsError, UnknownTopicError

if TYPE_CHECKING:
    from headrace.broker.kafka.clients import Clients
    from headrace.broker.kafka.log import KafkaLog
    from headrace.broker.kafka.staging_directory import StagingDirectory


class KafkaLease:
    """The right to decide, until another process takes it."""

    def __init__(self, ownership: KafkaOwnership, owned: OwnedApplication, record: OwnerRecord) -> None:
        self._ownership, self._owned = ownership, owned
        self.application = owned.application
        self.epoch = record.epoch
        self.owner = record.owner

    def renew(self) -> None:
        """FencedError where another process took it over."""
        self._owned.renew()

    def release(self) -> None:
        """Give it back. Does nothing where it is no longer ours."""
        self._ownership.release(self._owned)

    def __enter__(self) -> KafkaLease:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.release()


class KafkaOwnership:
    """The applications of a cluster, as far as their control topics tell."""

    def __init__(self, clients: Clients, log: KafkaLog, directory: StagingDirectory) -> None:
        self._clients, self._log, self._directory = clients, log, directory
        self.topics = ControlTopics(clients)
        self.held: dict[str, list[Chunk]] = {}
        self._owned: dict[str, tuple[OwnedApplication, Publishers]] = {}
        self._lock = threading.RLock()

    def acquire_lease(self, application: str, *, note: str = "") -> KafkaLease:
        """Fence whoever has it; what was decided is published before anything else."""
        with groups.asking(self._clients, application, is_definite=True) as ask:
            return self._acquire(application, note, ask)

    def _acquire(
        self, application: str, note: str, ask: Callable[[], dict[TopicPartition, OffsetAndMetadata]]
    ) -> KafkaLease:
        with suppress(TopicExistsError):
            if not self.has_topic(application):
                self._log.create_topic(control_topic(application), 1, CONFIG)
        check_allowed(self._clients, control_topic(application), AclOperation.READ, AclOperation.WRITE)
        groups.check_empty(self._clients, application)
        owned = OwnedApplication(self._clients, self.topics.reader(application), self._directory, self.held)
        record = owned.take(lambda last: _record(last, note), lambda: fence_unfinished(self._clients, owned.reader))
        self._directory.sign(application, record.token)
        publishers = Publishers(self._clients, owned.reader, record.epoch, self._directory)
        if owned.uncommitted_offsets:
            owned.heed_moves(ask())
        left = owned.uncommitted_offsets
        owned.publish(publishers.finish)
        # What was committed this moment may not be told yet: the first offsets of a group are not until then.
        owned.add_committed({**ask(), **left})
        staging_sweep.sweep(self._directory, application, record)
        with self._lock:
            self._owned[application] = owned, publishers
        return KafkaLease(self, owned, record)

    def release(self, owned: OwnedApplication) -> None:
        """Give an application back."""
        with self._lock:
            found = self._owned.get(owned.application)
            if found is None or found[0] is not owned:
                return
            del self._owned[owned.application]
        try:
            # It waits for what is being published, for which the publishers are needed.
            owned.release()
        finally:
            found[1].close()

    def owned(self, application: str, epoch: int) -> tuple[OwnedApplication, Publishers]:
        """The application, which must be ours."""
        with self._lock:
            found = self._owned.get(application)
        if found is None or found[0].epoch != epoch:
            raise fenced(application, epoch, self.topics.state(application).owner)
        return found

    def has_topic(self, application: str) -> bool:
        """Whether there is a control topic."""
        return control_topic(application) in self._log.topics()

    def is_owned(self, application: str) -> bool:
        """Whether this process decides for it."""
        with self._lock:
            return application in self._owned

    def owned_offsets(self, application: str) -> dict[TopicPartition, OffsetAndMetadata] | None:
        """How far an application has read that is ours; None where it is not."""
        with self._lock:
            found = self._owned.get(application)
        return None if found is None else dict(found[0].committed)

    def add_committed(self, application: str, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        """Offsets of an application were committed by hand."""
        with self._lock:
            if application in self._owned:
                self._owned[application][0].add_committed(offsets)

    def lease_owner(self, application: str) -> Owner | None:
        """Who runs it: a process of this machine that has ended does not. Of another machine nobody can tell."""
        return _living(self._state_of(application))

    def check_lease(self, application: str, epoch: int) -> None:
        """FencedError where another process has it. That a later epoch is known here than there is a matter of time."""
        record = self._state_of(application)
        if record is None or record.epoch > epoch or (record.epoch == epoch and record.is_released):
            raise fenced(application, epoch, record)

    def last_decided(self, application: str) -> Decided | None:
        """What the control topic says. Who does not own it only looks, and waits for nobody who was killed."""
        if not self.has_topic(application):
            return None
        ask = self.topics.state if self.is_owned(application) else self.topics.settled
        state = ask(application)
        if state.decision is None:
            return None
        return Decided(state.decision.batch_id, state.decision.epoch, dict(state.notes))

    def applications(self, prefix: str = "") -> list[str]:
        """Those that are owned or have decided something. No control topic is read whose name does not begin so."""
        names = [topic.removesuffix(SUFFIX) for topic in self._log.topics() if topic.endswith(SUFFIX)]
        return [name for name in names if name.startswith(prefix) and self._is_known(name)]

    def delete_application(self, application: str) -> None:
        """Forget its decisions, notes and group; whoever wakes up late is fenced still."""
        owner = self.lease_owner(application)
        if owner is not None and not self.is_owned(application):
            message = f"application {application} is running: process {owner.pid} on host {owner.host}"
            raise LeaseHeldError(message, hint="Stop it first.")
        if self.has_topic(application):
            with suppress(FencedError):
                self.acquire_lease(application, note="headrace reset").release()
            with suppress(UnknownTopicError):
                self._log.delete_topic(control_topic(application))
        self.topics.forget(application)
        for name in self._directory.names(application):
            self._directory.remove(name)
        self._log.delete_group(application)

    def close(self) -> None:
        """Let go of everything, without giving anything back: whoever comes next fences us."""
        with self._lock:
            owned = list(self._owned.values())
            self._owned.clear()
        for application, publishers in owned:
            publishers.close()
            application.discard()
        self.topics.close()

    def _is_known(self, application: str) -> bool:
        try:
            state = self.topics.settled(application)
        except UnknownTopicError:  # It was deleted meanwhile.
            return False
        except AuthorizationError:
            return True
        return state.decision is not None or _living(state.owner) is not None

    def _state_of(self, application: str) -> OwnerRecord | None:
        if not self.has_topic(application):
            self.topics.forget(application)
            return None
        return self.topics.settled(application).owner


def _living(record: OwnerRecord | None) -> Owner | None:
    if record is None or record.is_released or has_ended(record.host, record.pid, record.process):
        return None
    return record.owner


def _record(last: int, note: str) -> OwnerRecord:
    # Epochs go on growing where the topic was deleted and made again.
    epoch = max(last + 1, int(time.time()))
    pid = os.getpid()
    return OwnerRecord(epoch, uuid.uuid4().hex, socket.gethostname(), pid, process_mark(pid), now_ms(), note)
