"""The three ports once more, as a broker elsewhere would fill them: in memory, and as hard to deal with as Kafka.

A process that asks for an application *fences* the one that has it. The answer to a decision may be lost, with the
decision done, not done, or still under way. What is decided is published after it, a transaction for each stage, beside
whatever else happens, and may come to a halt in between. Each transaction takes an offset more than it has records,
each that is given up leaves a gap, and while one is under way nothing behind it can be read.

The server outlives its clients: a crash ends those. Whatever they ask for is a step of the world.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

from headrace.broker.config import BrokerConfig
from headrace.broker.port import (
    Appended,
    Broker,
    Decided,
    Decision,
    Handover,
    NewRecord,
    OffsetAndMetadata,
    Outcome,
    Owner,
    PartitionDescription,
    TopicDescription,
    TopicPartition,
)
from headrace.errors import (
    BrokerError,
    FencedError,
    IllegalStateError,
    OffsetOutOfRangeError,
    TopicExistsError,
    UnknownTopicError,
)
from headrace.partitioning import default_partition
from headrace.records import NO_HEADERS, Headers, RawRecord

Row = tuple[int, bytes | None, bytes | None, Headers]
_ANSWERS = (*[Outcome.DONE] * 6, Outcome.NOT_DONE, Outcome.UNKNOWN, Outcome.UNKNOWN)


@dataclass
class _Partition:
    records: list[RawRecord] = field(default_factory=list)
    next: int = 0
    """The offset that the next record gets."""
    under_way: list[RawRecord] = field(default_factory=list)
    """Of a transaction that has not ended."""

    @property
    def end(self) -> int:
        """Up to where it can be read."""
        return self.under_way[0][2] if self.under_way else self.next

    def begin(self, topic: str, number: int, rows: Iterable[Row]) -> None:
        for row in rows:
            self.under_way.append((topic, number, self.next, *row))
            self.next += 1

    def finish(self, *, is_done: bool) -> None:
        """End the transaction; that itself takes an offset."""
        if is_done:
            self.records = sorted(self.records + self.under_way, key=lambda record: record[2])
        self.next += 1 if self.under_way else 0
        self.under_way = []


@dataclass
class _Topic:
    id: str
    config: dict[str, str]
    partitions: list[_Partition]


@dataclass
class _Application:
    epoch: int = 0
    is_owned: bool = False
    last: Decided | None = None
    in_flight: Decision | None = None
    """A decision whose answer was lost before it was made."""
    unpublished: list[Handover] = field(default_factory=list)
    offsets: Mapping[TopicPartition, OffsetAndMetadata] = field(default_factory=dict)
    """To be committed when everything is published."""
    writing: list[_Partition] = field(default_factory=list)
    is_publishing: bool = False


class MemoryServer:
    """Topics, groups and applications. ``step`` is told of every step, and may raise or let others go on."""

    def __init__(self, random: Random, step: Callable[[str], None]) -> None:
        self.random, self._step = random, step
        self._haste = random.choice((0.0, 0.05, 0.3))
        """How likely it is that a publication goes on at a step. Where it is not, it goes on when it is waited for."""
        self.topics: dict[str, _Topic] = {}
        self.groups: dict[str, dict[TopicPartition, OffsetAndMetadata]] = {}
        self.applications: dict[str, _Application] = {}
        self.staged: dict[Handover, dict[TopicPartition, list[Row]]] = {}
        self.on_not_done: Callable[[], None] = lambda: None
        self.unknown = 0
        """How many answers were lost."""

    def reach(self, name: str) -> None:
        """A step of the world; publications that are under way may have gone on meanwhile."""
        self._step(name)
        for application, found in self.applications.items():
            while found.is_publishing and self.random.random() < self._haste:
                self.publish_more(application, found)

    def publish_more(self, application: str, found: _Application) -> None:
        """One thing more of a publication: records are written, their transaction ends, or offsets are committed."""
        if found.writing:
            for partition in found.writing:
                partition.finish(is_done=True)
            found.writing = []
            del found.unpublished[0]
        elif found.unpublished:
            for place, rows in self.staged[found.unpublished[0]].items():
                found.writing.append(self.partition(*place))
                found.writing[-1].begin(*place, rows)
            if not found.writing:
                del found.unpublished[0]
        else:
            self.groups.setdefault(application, {}).update(found.offsets)
            found.offsets, found.is_publishing = {}, False

    def partition(self, topic: str, number: int) -> _Partition:
        if topic not in self.topics or not 0 <= number < len(self.topics[topic].partitions):
            message = f"there is no topic {topic} with a partition {number}"
            raise UnknownTopicError(message)
        return self.topics[topic].partitions[number]

    def application(self, name: str, epoch: int) -> _Application:
        """The application, for whoever owns it."""
        found = self.applications.setdefault(name, _Application())
        if found.epoch != epoch or not found.is_owned:
            message = f"application {name} was taken over: epoch {epoch} may no longer commit"
            raise FencedError(message)
        return found

    def settle(self, found: _Application) -> None:
        """A decision that is under way ends now, one way or the other."""
        decision, found.in_flight = found.in_flight, None
        if decision is not None and self.random.random() < 0.5:
            self.apply(found, decision)

    def settle_all(self) -> None:
        for found in self.applications.values():
            self.settle(found)

    def apply(self, found: _Application, decision: Decision) -> None:
        notes = dict(found.last.notes) if found.last is not None else {}
        notes.update({name: note for name, note in decision.notes.items() if note is not None})
        for name in [name for name, note in decision.notes.items() if note is None]:
            notes.pop(name, None)
        found.last = Decided(decision.batch_id, decision.epoch, notes)
        assert not found.unpublished and not found.offsets, "decided before the last batch was published"
        found.unpublished, found.offsets = list(decision.staged), decision.offsets

    def give_up_writing(self, found: _Application) -> None:
        for partition in found.writing:
            partition.finish(is_done=False)
        found.writing = []


class MemoryStage:
    def __init__(self, server: MemoryServer, name: str) -> None:
        self._server, self._name = server, name
        self._rows: dict[TopicPartition, list[Row]] = {}
        self.counts: Counter[str] = Counter()

    def append(
        self,
        topic: str,
        partition: int,
        timestamp: int,
        key: bytes | None,
        value: bytes | None,
        headers: Headers = NO_HEADERS,
    ) -> None:
        self._server.partition(topic, partition)
        self._rows.setdefault((topic, partition), []).append((timestamp, key, value, headers))

    def finish(self) -> Handover:
        self._server.reach("memory.stage")
        handover = f"{self._name}/{len(self._server.staged)}".encode()
        self._server.staged[handover] = self._rows
        for (topic, _), rows in self._rows.items():
            self.counts[topic] += len(rows)
        return handover

    def abort(self) -> None:
        self._rows = {}

    def __enter__(self) -> MemoryStage:
        return self

    def __exit__(self, *_: object) -> None:
        self.abort()


@dataclass
class MemoryLease:
    server: MemoryServer
    application: str
    epoch: int
    owner: Owner

    def renew(self) -> None:
        self.server.reach("memory.renew")
        self.server.application(self.application, self.epoch)

    def release(self) -> None:
        self.server.reach("memory.release")
        found = self.server.applications[self.application]
        found.is_owned = found.is_owned and found.epoch != self.epoch

    def __enter__(self) -> MemoryLease:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


class MemoryBroker:
    """A client of a server."""

    def __init__(self, server: MemoryServer) -> None:
        self._server = server
        self.address = self.identity = "memory:here"
        self.config = BrokerConfig(self.address)

    # Log

    def create_topic(self, name: str, partitions: int = 1, config: Mapping[str, object] | None = None) -> None:
        self._server.reach("memory.create")
        if name in self._server.topics:
            message = f"there is a topic {name}"
            raise TopicExistsError(message)
        settings = {"cleanup.policy": "delete", **{each: str(value) for each, value in (config or {}).items()}}
        self._server.topics[name] = _Topic(f"{name}@1", settings, [_Partition() for _ in range(partitions)])

    def delete_topic(self, name: str) -> None:
        del self._server.topics[name]

    def alter_topic(
        self, name: str, *, partitions: int | None = None, config: Mapping[str, object | None] | None = None
    ) -> None:
        raise NotImplementedError

    def topics(self) -> dict[str, int]:
        self._server.reach("memory.topics")
        return {name: len(topic.partitions) for name, topic in self._server.topics.items()}

    def topic_ids(self, names: Iterable[str]) -> dict[str, str]:
        return {name: self._server.topics[name].id for name in names if name in self._server.topics}

    def describe_topic(self, name: str) -> TopicDescription:
        topic = self._server.topics[name]
        partitions = tuple(
            PartitionDescription(number, 0, each.next, len(each.records), 0, 0)
            for number, each in enumerate(topic.partitions)
        )
        return TopicDescription(name, topic.config, partitions, topic.id)

    def append(self, records: Iterable[NewRecord]) -> Appended:
        """One transaction."""
        self._server.reach("memory.append")
        appended = self._append(records)
        self._server.reach("memory.appended")
        return appended

    def _append(self, records: Iterable[NewRecord]) -> Appended:
        ranges: dict[TopicPartition, tuple[int, int]] = {}
        for record in records:
            number = record.partition
            if number is None:
                number = default_partition(record.key or b"", len(self._server.topics[record.topic].partitions))
            partition = self._server.partition(record.topic, number)
            row = (record.timestamp or 0, record.key, record.value, record.headers)
            partition.records.append((record.topic, number, partition.next, *row))
            first, _ = ranges.get((record.topic, number), (partition.next, 0))
            partition.next += 1
            ranges[record.topic, number] = first, partition.next
        for place in ranges:
            self._server.partition(*place).next += self._server.random.choice((0, 0, 1))
        return Appended(ranges)

    def start_offsets(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        return {place: 0 for place in partitions if self._server.partition(*place)}

    def end_offsets(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        self._server.reach("memory.ends")
        return {place: self._server.partition(*place).end for place in partitions}

    def offsets_for_time(self, times: Mapping[TopicPartition, int]) -> dict[TopicPartition, int | None]:
        return {
            place: next((each[2] for each in self._server.partition(*place).records if each[3] >= at), None)
            for place, at in times.items()
        }

    def read(
        self, topic: str, partition: int, start: int, end: int | None = None, *, max_records: int = 4096
    ) -> Iterator[list[RawRecord]]:
        found = self._server.partition(topic, partition)
        end = found.end if end is None else end
        if not 0 <= start <= found.end or end > found.end:
            message = f"{topic}-{partition} has no offsets {start} to {end}"
            raise OffsetOutOfRangeError(message)
        chosen = [record for record in found.records if start <= record[2] < end]
        size = self._server.random.choice((1, 3, max_records))
        for first in range(0, len(chosen), size):
            self._server.reach("memory.read")
            yield chosen[first : first + size]

    def commit_offsets(self, group: str, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        self._server.groups.setdefault(group, {}).update(offsets)

    def committed(self, group: str) -> dict[TopicPartition, OffsetAndMetadata]:
        """What an application has decided nobody else changes: it counts before it is committed."""
        decided = self._server.applications.get(group, _Application()).offsets
        return {**self._server.groups.get(group, {}), **decided}

    def groups(self) -> list[str]:
        return sorted(self._server.groups)

    def lag(self, group: str) -> dict[TopicPartition, int]:
        return {place: self._server.partition(*place).end - at.offset for place, at in self.committed(group).items()}

    def delete_group(self, group: str) -> None:
        self._server.groups.pop(group, None)

    def compact(self, topic: str, *, force: bool = False) -> int:
        """Keep the last record of each key; whatever was before it is a gap."""
        for partition in self._server.topics[topic].partitions:
            last = {record[4]: record[2] for record in partition.records}
            partition.records = [record for record in partition.records if last[record[4]] == record[2]]
        return 1

    # Ownership

    def acquire_lease(self, application: str, *, note: str = "") -> MemoryLease:
        """Fence whoever has it. What was under way ends here."""
        self._server.reach("memory.acquire")
        found = self._server.applications.setdefault(application, _Application())
        self._server.settle(found)
        self._server.give_up_writing(found)
        found.epoch, found.is_owned, found.is_publishing = found.epoch + 1, True, False
        return MemoryLease(self._server, application, found.epoch, Owner("here", found.epoch, 0, note))

    def lease_owner(self, application: str) -> Owner | None:
        found = self._server.applications.get(application)
        return Owner("here", found.epoch, 0) if found is not None and found.is_owned else None

    def check_lease(self, application: str, epoch: int) -> None:
        self._server.application(application, epoch)

    def last_decided(self, application: str) -> Decided | None:
        found = self._server.applications.get(application)
        return None if found is None else found.last

    def applications(self, prefix: str = "") -> list[str]:
        return sorted(name for name in self._server.applications if name.startswith(prefix))

    def delete_application(self, application: str) -> None:
        self._server.applications[application].last = None
        self.delete_group(application)

    # Outbox

    def stage(self, application: str, epoch: int, batch_id: int, attempt: str) -> MemoryStage:
        return MemoryStage(self._server, f"{application}/{epoch}/{batch_id}/{attempt}")

    def read_staged(self, staged: Handover, partition: TopicPartition) -> Iterator[list[RawRecord]]:
        rows = self._server.staged[staged].get(partition, [])
        yield [(*partition, number, *row) for number, row in enumerate(rows)]

    def decide(self, decision: Decision) -> Outcome:
        server = self._server
        server.reach("memory.decide")
        self.publish(decision.application, decision.epoch)
        found = server.application(decision.application, decision.epoch)
        if found.last is not None and decision.batch_id <= found.last.batch_id:
            if decision.batch_id < found.last.batch_id:
                message = f"batch {decision.batch_id} is too old"
                raise IllegalStateError(message)
            return Outcome.DONE
        answer = server.random.choice(_ANSWERS)
        if answer is Outcome.DONE or (answer is Outcome.UNKNOWN and server.random.random() < 0.5):
            server.apply(found, decision)
        elif answer is Outcome.UNKNOWN:
            found.in_flight = decision
        else:
            server.on_not_done()
        server.unknown += answer is Outcome.UNKNOWN
        server.reach("memory.decided")
        return answer

    def outcome(self, decision: Decision) -> Outcome:
        server = self._server
        server.reach("memory.outcome")
        found = server.application(decision.application, decision.epoch)
        if server.random.random() < 0.4:
            return Outcome.UNKNOWN
        server.settle(found)
        if found.last is not None and found.last.batch_id >= decision.batch_id:
            return Outcome.DONE
        server.on_not_done()
        return Outcome.NOT_DONE

    def begin_publishing(self, application: str, epoch: int) -> None:
        self._server.application(application, epoch).is_publishing = True

    def publish(self, application: str, epoch: int) -> None:
        server = self._server
        found = server.application(application, epoch)
        while found.unpublished or found.offsets:
            server.publish_more(application, found)
            server.reach("memory.publish")
            # Who was replaced meanwhile finds its transaction given up by its successor.
            server.application(application, epoch)

    def await_published(self, application: str, places: Collection[TopicPartition]) -> None:
        """Whoever publishes goes on while others wait for it."""
        found = self._server.applications.get(application, _Application())
        while found.unpublished:
            self._server.publish_more(application, found)
            self._server.reach("memory.await")

    # The broker as such

    def maintain(self) -> None:
        """There is nothing to keep up."""

    def problems(self, topic: str) -> Sequence[BrokerError]:
        return ()

    def close(self) -> None:
        """There is nothing to let go of."""


def _is_a_broker(broker: MemoryBroker) -> Broker:
    return broker  # the type checker compares the signatures
