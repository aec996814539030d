"""What lies behind ``bootstrap.servers``, asked through three ports, each cut by what Kafka can promise.

* ``Log``: topics, their records, and how far groups have read them;
* ``Ownership``: who may decide for an application, and what it noted with its last decision;
* ``Outbox``: output that is staged by tasks, decided by the owner, and then seen by readers.

Whoever needs one of them takes that one. A ``Broker`` is all three, as one process has it open.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from types import TracebackType
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias

from headrace.errors import BrokerError
from headrace.records import NO_HEADERS, Headers, RawRecord
from headrace.records import OffsetAndMetadata as OffsetAndMetadata
from headrace.records import TopicPartition as TopicPartition

if TYPE_CHECKING:
    from headrace.broker.config import BrokerConfig

OffsetRange: TypeAlias = tuple[int, int]
"""The first offset and the one after the last."""

Handover: TypeAlias = bytes
"""What a stage hands to whoever decides. Only the outbox that made it looks inside."""


class NewRecord(NamedTuple):
    """A record to append. Without a partition its key decides (murmur2); without a timestamp the clock does."""

    topic: str
    key: bytes | None
    value: bytes | None
    timestamp: int | None = None
    headers: Headers = NO_HEADERS
    partition: int | None = None


@dataclass(frozen=True, slots=True)
class Appended:
    """Where appended records went."""

    ranges: Mapping[TopicPartition, OffsetRange]


@dataclass(frozen=True, slots=True)
class PartitionDescription:
    """One partition: its first offset, the offset the next record gets, and what it holds."""

    partition: int
    start_offset: int
    next_offset: int
    """``Log.end_offsets`` may be before it: there a transaction is under way."""
    records: int
    """Where the broker does not count them, as many as there are offsets."""
    size: int | None
    """None where the broker does not tell; so for the segments."""
    segments: int | None
    expired_records: int = 0
    """How many records retention has removed so far."""
    expired_ms: int | None = None
    """When it did so last; None where it never did."""


@dataclass(frozen=True, slots=True)
class TopicDescription:
    """A topic: its settings as they were given, and its partitions in order."""

    name: str
    config: Mapping[str, str]
    partitions: tuple[PartitionDescription, ...]
    id: str
    """Tells it from a later topic of the same name."""
    created_ms: int | None = None
    """When it was made, where the broker knows."""

    @property
    def size(self) -> int | None:
        """The bytes of all partitions; None where the broker does not tell."""
        sizes = [partition.size for partition in self.partitions if partition.size is not None]
        return sum(sizes) if len(sizes) == len(self.partitions) else None


@dataclass(frozen=True, slots=True)
class Decision:
    """Everything one batch of an application changes; it takes effect together or not at all.

    ``offsets`` are those of the consumer group that has the application's name. ``notes`` are small texts, such as the
    versions of stores: each replaces the note of the same name, None removes it, the others stay. ``begins`` is where
    it began to read, which need not be committed.
    """

    application: str
    epoch: int
    batch_id: int
    staged: Sequence[Handover] = ()
    offsets: Mapping[TopicPartition, OffsetAndMetadata] = field(default_factory=dict)
    notes: Mapping[str, str | None] = field(default_factory=dict)
    begins: Mapping[TopicPartition, int] = field(default_factory=dict)


class Outcome(Enum):
    """What became of a decision."""

    DONE = "done"
    """It counts, whatever happens."""
    NOT_DONE = "not done"
    """Nothing of it took effect, nor ever will."""
    UNKNOWN = "unknown"
    """The answer was lost. It may count, or may yet come to count: ask with ``Outbox.outcome``."""


@dataclass(frozen=True, slots=True)
class Decided:
    """The last decision of an application: which batch, by whom, and all its notes."""

    batch_id: int
    epoch: int
    notes: Mapping[str, str]


class Owner(NamedTuple):
    """The process that holds a lease, and since when (milliseconds since 1970)."""

    host: str
    pid: int
    since_ms: int
    note: str = ""


class Lease(Protocol):
    """The right to decide for one application. As a context manager it is released at the end."""

    @property
    def application(self) -> str:
        """Whose decisions it allows."""

    @property
    def epoch(self) -> int:
        """Higher than that of every earlier holder; decisions carry it."""

    @property
    def owner(self) -> Owner: ...

    def renew(self) -> None:
        """Hold it for another while; FencedError where somebody took it over."""

    def release(self) -> None:
        """Give it back. Does nothing where it is no longer ours."""

    def __enter__(self) -> Lease: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None: ...


class Stage(Protocol):
    """Where one attempt of a task writes its output. As a context manager it drops what was not finished.

    The partition of a record is given: tasks choose it with the same partitioner everywhere.
    """

    def append(
        self,
        topic: str,
        partition: int,
        timestamp: int,
        key: bytes | None,
        value: bytes | None,
        headers: Headers = NO_HEADERS,
    ) -> None:
        """Write one record; an error where it is too large, or has no key and the topic is compacted."""

    def finish(self) -> Handover:
        """Make all of it durable, and give what a decision needs to name it."""

    @property
    def counts(self) -> Mapping[str, int]:
        """How many records each topic gets, when it is finished."""

    def abort(self) -> None:
        """Drop what was written."""

    def __enter__(self) -> Stage: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None: ...


class Log(Protocol):
    """Topics, records and groups. Unknown topics are an UnknownTopicError, lost offsets an OffsetOutOfRangeError."""

    def create_topic(self, name: str, partitions: int = 1, config: Mapping[str, object] | None = None) -> None:
        """Make a topic; TopicExistsError where there is one."""

    def delete_topic(self, name: str) -> None:
        """Remove a topic, its records and what groups committed for it."""

    def alter_topic(
        self, name: str, *, partitions: int | None = None, config: Mapping[str, object | None] | None = None
    ) -> None:
        """Add partitions (never remove them), change settings; None brings a setting back to its default."""

    def topics(self) -> dict[str, int]:
        """The names of all topics and their numbers of partitions."""

    def topic_ids(self, names: Iterable[str]) -> dict[str, str]:
        """What tells each of these topics from an earlier one of its name, which was deleted; of those there are."""

    def describe_topic(self, name: str) -> TopicDescription:
        """Settings, offsets and sizes of one topic."""

    def append(self, records: Iterable[NewRecord]) -> Appended:
        """Append records; all of them are visible when it returns. Where it fails, nobody knows of how many."""

    def start_offsets(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """The first offset of each partition."""

    def end_offsets(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """One past the last record of each partition that can be read: Kafka's last stable offset.

        The next record may get a later one (``describe_topic``). Over several partitions it is a snapshot only where
        the broker can give one.
        """

    def offsets_for_time(self, times: Mapping[TopicPartition, int]) -> dict[TopicPartition, int | None]:
        """The first offset of each partition whose timestamp is at or after the given one; None where there is none."""

    def read(
        self, topic: str, partition: int, start: int, end: int | None = None, *, max_records: int = 4096
    ) -> Iterator[list[RawRecord]]:
        """The records from ``start`` up to, not including, ``end`` (without one: up to now), in lists of bounded size.

        Offsets have gaps, where records were compacted or transactions ended: a range ends by offset, never by count.
        """

    def commit_offsets(self, group: str, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        """Note how far a group has read."""

    def committed(self, group: str) -> dict[TopicPartition, OffsetAndMetadata]:
        """What a group committed; nothing where it is unknown."""

    def groups(self) -> list[str]: ...

    def lag(self, group: str) -> dict[TopicPartition, int]:
        """How many offsets are between what the group committed and the end."""

    def delete_group(self, group: str) -> None:
        """Forget what a group committed."""


class Ownership(Protocol):
    """One process at a time decides for an application.

    While it lives, another that asks is *refused* (LeaseHeldError), or *fences* it: the first one's next decision or
    renewal is a FencedError then. Which of the two is the broker's policy; whoever owns an application copes with both.
    """

    def acquire_lease(self, application: str, *, note: str = "") -> Lease:
        """Become the only process that decides for the application; what was decided before is definite by then."""

    def lease_owner(self, application: str) -> Owner | None:
        """Who runs the application now, as far as the broker can tell."""

    def check_lease(self, application: str, epoch: int) -> None:
        """FencedError where another process than that of ``epoch`` has the application now, or none."""

    def last_decided(self, application: str) -> Decided | None:
        """The last decision of the application; None before its first."""

    def applications(self, prefix: str = "") -> list[str]:
        """The applications that are owned or have decided something, whose names begin with ``prefix``.

        Also those of which we may not know whether they have: another's topics are not ours for that.
        """

    def delete_application(self, application: str) -> None:
        """Forget the application's decisions and notes, and its group; LeaseHeldError while it runs."""


class Outbox(Protocol):
    """Staged, decided, published. Before the decision a batch only rolls back, after it only forward."""

    def stage(self, application: str, epoch: int, batch_id: int, attempt: str) -> Stage:
        """Write output that only a decision makes visible. ``attempt`` tells the tries of a task apart."""

    def read_staged(self, staged: Handover, partition: TopicPartition) -> Iterator[list[RawRecord]]:
        """The records of one partition that a stage handed over; their offsets count from 0."""

    def decide(self, decision: Decision) -> Outcome:
        """Let a batch count: records, offsets and notes.

        The last batch decided again is done, and changes nothing. An older one is an error, and so is an epoch that is
        no longer the lease's (FencedError). An error means that it is not done, and says why.
        """

    def outcome(self, decision: Decision) -> Outcome:
        """What became of a decision whose outcome was unknown; once it is known it does not change any more."""

    def begin_publishing(self, application: str, epoch: int) -> None:
        """Begin to let readers see what is decided, beside whatever comes next. The next decision waits for its end."""

    def publish(self, application: str, epoch: int) -> None:
        """Let readers see everything that is decided, as far as they do not. Where it fails, it can be called again."""

    def await_published(self, application: str, places: Collection[TopicPartition]) -> None:
        """Wait until what is decided can be read from these changelogs; StoreError where it cannot any more."""


class Broker(Log, Ownership, Outbox, Protocol):
    """A broker that this process has open. Safe in threads; it does not survive a fork: every process opens its own."""

    @property
    def config(self) -> BrokerConfig:
        """What ``open_broker`` takes to open the same broker in another process."""

    @property
    def address(self) -> str:
        """Where it is, as ``bootstrap.servers`` says it."""

    @property
    def identity(self) -> str:
        """Which broker it is, whatever address leads to it."""

    def maintain(self) -> None:
        """Do what is due: retention, compaction, merging of small segments, sweeping of orphans. Any process may."""

    def problems(self, topic: str) -> Sequence[BrokerError]:
        """Verify what the topic holds; what is wrong with it, or nothing."""

    def close(self) -> None:
        """Let go of files and connections."""
