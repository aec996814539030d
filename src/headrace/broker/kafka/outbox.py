"""The port ``Outbox`` on Kafka: staged, decided, published."""

from __future__ import annotations

import threading
import time
from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING

from confluent_kafka.admin import AclOperation

from headrace.broker.kafka.chunks import raw_records
from headrace.broker.kafka.following import FollowingPublisher
from headrace.broker.kafka.limits import TopicLimits
from headrace.broker.kafka.producing import ProducedStage, SharedProducer
from headrace.broker.kafka.publishing import fence, parts_of, patience
from headrace.broker.kafka.sending import chunks_of
from headrace.broker.kafka.staging import FileSink, HeldSink, Sink, StageWriter, staged_of
from headrace.broker.kafka.staging_sweep import file_name
from headrace.broker.kafka.topics import check_allowed
from headrace.broker.port import Decision, Handover, Outcome, Stage, TopicPartition
from headrace.errors import BrokerUnreachableError, StoreError
from headrace.records import RawRecord

if TYPE_CHECKING:
    from headrace.broker.kafka.clients import Clients
    from headrace.broker.kafka.control import ControlState
    from headrace.broker.kafka.log import KafkaLog
    from headrace.broker.kafka.ownership import KafkaOwnership
    from headrace.broker.kafka.staging_directory import StagingDirectory

_WIDEST = 1_048_588
_SEEN_SECONDS = 30.0
_PAUSE_SECONDS = 0.005
_OVERHEAD = 128
"""What a record has beside its key, its value and its headers, at the most."""


class KafkaOutbox:
    """What an application writes."""

    def __init__(self, clients: Clients, ownership: KafkaOwnership, log: KafkaLog, directory: StagingDirectory) -> None:
        self._ownership, self._log, self._directory = ownership, log, directory
        self._publisher = clients.config.publisher
        self._is_exactly_once = clients.config.settings.get("processing.guarantee") == "exactly_once_v2"
        self._producer = SharedProducer(clients)
        self._clients = clients
        self._following: FollowingPublisher | None = None
        self._limits: dict[str, TopicLimits] = {}
        self._checked: set[tuple[str, int]] = set()
        self._succeeded: set[str] = set()
        self._lock = threading.Lock()

    def stage(self, application: str, epoch: int, batch_id: int, attempt: str) -> Stage:
        """Write output that only a decision makes visible; with ``at_least_once`` it is visible at once."""
        if not self._is_exactly_once:
            return ProducedStage(self._producer, self._limits_of)
        name = file_name(self._directory, application, epoch, batch_id, attempt)
        sink: Sink
        if self._ownership.is_owned(application):
            sink = HeldSink(self._ownership.held, name, self._publisher)
        else:
            self._follow(application, epoch)
            sink = FileSink(self._directory, name, self._publisher)
        return StageWriter(self._limits_of, sink)

    def read_staged(self, staged: Handover, partition: TopicPartition) -> Iterator[list[RawRecord]]:
        """The records of one partition that a stage handed over."""
        first = 0
        for chunk in chunks_of(staged_of(staged), self._directory, self._ownership.held):
            if (chunk.topic, chunk.partition) == partition:
                yield raw_records(chunk, first)
                first += len(chunk.keys)

    def decide(self, decision: Decision) -> Outcome:
        """Let a batch count."""
        owned, publishers = self._ownership.owned(decision.application, decision.epoch)
        owned.publish(publishers.wait_and_finish)
        return owned.decide(decision)

    def outcome(self, decision: Decision) -> Outcome:
        """What became of it."""
        return self._ownership.owned(decision.application, decision.epoch)[0].outcome(decision)

    def begin_publishing(self, application: str, epoch: int) -> None:
        """Begin to let readers see what is decided."""
        owned, publishers = self._ownership.owned(application, epoch)
        owned.begin_publishing(publishers.wait_and_finish)

    def publish(self, application: str, epoch: int) -> None:
        """Let readers see everything that is decided."""
        owned, publishers = self._ownership.owned(application, epoch)
        owned.publish(publishers.wait_and_finish)

    def close(self) -> None:
        """End the producers."""
        self._producer.discard()
        with self._lock:
            if self._following is not None:
                self._following.close()
                self._following = None

    def await_published(self, application: str, places: Collection[TopicPartition]) -> None:
        """Wait until what is decided is published and can be read: a commit is answered a little before that."""
        if not self._ownership.has_topic(application):
            return
        if self._is_exactly_once and not self._ownership.is_owned(application):
            self._succeed(application)
        known = self._published(application).ends
        ends = {place: known[place] for place in places if place in known}
        deadline = time.monotonic() + _SEEN_SECONDS
        while missing := self._missing(ends):
            if time.monotonic() > deadline:
                topic, number = missing[0]
                message = f"the changelog {topic}-{number} has lost records: {ends[topic, number]} were published"
                raise StoreError(message, hint="Reset the application, or bring the topic back from a backup.")
            time.sleep(_PAUSE_SECONDS)

    def _published(self, application: str) -> ControlState:
        """What the control topic says when the last decision is published, which goes on beside the next batch."""
        state = self._ownership.topics.state(application)
        # What its publishers do not do in that time the driver does.
        deadline = time.monotonic() + 2 * patience(state) + _SEEN_SECONDS
        while parts_of(state):
            if time.monotonic() > deadline:
                message = f"the last batch of {application} is not published, and its changelogs are behind"
                raise BrokerUnreachableError(message, hint="The broker or the driver is slow or gone.")
            self._ownership.topics.reader(application).follow(_PAUSE_SECONDS)
        return state

    def _missing(self, ends: Mapping[TopicPartition, int]) -> list[TopicPartition]:
        found = self._log.end_offsets(ends)
        return [place for place, end in ends.items() if found[place] < end]

    def _follow(self, application: str, epoch: int) -> None:
        """Publish what is decided of it from now on, beside the data."""
        self._succeed(application)
        self._check_shared(application, epoch)
        with self._lock:
            following = self._following
            if following is None or (following.application, following.epoch) != (application, epoch):
                if following is not None:
                    following.close()
                self._following = FollowingPublisher(
                    self._clients, application, epoch, self._publisher, self._directory
                )

    def _succeed(self, application: str) -> None:
        """End what the process that was this publisher before has under way. It would hide what comes after it."""
        with self._lock:
            if application not in self._succeeded:
                reader = self._ownership.topics.reader(application)
                if not reader.is_definite():
                    fence(self._clients, reader, [self._publisher])
                self._succeeded.add(application)

    def _check_shared(self, application: str, epoch: int) -> None:
        """Refuse a staging directory that is not the driver's."""
        if (application, epoch) not in self._checked:
            owner = self._ownership.topics.settled(application).owner
            if owner is not None and owner.epoch == epoch:
                self._directory.check_shared(application, owner.token)
                self._checked.add((application, epoch))

    def _limits_of(self, topic: str, partition: int) -> TopicLimits:
        """What a topic takes. For a partition that it did not have it is asked again: it may have been added."""
        with self._lock:
            found = self._limits.get(topic)
            if found is None or partition >= found.partitions:
                check_allowed(self._clients, topic, AclOperation.WRITE)
                described = self._log.describe_topic(topic)
                widest = int(described.config.get("max.message.bytes", _WIDEST)) - _OVERHEAD
                needs_key = "compact" in described.config.get("cleanup.policy", "delete")
                found = self._limits[topic] = TopicLimits(len(described.partitions), widest, needs_key)
            return found
