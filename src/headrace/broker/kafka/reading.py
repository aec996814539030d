"""Records by ranges of offsets. A consumer stays with its partition and goes on fetching between ranges.

A range ends by position, never by count: where records were compacted, or a transaction was given up, offsets are
missing, and the mark at the end of a transaction has one too. So a range is done when a record at or behind its end
came (it is kept for the next range), or when the partition says that it is read up to there.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from headrace.broker.kafka import metadata, offsets
from headrace.broker.kafka.clients import Clients
from headrace.broker.kafka.failures import CREDENTIALS, UNREACHABLE
from headrace.errors import ArgumentError, HeadraceError, OffsetOutOfRangeError
from headrace.records import NO_HEADERS, Headers, RawRecord

MOST_OPEN = 64
"""How many idle consumers a process keeps: beyond that, those that were not used for the longest time are closed."""
MOST_OF_ONE = 2
"""How many of them for one partition."""
_WAIT = 0.5
_CHANGELOG = "-changelog"
_PASSING = UNREACHABLE | {KafkaError.GROUP_AUTHORIZATION_FAILED}
"""What does not end a range. That the group is denied does not matter: no group is needed, librdkafka looks for it."""
_SETTINGS = {
    # The end of a partition is an event: without it nobody learns that the last offsets of a range are empty.
    "enable.partition.eof": True,
}
_DEFAULTS = {
    # A full queue is looked at again soon, not after a second.
    "fetch.queue.backoff.ms": 20,
    # The end of a partition is told when a fetch comes back empty; behind the mark of a transaction it is waited for.
    "fetch.wait.max.ms": 50,
}


class PartitionReader:
    """One consumer and the partition that it reads, onwards from where its first range began.

    Going back takes another reader: a consumer that is sent elsewhere first waits for the answer that is under way.
    """

    def __init__(self, clients: Clients, topic: str, partition: int) -> None:
        self.place = topic, partition
        self._clients = clients
        kind = "restore" if topic.endswith(_CHANGELOG) else "main"
        self._failed: KafkaError | None = None
        self._consumer: Consumer = clients.consumer(
            {**_SETTINGS, "error_cb": self._on_error}, kind=kind, defaults=_DEFAULTS
        )
        self.position: int | None = None
        """Where the next range can begin without a new fetch; None before the first."""
        self._reached = 0
        """What is before it has come."""
        self._kept: list[Message] = []
        """What came and is behind the position."""

    def read(self, start: int, end: int, max_records: int) -> Iterator[list[RawRecord]]:
        """The records of a range."""
        if self.position is None:
            self._consumer.assign([TopicPartition(*self.place, start)])
            self._reached = self.position = start
        deadline, is_checked = time.monotonic() + self._clients.timeout, False
        while self.position < end:
            if self._kept:
                batch = self._take(end, max_records)
                if batch:
                    yield _records(*self.place, batch)
                    deadline = time.monotonic() + self._clients.timeout
            elif self._reached >= end:
                self.position = end
            elif self._receive(end, max_records):
                continue
            elif time.monotonic() > deadline:
                raise self._clients.silent(self._what)
            elif not is_checked:  # Of a topic that is not there a consumer hears after half a minute.
                metadata.check(self._clients, *self.place)
                is_checked = True

    def close(self) -> None:
        """End the consumer."""
        self._consumer.close()

    def _take(self, end: int, max_records: int) -> list[Message]:
        """What is kept and before the end; none of it where the range is done."""
        batch = self._kept[:max_records]
        if batch[-1].offset() >= end:
            batch = [message for message in batch if message.offset() < end]
        self._kept = self._kept[len(batch) :]
        self.position = batch[-1].offset() + 1 if batch else end
        return batch

    def _receive(self, end: int, max_records: int) -> bool:
        """Wait a moment for records, and keep them; whether anything came."""
        try:
            # What there is, at once. Only where there is nothing: the next one, and what came with it.
            messages = self._consumer.consume(max_records, 0)
            if not messages:
                first = self._consumer.poll(_WAIT)
                messages = [] if first is None else [first, *self._consumer.consume(max_records, 0)]
        except KafkaException as error:
            raise self._failure(error.args[0]) from error
        if self._failed is not None:
            raise self._failure(self._failed)
        records = [message for message in messages if message.error() is None]
        if len(records) < len(messages):
            self._heed([message for message in messages if message.error() is not None], end)
        if records:
            self._reached = max(self._reached, records[-1].offset() + 1)
        self._kept = records
        return bool(messages)

    def _on_error(self, error: KafkaError) -> None:
        """Called inside ``poll``: for instance when there is no such topic, or it may not be read."""
        self._clients.on_error(error)
        if error.code() not in _PASSING and error.code() not in CREDENTIALS:
            self._failed = error

    def _heed(self, events: list[Message], end: int) -> None:
        """What the partition says beside records: that it was read to its end, or an error."""
        for event in events:
            error = event.error()
            assert error is not None
            if error.code() == KafkaError._PARTITION_EOF:
                reached = event.offset()
                assert reached is not None
                self._reached = max(self._reached, reached)
                self._check_end(reached, end)
            elif error.code() not in _PASSING:
                raise self._failure(error)

    def _check_end(self, reached: int, end: int) -> None:
        """Nothing will ever come where the partition ends before the range does."""
        there = end if reached >= end else offsets.ends(self._clients, [self.place])[self.place]
        if there < end:
            message = f"{self._name} has no offsets up to {end}: it ends at {there}"
            hint = "Records were lost, or the topic was made anew: see to the topic, or reset the application."
            raise OffsetOutOfRangeError(message, hint=hint)

    def _failure(self, error: KafkaError) -> HeadraceError:
        if error.code() in {KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE}:
            first, last = (ask(self._clients, [self.place])[self.place] for ask in (offsets.starts, offsets.ends))
            message = f"{self._name} does not hold offset {self.position}: it has {first} up to {last}"
            return OffsetOutOfRangeError(message, hint="Retention removed it, or it was never written.")
        return self._clients.failure(error, self._what)

    @property
    def _name(self) -> str:
        return "{}-{}".format(*self.place)

    @property
    def _what(self) -> str:
        return f"read {self._name} at offset {self.position}"


class Readers:
    """The consumers of this process: a range takes one that stands at its start, if there is one. Safe in threads."""

    def __init__(self, clients: Clients) -> None:
        self._clients = clients
        self._lock = threading.Lock()
        self._idle: list[PartitionReader] = []

    def read(
        self, topic: str, partition: int, start: int, end: int | None, max_records: int
    ) -> Iterator[list[RawRecord]]:
        """The records of a range, up to now where it has no end."""
        if max_records < 1:
            message = f"max_records must be 1 or more, found {max_records}"
            raise ArgumentError(message)
        if end is None:
            end = offsets.ends(self._clients, [(topic, partition)])[topic, partition]
        if start >= end:
            self._check_empty(topic, partition, start, end)
            return
        reader = self._taken((topic, partition), start)
        try:
            yield from reader.read(start, end, max_records)
        except HeadraceError:
            reader.position = None
            raise
        finally:
            self._give_back(reader)

    def close(self) -> None:
        """End all that are idle."""
        with self._lock:
            idle, self._idle = self._idle, []
        for reader in idle:
            reader.close()

    def _check_empty(self, topic: str, partition: int, start: int, end: int) -> None:
        if start > end or start < 0:
            message = f"{topic}-{partition} has no offsets {start} to {end}"
            raise OffsetOutOfRangeError(message)

    def _taken(self, place: tuple[str, int], start: int) -> PartitionReader:
        with self._lock:
            mine = [reader for reader in self._idle if reader.place == place]
            found = next((reader for reader in mine if reader.position == start), None)
            # Two may stand at different places of a partition, a task and a replica for instance.
            surplus = [found] if found is not None else mine[: 1 - MOST_OF_ONE]
            self._idle = [reader for reader in self._idle if reader not in surplus]
        if found is not None:
            return found
        for reader in surplus:
            reader.close()
        return PartitionReader(self._clients, *place)

    def _give_back(self, reader: PartitionReader) -> None:
        with self._lock:
            if reader.position is not None:
                self._idle.append(reader)
            surplus, self._idle = self._idle[:-MOST_OPEN], self._idle[-MOST_OPEN:]
        for each in [*surplus, *([] if reader.position is not None else [reader])]:
            each.close()


def _records(topic: str, partition: int, messages: list[Message]) -> list[RawRecord]:
    return [
        (
            topic,
            partition,
            message.offset(),
            message.timestamp()[1],
            message.key(),
            message.value(),
            NO_HEADERS if (headers := message.headers()) is None else Headers(headers),
        )
        for message in messages
    ]
