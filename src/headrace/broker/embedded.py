"""The embedded broker: topics in a directory, for any number of processes of one machine, without a server.

    DIRECTORY/                    0700
      catalog.db                  what there is: SQLite in WAL mode (``catalog``)
      topics/3-clicks/0/*.arrow   segments of topic number 3, partition 0 (``segments``)

*Appending* writes segments first and registers them in one transaction of the catalog: a reader sees all of an append
or nothing, and a crash leaves at most files that nobody registered, which the ``sweeper`` removes. Small appends do
not get a file each: up to 64 KiB they become a blob in the catalog, in the very transaction that gives them their
offsets. That needs no open segment that processes would have to share and to repair after a crash, and costs one flush
instead of three. When a partition has 1 MiB or 1024 of them, they are merged into one segment (``rewriting``).

*Durability*: with ``fsync`` (the default) segments are flushed before, and the catalog at, each commit: what was
acknowledged survives a power loss. Without it it survives the death of any process, not that of the machine.
"""

from __future__ import annotations

import logging
import os
import re
import uuid
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from headrace import failpoints
from headrace.broker import (
    compaction,
    crash_points,
    decisions,
    groups,
    leases,
    log,
    retention,
    rewriting,
    sweeper,
    topics,
)
from headrace.broker.catalog import Catalog
from headrace.broker.config import BrokerConfig
from headrace.broker.disk import FILE_MODE, Disk, explained, make_private_directory
from headrace.broker.leases import CatalogLease
from headrace.broker.port import (
    Appended,
    Decided,
    Decision,
    Handover,
    NewRecord,
    OffsetAndMetadata,
    OffsetRange,
    Outcome,
    Owner,
    TopicDescription,
    TopicPartition,
)
from headrace.broker.producers import StickyPartitioner
from headrace.broker.staging import SegmentStage, StagedSegment, StagedTopic, unpack
from headrace.broker.topics import Topic
from headrace.clock import Clock
from headrace.errors import ArgumentError, BrokerError, CorruptLogError, LeaseHeldError, UnknownTopicError
from headrace.file_locks import lock
from headrace.names import check_name
from headrace.records import RawRecord

_logger = logging.getLogger(__name__)

SWEEP_GRACE_MS = 60 * 60 * 1000
_ATTEMPT = re.compile(r"[A-Za-z0-9._-]{1,64}")


class EmbeddedBroker:
    """A broker in ``directory``, which is made where it is not there. See ``headrace.broker.port.Broker``."""

    def __init__(
        self,
        directory: Path | str,
        *,
        fsync: bool = True,
        clock: Clock | None = None,
        disk: Disk | None = None,
        verify: bool = True,
    ) -> None:
        self.directory = Path(directory).expanduser().absolute()
        self._fsync = fsync
        self._clock = clock or Clock()
        make_private_directory(self.directory)
        make_private_directory(self.directory / "topics")
        self._disk = disk or Disk(self.directory / "topics", fsync=fsync)
        self._catalog = Catalog(self.directory / "catalog.db", fsync=fsync, verify=verify)
        self._reader = log.LogReader(self._catalog, self._disk)

    @property
    def config(self) -> BrokerConfig:
        """What opens the same broker in another process, which need not verify the catalog once more."""
        return BrokerConfig(self.address, fsync=self._fsync, verify=False)

    @property
    def address(self) -> str:
        return f"embedded:{self.directory}"

    @property
    def identity(self) -> str:
        return self.address

    def __repr__(self) -> str:
        return f"EmbeddedBroker({str(self.directory)!r})"

    def __enter__(self) -> EmbeddedBroker:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._catalog.close()

    # Topics

    def create_topic(self, name: str, partitions: int = 1, config: Mapping[str, object] | None = None) -> None:
        with self._catalog.write() as connection:
            topics.create(connection, name, partitions, config, self._clock.now_ms())

    def delete_topic(self, name: str) -> None:
        with self._catalog.write() as connection:
            topic, files = topics.delete(connection, name)
        for file in files:
            self._disk.remove(file)
        self._disk.remove_empty(topic.directory)

    def alter_topic(
        self, name: str, *, partitions: int | None = None, config: Mapping[str, object | None] | None = None
    ) -> None:
        with self._catalog.write() as connection:
            topics.alter(connection, name, partitions, config)

    def topics(self) -> dict[str, int]:
        with self._catalog.read() as connection:
            return topics.counts(connection)

    def topic_ids(self, names: Iterable[str]) -> dict[str, str]:
        with self._catalog.read() as connection:
            return topics.ids(connection, names)

    def describe_topic(self, name: str) -> TopicDescription:
        with self._catalog.read() as connection:
            return topics.describe(connection, name)

    # Records

    def append(self, records: Iterable[NewRecord]) -> Appended:
        """Append records; all of them are visible when it returns, none where it fails."""
        with SegmentStage(self._disk, f"appended-{uuid.uuid4().hex}", self._staged_topic) as stage:
            self._stage(records, stage)
            segments = stage.segments()
        failpoints.reach(crash_points.BEFORE_CATALOG)
        with self._catalog.write() as connection:
            ranges = log.register(connection, self._disk, segments, self._clock.now_ms())
            failpoints.reach(crash_points.INSIDE_CATALOG)
        failpoints.reach(crash_points.AFTER_CATALOG)
        self._roll(ranges)
        return Appended(ranges)

    def start_offsets(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        with self._catalog.read() as connection:
            return topics.offsets(connection, partitions, "start_offset")

    def end_offsets(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        with self._catalog.read() as connection:
            return topics.offsets(connection, partitions, "end_offset")

    def offsets_for_time(self, times: Mapping[TopicPartition, int]) -> dict[TopicPartition, int | None]:
        return {
            (topic, number): self._reader.offset_for_time(topic, number, at) for (topic, number), at in times.items()
        }

    def read(
        self, topic: str, partition: int, start: int, end: int | None = None, *, max_records: int = 4096
    ) -> Iterator[list[RawRecord]]:
        return self._reader.read(topic, partition, start, end, max_records)

    def delete_records(self, before: Mapping[TopicPartition, int]) -> None:
        """Let partitions start at the given offsets; upkeep frees the space."""
        with self._catalog.write() as connection:
            ends = topics.offsets(connection, before, "end_offset")
            for (topic, number), offset in before.items():
                if not 0 <= offset <= ends[topic, number]:
                    message = f"{topic}-{number} cannot start at offset {offset}: it ends at {ends[topic, number]}"
                    raise ArgumentError(message)
                partition = log.find_partition(connection, topic, number)
                change = "UPDATE partitions SET start_offset = max(start_offset, ?) WHERE id = ?"
                connection.execute(change, (offset, partition.id))

    # Groups

    def commit_offsets(self, group: str, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        check_name(group, "group")
        with self._catalog.write() as connection:
            groups.commit(connection, group, offsets, self._clock.now_ms())

    def committed(self, group: str) -> dict[TopicPartition, OffsetAndMetadata]:
        with self._catalog.read() as connection:
            return groups.committed(connection, group)

    def groups(self) -> list[str]:
        with self._catalog.read() as connection:
            return groups.names(connection)

    def lag(self, group: str) -> dict[TopicPartition, int]:
        with self._catalog.read() as connection:
            return groups.lag(connection, group)

    def delete_group(self, group: str) -> None:
        with self._catalog.write() as connection:
            groups.delete(connection, group)

    # Applications

    def acquire_lease(self, application: str, *, ttl_ms: int = 30_000, note: str = "") -> CatalogLease:
        check_name(application, "application")
        return leases.acquire(self._catalog, self._clock, application, ttl_ms, note)

    def lease_owner(self, application: str) -> Owner | None:
        with self._catalog.read() as connection:
            return leases.live_owner(connection, self._clock, application)

    def check_lease(self, application: str, epoch: int) -> None:
        with self._catalog.read() as connection:
            leases.check_epoch(connection, application, epoch)

    def stage(self, application: str, epoch: int, batch_id: int, attempt: str) -> SegmentStage:
        check_name(application, "application")
        if not _ATTEMPT.fullmatch(attempt):
            message = f"{attempt[:80]!r} cannot name an attempt"
            raise ArgumentError(message, hint="Use at most 64 letters, digits, '.', '_' and '-'.")
        unique = f"{attempt}-{uuid.uuid4().hex[:12]}"
        label = sweeper.staged_label(leases.label_of(application), epoch, batch_id, unique)
        return SegmentStage(self._disk, label, self._staged_topic)

    def read_staged(self, staged: Handover, partition: TopicPartition) -> Iterator[list[RawRecord]]:
        for segment in unpack(staged):
            if (segment.topic, segment.partition) == partition:
                yield from self._reader.staged(segment)

    def decide(self, decision: Decision) -> Outcome:
        """Let a batch count, which also lets readers see it. The outcome is always known."""
        segments = [segment for staged in decision.staged for segment in unpack(staged)]
        failpoints.reach(crash_points.BEFORE_CATALOG)
        with self._catalog.write() as connection:
            ranges = decisions.decide(connection, self._disk, decision, segments, self._clock.now_ms())
            failpoints.reach(crash_points.INSIDE_CATALOG)
        failpoints.reach(crash_points.AFTER_CATALOG)
        if ranges is None:
            self._drop_unregistered(segments)
        else:
            self._roll(ranges)
        return Outcome.DONE

    def outcome(self, decision: Decision) -> Outcome:
        """What became of a decision; who holds the lease has no decision under way, so it stays that."""
        with self._catalog.read() as connection:
            leases.check_epoch(connection, decision.application, decision.epoch)
            last = decisions.last_decided(connection, decision.application)
        is_done = last is not None and last.batch_id >= decision.batch_id
        return Outcome.DONE if is_done else Outcome.NOT_DONE

    def begin_publishing(self, application: str, epoch: int) -> None:
        """Nothing is left to do: deciding publishes."""

    def publish(self, application: str, epoch: int) -> None:
        """Nothing is left to do: deciding publishes."""

    def await_published(self, application: str, places: Collection[TopicPartition]) -> None:
        """There is nothing to wait for."""

    def last_decided(self, application: str) -> Decided | None:
        with self._catalog.read() as connection:
            return decisions.last_decided(connection, application)

    def applications(self, prefix: str = "") -> list[str]:
        with self._catalog.read() as connection:
            return [name for name in decisions.applications(connection) if name.startswith(prefix)]

    def delete_application(self, application: str) -> None:
        with self._catalog.write() as connection:
            owner = leases.live_owner(connection, self._clock, application)
            if owner is not None:
                message = f"application {application} is running: process {owner.pid} on host {owner.host}"
                raise LeaseHeldError(message, hint="Stop it first.")
            decisions.delete_application(connection, application)

    # Upkeep

    def maintain(self) -> None:
        """Do what is due in all topics. Only one process at a time does it; a call in another returns at once."""
        with self._upkeep() as mine:
            if not mine:
                return
            with self._catalog.read() as connection:
                found = topics.all_topics(connection)
            for topic in found:
                self._maintain(topic)
            self.sweep()
            self._catalog.verify()

    def apply_retention(self, topic: str) -> int:
        """Remove the old segments of a topic now; how many went."""
        found, partitions = self._partitions(topic)
        now_ms = self._clock.now_ms()
        return sum(
            retention.apply(self._catalog, self._disk, partition, found.config, now_ms) for partition in partitions
        )

    def compact(self, topic: str, *, force: bool = False) -> int:
        """Compact the partitions of a topic that are due, or all; how many were."""
        found, partitions = self._partitions(topic)
        now_ms = self._clock.now_ms()
        parts = (self._catalog, self._disk, self._reader)
        return sum(compaction.compact(*parts, partition, found.config, now_ms, force=force) for partition in partitions)

    def merge(self, topic: str, *, at: int = rewriting.MERGE_AT) -> int:
        """Merge neighbouring small segments of a topic; how many segments there are less."""
        found, partitions = self._partitions(topic)
        parts = (self._catalog, self._disk, self._reader)
        size = found.config.segment_bytes
        return sum(rewriting.merge_small(*parts, partition, size, at=at) for partition in partitions)

    def sweep(self, *, grace_ms: int = SWEEP_GRACE_MS) -> list[str]:
        """Delete segment files that nobody registered and nobody will; their names."""
        return sweeper.sweep(self._catalog, self._disk, self._clock.now_ms(), grace_ms)

    def problems(self, topic: str) -> list[CorruptLogError]:
        _, partitions = self._partitions(topic)
        return [problem for partition in partitions for problem in self._reader.problems(partition)]

    def _maintain(self, topic: Topic) -> None:
        self.apply_retention(topic.name)
        if topic.config.compact:
            self.compact(topic.name)
        while self.merge(topic.name):
            pass

    def _partitions(self, name: str) -> tuple[Topic, list[log.Partition]]:
        with self._catalog.read() as connection:
            topic = topics.find(connection, name)
            return topic, log.all_partitions(connection, topic.id)

    def _staged_topic(self, name: str) -> StagedTopic:
        with self._catalog.read() as connection:
            topic = topics.find(connection, name)
            return StagedTopic(topic.id, topic.directory, topics.partition_count(connection, topic), topic.config)

    def _stage(self, records: Iterable[NewRecord], stage: SegmentStage) -> None:
        now_ms = self._clock.now_ms()
        partition_of = StickyPartitioner()
        for record in records:
            partition = partition_of(record, stage.topic(record.topic).partitions)
            timestamp = now_ms if record.timestamp is None else record.timestamp
            stage.append(record.topic, partition, timestamp, record.key, record.value, record.headers)

    def _roll(self, ranges: Mapping[TopicPartition, OffsetRange]) -> None:
        """Do upkeep that should not wait. The append has succeeded, whether this does or not."""
        try:
            with self._catalog.read() as connection:
                crowded = rewriting.crowded(connection, ranges)
            for partition in crowded:
                rewriting.roll(self._catalog, self._disk, self._reader, partition)
        except UnknownTopicError:
            return
        except BrokerError as error:
            _logger.warning("small segments stay as they are until the next append: %s", error.message)

    def _drop_unregistered(self, segments: Sequence[StagedSegment]) -> None:
        """Remove the files of a repetition, except those that the first try registered."""
        with self._catalog.write() as connection:
            for file in log.unregistered(connection, segments):
                self._disk.remove(file)

    @contextmanager
    def _upkeep(self) -> Iterator[bool]:
        path = self.directory / ".upkeep"
        with explained(path):
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT, FILE_MODE)
        try:
            yield lock(descriptor)
        finally:
            os.close(descriptor)
