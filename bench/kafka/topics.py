"""What the benchmark itself asks of the broker: topics filled and read, and how far a group has come."""

from __future__ import annotations

import struct
import time
from collections.abc import Iterable, Iterator

from confluent_kafka import (
    Consumer,
    IsolationLevel,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec

from bench.kafka.inputs import PARTITIONS, Input, Latest, Total, total

_SECONDS = 60.0
_READ_AT_ONCE = 10_000
_SERVED_EACH = 10_000
_NOT_YET = frozenset(
    {
        KafkaError.GROUP_ID_NOT_FOUND,
        KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
        KafkaError.COORDINATOR_NOT_AVAILABLE,
        KafkaError.NOT_COORDINATOR,
        KafkaError.NOT_LEADER_FOR_PARTITION,
        KafkaError.LEADER_NOT_AVAILABLE,
        KafkaError.UNKNOWN_TOPIC_OR_PART,
    }
)
"""Answers about groups and topics that have just been made."""
_LONG = struct.Struct(">q").unpack


class Topics:
    """The topics of one broker."""

    def __init__(self, address: str) -> None:
        self.address = address
        # They outlive the broker, and would say so again and again: only what is worse than an error is told.
        self._client = {"bootstrap.servers": address, "log_level": 2}
        self._admin = AdminClient(self._client)
        self._asking: dict[str, Consumer] = {}

    def create(self, *names: str) -> None:
        """Topics whose records stay, however old they are."""
        new = [NewTopic(name, PARTITIONS, 1, config={"retention.ms": "-1"}) for name in names]
        for future in self._admin.create_topics(new).values():
            future.result(_SECONDS)

    def names(self) -> list[str]:
        """All topics."""
        return list(self._admin.list_topics(timeout=_SECONDS).topics)

    def delete_those_of(self, application: str) -> None:
        """Remove its topics, internal ones included."""
        names = [name for name in self.names() if application in name]
        for future in self._admin.delete_topics(names).values() if names else ():
            future.result(_SECONDS)

    def fill(self, topic: str, input: Input) -> None:
        """Append all records of an input; those without a key go round."""
        self.create(topic)
        settings = {"linger.ms": 20, "batch.size": 1_000_000, "queue.buffering.max.messages": 500_000}
        producer = Producer({**self._client, "partitioner": "murmur2_random", **settings})
        for number, (key, value, at) in enumerate(input.records()):
            partition = number % PARTITIONS if key is None else -1
            while True:
                try:
                    producer.produce(topic, value, key, partition, timestamp=at)
                    break
                except BufferError:
                    producer.poll(0.05)
            if number % _SERVED_EACH == 0:
                producer.poll(0)
        if producer.flush(_SECONDS):
            message = f"the broker did not take all of {topic}"
            raise RuntimeError(message)

    def is_done(self, group: str, inputs: Iterable[str], *, in_transactions: bool) -> bool:
        """Whether a group has committed the ends of the topics it reads, and of its own repartition topics.

        The last offset of what is written in transactions is no record but the end of one: it need not be committed.
        """
        own = [name for name in self.names() if group in name and "repartition" in name and "changelog" not in name]
        left = {**dict.fromkeys(inputs, 0), **dict.fromkeys(own, int(in_transactions))}
        places = [TopicPartition(name, number) for name in left for number in range(PARTITIONS)]
        try:
            committed = self._committed(group, places)
            return all(committed.get(place, 0) >= end - left[place.topic] for place, end in self._ends(places).items())
        except KafkaException as error:
            if error.args[0].code() not in _NOT_YET:
                raise
            return False

    def records(self, topic: str) -> Iterator[tuple[bytes, bytes | None]]:
        """The keys and values of a topic that a reader of what is committed sees, up to now."""
        settings = {"group.id": "unused", "isolation.level": "read_committed", "enable.partition.eof": True}
        consumer = Consumer({**self._client, "fetch.queue.backoff.ms": 20, **settings})
        consumer.assign([TopicPartition(topic, number, 0) for number in range(PARTITIONS)])
        deadline, left = time.monotonic() + _SECONDS, set(range(PARTITIONS))
        try:
            while left:
                for message in consumer.consume(_READ_AT_ONCE, 0.1):
                    if _is_record(message):
                        key, value = message.key(), message.value()
                        assert isinstance(key, bytes)
                        yield key, value
                        deadline = time.monotonic() + _SECONDS
                    else:
                        left.discard(message.partition())
                if time.monotonic() > deadline:
                    message = f"{topic} cannot be read to its end"
                    raise RuntimeError(message)
        finally:
            consumer.close()

    def found(self, topic: str, expected: Latest | Total) -> Latest | Total:
        """What is in an output topic, in the form of what is expected."""
        if isinstance(expected, Total):
            return total((key, value) for key, value in self.records(topic) if value is not None)
        latest = dict(self.records(topic))
        return {key: _LONG(value)[0] for key, value in latest.items() if value is not None}

    def _committed(self, group: str, places: list[TopicPartition]) -> dict[TopicPartition, int]:
        """Asked as that group, without being a member of it.

        An admin client would end the process (librdkafka 2.x, rd_kafka_cgrp_op) where the coordinator of a group is
        not the one it was, or not yet one.
        """
        if group not in self._asking:
            self._asking.clear()
            self._asking[group] = Consumer({**self._client, "group.id": group})
        found = self._asking[group].committed(places, timeout=_SECONDS)
        return {TopicPartition(each.topic, each.partition): each.offset for each in found}

    def _ends(self, places: list[TopicPartition]) -> dict[TopicPartition, int]:
        asked = self._admin.list_offsets(
            {place: OffsetSpec.latest() for place in places}, isolation_level=IsolationLevel.READ_COMMITTED
        )
        return {place: future.result(_SECONDS).offset for place, future in asked.items()}


def _is_record(message: Message) -> bool:
    error = message.error()
    if error is not None and error.code() != KafkaError._PARTITION_EOF:
        raise KafkaException(error)
    return error is None
