"""The control topic of an application: who owns it, what was decided, what is published. Everybody follows it.

``<application.id>-headrace-batches`` has one partition and is compacted; each kind of record has its key, and the last
of a key counts. All of it is written in transactions: a decision is there as a whole or not at all, and a mark stands
for records that were written with it.

A commit is answered before its end is written everywhere. So what the end of the topic says *now* is definite only for
who has just begun a session with the transactional id in question: that waits for whatever was under way.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec
from confluent_kafka import KafkaError, KafkaException, TopicPartition

from headrace.broker.kafka import offsets
from headrace.broker.kafka.failures import UNKNOWN_TOPIC, UNREACHABLE
from headrace.broker.port import Handover, OffsetAndMetadata, Owner
from headrace.broker.port import TopicPartition as Place
from headrace.errors import AuthorizationError, BrokerUnreachableError, CorruptLogError, UnknownTopicError

if TYPE_CHECKING:
    from headrace.broker.kafka.clients import Clients

SUFFIX = "-headrace-batches"
CONFIG: Mapping[str, object] = {
    "cleanup.policy": "compact",
    "min.cleanable.dirty.ratio": "0.1",
    "segment.ms": "3600000",
    "segment.bytes": "67108864",
}

OWNER, DECISION, PUBLISHED = b"owner", b"decision", b"published"
NOTE, STAGE, MARK = b"note/", b"stage/", b"mark/"

_WAIT_MS = 20
"""How long the broker may hold an answer back. It does so for what was just committed, too: decisions wait for it."""
_POLL_SECONDS = 0.05
_PAUSE_SECONDS = 0.002
_SETTLED_SECONDS = 1.0
_MOST = 1000
_PASSING = UNKNOWN_TOPIC | UNREACHABLE
"""What a consumer complains of while a broker is away. That a topic is gone is told where its end is asked for."""


def control_topic(application: str) -> str:
    """Where an application's decisions are.

    >>> control_topic("orders")
    'orders-headrace-batches'
    """
    return application + SUFFIX


class OwnerRecord(msgspec.Struct, frozen=True):
    """Who may decide."""

    epoch: int
    token: str
    """Tells one acquisition from every other."""
    host: str
    pid: int
    process: str
    since_ms: int
    note: str
    is_released: bool = False

    @property
    def owner(self) -> Owner:
        """As the port shows it."""
        return Owner(self.host, self.pid, self.since_ms, self.note)


class DecisionRecord(msgspec.Struct, frozen=True):
    """A batch that counts."""

    batch_id: int
    epoch: int
    offsets: list[tuple[str, int, int, str]]
    stages: int
    """How many stages are to be published after it; each is a record of its own, written before this one."""
    before: list[tuple[str, int, int]] = []
    """Where the group was that it reads from, else where it began to read; -1 where neither is known."""

    @property
    def committed(self) -> dict[Place, OffsetAndMetadata]:
        """The offsets of the group."""
        return {(topic, number): OffsetAndMetadata(at, text) for topic, number, at, text in self.offsets}

    @property
    def begins(self) -> dict[Place, int]:
        """The same of ``before``."""
        return {(topic, number): begin for topic, number, begin in self.before}


class MarkRecord(msgspec.Struct, frozen=True):
    """What a publisher has published: everything up to a batch, and where the changelogs it wrote to end then."""

    batch_id: int
    ends: dict[str, dict[int, int]]


@dataclass
class ControlState:
    """What the control topic says."""

    owner: OwnerRecord | None = None
    decision: DecisionRecord | None = None
    published: int = -1
    """The last batch of which everything is published, offsets as well."""
    notes: dict[str, str] = field(default_factory=dict)
    stages: dict[int, tuple[int, Handover]] = field(default_factory=dict)
    """By their number: of which batch, and what was handed over."""
    marks: dict[int, MarkRecord] = field(default_factory=dict)

    def take(self, key: bytes, value: bytes | None) -> None:
        """Fold in one record."""
        if key == OWNER:
            self.owner = None if value is None else msgspec.msgpack.decode(value, type=OwnerRecord)
        elif key == DECISION:
            self.decision = None if value is None else msgspec.msgpack.decode(value, type=DecisionRecord)
        elif key == PUBLISHED:
            self.published = -1 if value is None else msgspec.msgpack.decode(value, type=int)
        else:
            self._take_named(key, value)

    def _take_named(self, key: bytes, value: bytes | None) -> None:
        kind, _, name = key.partition(b"/")
        if kind + b"/" == NOTE:
            _put(self.notes, name.decode(), None if value is None else value.decode())
        elif kind + b"/" == STAGE:
            _put(self.stages, int(name), value and msgspec.msgpack.decode(value, type=tuple[int, bytes]))
        elif kind + b"/" == MARK:
            _put(self.marks, int(name), value and msgspec.msgpack.decode(value, type=MarkRecord))

    @property
    def unpublished(self) -> DecisionRecord | None:
        """The decision that is not published as a whole yet."""
        found = self.decision
        return None if found is None or found.batch_id <= self.published else found

    @property
    def handovers(self) -> list[Handover]:
        """What the last decision has to publish, in order."""
        decision = self.decision
        if decision is None:
            return []
        found = [self.stages.get(number, (-1, b"")) for number in range(decision.stages)]
        if any(batch_id != decision.batch_id for batch_id, _ in found):
            message = f"the control topic has lost a stage of batch {decision.batch_id}"
            raise CorruptLogError(message, hint="Reset the application (headrace reset).")
        return [handover for _, handover in found]

    @property
    def ends(self) -> dict[Place, int]:
        """Where changelogs end, as those say who wrote them."""
        found: dict[Place, int] = {}
        for mark in self.marks.values():
            for topic, ends in mark.ends.items():
                for number, end in ends.items():
                    found[topic, number] = max(end, found.get((topic, number), 0))
        return found


def _put(where: dict[Any, Any], name: Any, value: Any) -> None:
    if value is None:
        where.pop(name, None)
    else:
        where[name] = value


class ControlReader:
    """Follows one control topic. Safe in threads."""

    def __init__(self, clients: Clients, application: str) -> None:
        self.application, self.topic = application, control_topic(application)
        self.state = ControlState()
        self._clients = clients
        self._lock = threading.RLock()
        self._position = 0
        settings = {
            "group.id": application,
            "enable.partition.eof": True,
            "isolation.level": "read_committed",
            "fetch.wait.max.ms": _WAIT_MS,
            "auto.offset.reset": "earliest",
        }
        self._consumer = clients.consumer(settings)
        self._consumer.assign([TopicPartition(self.topic, 0, 0)])

    def catch_up(self) -> ControlState:
        """Read what can be read now, and give what it says; UnknownTopicError where there is no such topic."""
        with self._lock:
            self._read_to(self._readable_end(), time.monotonic() + self._clients.timeout)
            return self.state

    def definite(self) -> ControlState:
        """The same, when every transaction has ended that is under way now: one that is hides what comes after it."""
        with self._lock:
            end, deadline = self._next_offset(), time.monotonic() + self._clients.timeout
            while (readable := self._readable_end()) < end:
                if time.monotonic() > deadline:
                    message = f"a transaction in {self.topic} does not come to its end"
                    raise BrokerUnreachableError(message, detail=f"It began at offset {readable}.")
                time.sleep(_PAUSE_SECONDS)
            self._read_to(readable, deadline)
            return self.state

    def is_definite(self) -> bool:
        """Whether no transaction is under way."""
        with self._lock:
            return self._next_offset() <= self._readable_end()

    def settled(self, seconds: float) -> ControlState:
        """As ``definite`` where that takes no longer; else what can be read now. For those who only look."""
        with self._lock:
            end, deadline = self._next_offset(), time.monotonic() + seconds
            while self._readable_end() < end and time.monotonic() < deadline:
                time.sleep(_PAUSE_SECONDS)
            return self.catch_up()

    def _read_to(self, end: int, deadline: float) -> None:
        # A record that counts is followed by the end of its transaction: one offset alone is no record.
        while end - self._position > 1:
            self._read(_POLL_SECONDS)
            if time.monotonic() > deadline:
                message = f"the control topic {self.topic} could not be read up to {end}"
                raise BrokerUnreachableError(message, detail=f"It came to {self._position}.")

    def follow(self, seconds: float) -> bool:
        """Wait for something new for so long; whether there was any."""
        with self._lock:
            return self._read(seconds)

    def close(self) -> None:
        """End the consumer."""
        with self._lock:
            self._consumer.close()

    def _next_offset(self) -> int:
        place = self.topic, 0
        return offsets.next_offsets(self._clients, [place])[place]

    def _readable_end(self) -> int:
        place = self.topic, 0
        try:
            return self._clients.patiently(self._end, lambda seconds: self._consumer.list_topics(self.topic, seconds))
        except KafkaException as error:
            # A consumer forgets the topics of a broker that was away. Whether they are there the cluster knows.
            if error.args[0].code() in UNKNOWN_TOPIC:
                return offsets.stable_ends(self._clients, [place])[place]
            raise self._clients.failure(error, f"cannot read {self.topic}") from error

    def _end(self, seconds: float) -> int:
        asked = TopicPartition(self.topic, 0)
        return int(self._consumer.get_watermark_offsets(asked, timeout=seconds, cached=False)[1])

    def _read(self, seconds: float) -> bool:
        first = self._consumer.poll(seconds)
        if first is None:
            return False
        has_news = False
        for message in (first, *self._consumer.consume(_MOST, 0)):
            error = message.error()
            if error is None:
                self.state.take(message.key(), message.value())
                self._position = message.offset() + 1
                has_news = True
            elif error.code() == KafkaError._PARTITION_EOF:
                self._position = max(self._position, message.offset())
            elif not error.retriable() and error.code() not in _PASSING:
                raise self._clients.failure(error, f"cannot read {self.topic} as the group {self.application}")
        return has_news


class ControlTopics:
    """The control topics that this process reads, each by one reader."""

    def __init__(self, clients: Clients) -> None:
        self._clients = clients
        self._readers: dict[str, ControlReader] = {}
        self._lock = threading.Lock()

    def reader(self, application: str) -> ControlReader:
        """The reader of an application's topic, which need not exist."""
        with self._lock:
            found = self._readers.get(application)
            if found is None:
                found = self._readers[application] = ControlReader(self._clients, application)
            return found

    def state(self, application: str) -> ControlState:
        """What is there when all that is under way now has ended; nothing where there is no such topic."""
        return self._asked(application, ControlReader.definite)

    def settled(self, application: str) -> ControlState:
        """What is there now. Transactions that take their time may be those of a process that was killed."""
        return self._asked(application, lambda reader: reader.settled(_SETTLED_SECONDS))

    def _asked(self, application: str, ask: Callable[[ControlReader], ControlState]) -> ControlState:
        try:
            return ask(self.reader(application))
        except UnknownTopicError:
            self.forget(application)
            return ControlState()
        except AuthorizationError:
            # A consumer says once that it may not read, and nothing more, even when it may.
            self.forget(application)
            raise

    def forget(self, application: str) -> None:
        """Begin anew with the next question: the topic is, or may be, another one."""
        with self._lock:
            found = self._readers.pop(application, None)
        if found is not None:
            found.close()

    def close(self) -> None:
        """End the readers."""
        for application in list(self._readers):
            with suppress(RuntimeError):
                self.forget(application)


def decision_records(
    decision: DecisionRecord, notes: Mapping[str, str | None], handovers: list[Handover]
) -> Iterator[tuple[bytes, bytes | None]]:
    """A decision as records: the decision itself comes last, so that who sees it has seen the rest."""
    for name, note in notes.items():
        yield NOTE + name.encode(), None if note is None else note.encode()
    for number, handover in enumerate(handovers):
        yield STAGE + str(number).encode(), msgspec.msgpack.encode((decision.batch_id, handover))
    yield DECISION, msgspec.msgpack.encode(decision)
