"""Records appended outside of any transaction, by the one producer of this process."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from functools import partial

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from headrace.broker.kafka import metadata
from headrace.broker.kafka.clients import Clients
from headrace.broker.kafka.timestamps import written_timestamp
from headrace.broker.port import Appended, NewRecord, OffsetRange, TopicPartition
from headrace.broker.producers import StickyPartitioner

_METADATA_SECONDS = 30.0


class Appender:
    """Appends one list of records at a time. After an error the producer is thrown away: nobody knows what it holds."""

    def __init__(self, clients: Clients) -> None:
        self._clients = clients
        self._lock = threading.Lock()
        self._producer: Producer | None = None
        self._partitioner = StickyPartitioner()
        self._counts: dict[str, int] = {}
        self._asked = 0.0

    def append(self, records: Iterable[NewRecord]) -> Appended:
        """All of them, in order; acknowledged by the cluster when it returns."""
        with self._lock:
            producer = self._producer or self._clients.producer()
            self._producer = None
            sent, added = _Sent(), metadata.AddedPartitions(self._clients, producer)
            for record in records:
                self._send(producer, record, sent, added)
            with self._clients.waiting():
                self._flush(producer, sent)
            self._producer = producer
        return Appended(sent.ranges)

    def close(self) -> None:
        """Nothing is under way outside of ``append``."""
        self._producer = None

    def _send(self, producer: Producer, record: NewRecord, sent: _Sent, added: metadata.AddedPartitions) -> None:
        partition = self._partitioner(record, self._count(record.topic))
        produce = partial(
            producer.produce,
            record.topic,
            value=record.value,
            key=record.key,
            partition=partition,
            timestamp=0 if record.timestamp is None else written_timestamp(record.timestamp),
            headers=list(record.headers),
            on_delivery=sent.on_delivery,
        )
        deadline = time.monotonic() + self._clients.timeout
        while True:
            try:
                produce()
                break
            except BufferError:  # The queue is full: let some of it go.
                producer.poll(0.1)
            except KafkaException as error:
                with self._clients.told(f"append to {record.topic}"):
                    added.learn(record.topic, partition, error)
            if time.monotonic() > deadline:
                raise self._clients.silent("append to " + record.topic)
        sent.count += 1
        sent.check(self._clients)

    def _flush(self, producer: Producer, sent: _Sent) -> None:
        deadline = time.monotonic() + self._clients.timeout
        while sent.acknowledged < sent.count:
            producer.poll(0.1) if len(producer) < 1 else producer.flush(0.5)
            sent.check(self._clients)
            if time.monotonic() > deadline:
                raise self._clients.silent("append records")
        sent.check(self._clients)

    def _count(self, topic: str) -> int:
        """How many partitions a topic has. A topic that is not there is never made by accident."""
        now = time.monotonic()
        if topic not in self._counts or now - self._asked > _METADATA_SECONDS:
            self._counts, self._asked = metadata.counts(self._clients), now
        if topic not in self._counts:
            raise metadata.unknown(topic, self._clients.address)
        return self._counts[topic]


class _Sent:
    """What became of the records of one call."""

    def __init__(self) -> None:
        self.count = self.acknowledged = 0
        self.ranges: dict[TopicPartition, OffsetRange] = {}
        self._failed: tuple[KafkaError, str] | None = None

    def on_delivery(self, error: KafkaError | None, message: Message) -> None:
        self.acknowledged += 1
        if error is not None:
            self._failed = self._failed or (error, f"append to {message.topic()}-{message.partition()}")
            return
        place, offset = (message.topic(), message.partition()), message.offset()
        first, end = self.ranges.get(place, (offset, offset))
        self.ranges[place] = min(first, offset), max(end, offset + 1)

    def check(self, clients: Clients) -> None:
        if self._failed is not None:
            raise clients.failure(*self._failed)
