"""What every broker can do, whichever it is: topics, appends, reads, groups, commits, leases.

The engine knows this port only. The embedded broker implements it now, Kafka through librdkafka later. Values that
travel between processes (staged segments, in Spark rows) are plain data: ``pack`` and ``unpack`` turn them into bytes
and back.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import NamedTuple, Protocol, TypeAlias

import msgspec

from headrace.errors import BrokerError
from headrace.records import NO_HEADERS, Headers

TopicPartition: TypeAlias = tuple[str, int]

LogRecord: TypeAlias = tuple[str, int, int, int, bytes | None, bytes | None, Headers]
"""A record as it is read: ``(topic, partition, offset, timestamp, key, value, headers)``."""

OffsetRange: TypeAlias = tuple[int, int]
"""The first offset and the one after the last."""


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
    """Where appended records went. ``repeated`` says that an earlier try of the same append had already done it."""

    ranges: Mapping[TopicPartition, OffsetRange]
    repeated: bool = False


@dataclass(frozen=True, slots=True)
class PartitionDescription:
    """One partition: its first offset, the offset the next record gets, and what it holds."""

    partition: int
    start_offset: int
    end_offset: int
    records: int
    size: int
    segments: int
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
    created_ms: int

    @property
    def size(self) -> int:
        """The bytes of all partitions."""
        return sum(partition.size for partition in self.partitions)


class OffsetAndMetadata(NamedTuple):
    """How far a group has read a partition: the next offset to read, and a note."""

    offset: int
    metadata: str = ""


class StagedSegment(msgspec.Struct, frozen=True, array_like=True):
    """Records that are written but that nobody can see yet: what a task hands to whoever commits.

    Large ones are in ``file``, small ones travel in ``payload``. Only the broker that staged it looks inside.
    """

    topic: str
    topic_id: int
    partition: int
    records: int
    size: int
    min_timestamp: int
    max_timestamp: int
    checksum: int
    chunks: bytes
    file: str | None = None
    payload: bytes | None = None


@dataclass(frozen=True, slots=True)
class Commit:
    """Everything one batch of an application changes; it takes effect together or not at all.

    ``offsets`` are those of the consumer group that has the application's name. ``extras`` are small notes, such as the
    versions of stores: each replaces the note of the same name, None removes it, the others stay.
    """

    application: str
    epoch: int
    batch_id: int
    segments: Sequence[StagedSegment] = ()
    offsets: Mapping[TopicPartition, OffsetAndMetadata] = field(default_factory=dict)
    extras: Mapping[str, str | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Committed:
    """The last batch that was committed: its notes, and where its records went."""

    batch_id: int
    epoch: int
    ranges: Mapping[TopicPartition, OffsetRange]
    extras: Mapping[str, str]
    repeated: bool = False
    """Whether the batch had been committed before, so that this commit changed nothing."""


class Owner(NamedTuple):
    """The process that holds a lease, and since when (milliseconds since 1970)."""

    host: str
    pid: int
    since_ms: int
    note: str = ""


class Lease(Protocol):
    """The right to commit for one application. As a context manager it is released at the end."""

    @property
    def application(self) -> str:
        """Whose commits it allows."""

    @property
    def epoch(self) -> int:
        """Higher than that of every earlier holder; commits carry it."""

    @property
    def owner(self) -> Owner:
        """Who holds it."""

    def renew(self) -> None:
        """Hold it for another while; FencedError where somebody took it over."""

    def release(self) -> None:
        """Give it back. Does nothing where it is no longer ours."""

    def __enter__(self) -> Lease:
        """The lease itself."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Release it."""


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

    def finish(self) -> list[StagedSegment]:
        """Make all of it durable and give what a commit needs to register it."""

    def abort(self) -> None:
        """Drop what was written."""

    def __enter__(self) -> Stage:
        """The stage itself."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Abort unless it was finished."""


class Broker(Protocol):
    """Topics and all that goes with them. Safe in threads, after a fork, and picklable: a copy opens the same broker.

    Unknown topics are an UnknownTopicError, offsets that are not there an OffsetOutOfRangeError.
    """

    @property
    def address(self) -> str:
        """What ``open_broker`` takes to open the same broker again."""

    # Topics

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

    def describe_topic(self, name: str) -> TopicDescription:
        """Settings, offsets and sizes of one topic."""

    # Records

    def append(
        self, records: Iterable[NewRecord], *, producer_id: str | None = None, sequence: int | None = None
    ) -> Appended:
        """Append records; all of them are visible when it returns, none where it fails.

        With a producer id (any text of the caller's, unique to it) and a sequence (0, 1, 2, … per call) a call may be
        tried again until it is answered: the repetition is recognised and gets the first answer.
        """

    def start_offsets(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """The first offset of each partition."""

    def end_offsets(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """The offset that the next record of each partition gets; all before it can be read."""

    def offsets_for_time(self, times: Mapping[TopicPartition, int]) -> dict[TopicPartition, int | None]:
        """The first offset of each partition whose timestamp is at or after the given one; None where there is none."""

    def read(
        self, topic: str, partition: int, start: int, end: int | None = None, *, max_records: int = 4096
    ) -> Iterator[list[LogRecord]]:
        """The records from ``start`` up to, not including, ``end`` (without one: up to now), in lists of bounded size.

        Offsets may have gaps, where compaction removed records: a range ends by offset, never by count.
        """

    def delete_records(self, before: Mapping[TopicPartition, int]) -> None:
        """Let partitions start at the given offsets: what is before them is gone."""

    # Groups

    def commit_offsets(self, group: str, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        """Note how far a group has read."""

    def committed(self, group: str) -> dict[TopicPartition, OffsetAndMetadata]:
        """What a group committed; nothing where it is unknown."""

    def groups(self) -> list[str]:
        """The groups that committed something."""

    def lag(self, group: str) -> dict[TopicPartition, int]:
        """How many offsets are between what the group committed and the end."""

    def delete_group(self, group: str) -> None:
        """Forget what a group committed."""

    # Applications

    def acquire_lease(self, application: str, *, ttl_ms: int = 30_000, note: str = "") -> Lease:
        """Become the only process that commits for the application; LeaseHeldError while another one lives."""

    def lease_owner(self, application: str) -> Owner | None:
        """Who runs the application now."""

    def check_lease(self, application: str, epoch: int) -> None:
        """FencedError where another process than that of ``epoch`` has the application now, or none."""

    def stage(self, application: str, epoch: int, batch_id: int, attempt: str) -> Stage:
        """Write output that only ``commit`` makes visible. ``attempt`` tells the tries of a task apart."""

    def read_staged(self, segment: StagedSegment) -> Iterator[list[LogRecord]]:
        """The records of a segment that is not committed yet; their offsets count from 0."""

    def commit(self, commit: Commit) -> Committed:
        """Make a batch visible at once: records, offsets and notes.

        The last batch committed again changes nothing and says so; an older one is an error, and so is an epoch that
        is no longer the lease's (FencedError).
        """

    def last_committed(self, application: str) -> Committed | None:
        """The last batch of the application; None before its first."""

    def applications(self) -> list[str]:
        """The applications that held a lease or committed something."""

    def delete_application(self, application: str) -> None:
        """Forget the application's commits and notes, and its group; LeaseHeldError while it runs."""

    # Upkeep

    def maintain(self) -> None:
        """Do what is due: retention, compaction, merging of small segments, sweeping of orphans. Any process may."""

    def problems(self, topic: str) -> Sequence[BrokerError]:
        """Verify what the topic holds; what is wrong with it, or nothing."""

    def close(self) -> None:
        """Let go of files and connections."""


def pack(segments: Sequence[StagedSegment]) -> bytes:
    """Staged segments as bytes, for the way to the committing process."""
    return msgspec.msgpack.encode(list(segments))


def unpack(data: bytes) -> list[StagedSegment]:
    """What ``pack`` made into bytes."""
    try:
        return msgspec.msgpack.decode(data, type=list[StagedSegment])
    except msgspec.MsgspecError as error:
        raise BrokerError("this is no manifest of staged segments", detail=str(error)) from error
