"""``at_least_once``: what a task writes is in its topics when its visit ends. Its offsets wait for the decision."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec
from confluent_kafka import KafkaError, KafkaException

from headrace.broker.kafka import crash_points
from headrace.broker.kafka.limits import TopicLimits, check_partition, check_record
from headrace.broker.kafka.metadata import AddedPartitions
from headrace.broker.kafka.staging import Staged
from headrace.broker.kafka.timestamps import written_timestamp
from headrace.broker.port import Handover
from headrace.errors import BrokerUnreachableError, IllegalStateError
from headrace.failpoints import reach
from headrace.records import NO_HEADERS, Headers

if TYPE_CHECKING:
    from confluent_kafka import Producer

    from headrace.broker.kafka.clients import Clients

_FULL_SECONDS = 0.05
_SERVE_EACH = 1000
_SETTINGS = {
    "queue.buffering.max.messages": 500_000,
    "queue.buffering.max.kbytes": 256 * 1024,
    "message.max.bytes": 1_000_000_000,
}


class SharedProducer:
    """The producer of all tasks of this process; made when it is needed, and anew after an error that ends one."""

    def __init__(self, clients: Clients) -> None:
        self._clients = clients
        self._producer: Producer | None = None
        self._lock = threading.Lock()

    def get(self) -> Producer:
        """The producer."""
        with self._lock:
            if self._producer is None:
                self._producer = self._clients.producer(_SETTINGS)
            return self._producer

    def discard(self) -> None:
        """Throw it away, with what it had not sent."""
        with self._lock:
            producer, self._producer = self._producer, None
        if producer is not None:
            producer.purge()

    def flush(self) -> None:
        """Wait until everything is written."""
        producer, seconds = self.get(), self._clients.timeout
        with self._clients.waiting():
            left = producer.flush(seconds)
        if left:
            self.discard()
            message = f"{left} records were not written within {seconds:g} s"
            raise BrokerUnreachableError(message, hint="The broker is slow or gone.")

    def added_partitions(self, producer: Producer) -> AddedPartitions:
        """Those that one of its producers does not know yet."""
        return AddedPartitions(self._clients, producer)

    def failure(self, error: KafkaError, topic: str) -> Exception:
        """What a task is told that could not write."""
        self.discard()
        return self._clients.failure(KafkaException(error), f"cannot write to {topic}")


class ProducedStage:
    """The output of one attempt, which is seen as it is written."""

    def __init__(self, producer: SharedProducer, limits_of: Callable[[str, int], TopicLimits]) -> None:
        self._shared, self._limits_of = producer, limits_of
        self._producer = producer.get()
        self._added = producer.added_partitions(self._producer)
        self._limits: dict[str, TopicLimits] = {}
        self._failed: tuple[KafkaError, str] | None = None
        self._is_finished = False
        self._unserved = 0
        self.counts: Counter[str] = Counter()
        """How many records each topic gets."""

    def append(
        self,
        topic: str,
        partition: int,
        timestamp: int,
        key: bytes | None,
        value: bytes | None,
        headers: Headers = NO_HEADERS,
    ) -> None:
        limits = self._limits.get(topic)
        if limits is None or partition >= limits.partitions:
            limits = self._limits[topic] = self._limits_of(topic, partition)
        check_partition(topic, partition, limits)
        check_record(topic, limits, timestamp, key, value, headers)
        more: dict[str, Any] = {"headers": list(headers)} if headers else {}
        self._produce(topic, value, key, partition, timestamp or written_timestamp(timestamp), more)
        self.counts[topic] += 1

    def finish(self) -> Handover:
        """Wait until all of it is written."""
        if self._is_finished:
            raise IllegalStateError("this stage is finished", hint="Stage again with another attempt.")
        self._shared.flush()
        self._check()
        self._is_finished = True
        reach(crash_points.STAGED)
        return msgspec.msgpack.encode(Staged(0, self.counts.total(), is_sent=True))

    def abort(self) -> None:
        """What was written stays: it is written at least once."""
        self._is_finished = True

    def __enter__(self) -> ProducedStage:
        return self

    def __exit__(self, *_: object) -> None:
        self.abort()

    def _produce(
        self, topic: str, value: bytes | None, key: bytes | None, partition: int, timestamp: int, more: dict[str, Any]
    ) -> None:
        while True:
            try:
                self._producer.produce(topic, value, key, partition, self._delivered, timestamp=timestamp, **more)
                break
            except BufferError:
                self._producer.poll(_FULL_SECONDS)
                self._check()
            except KafkaException as error:
                self._learn(topic, partition, error)
        self._unserved += 1
        if self._unserved >= _SERVE_EACH:
            self._unserved = 0
            self._producer.poll(0)
            self._check()

    def _learn(self, topic: str, partition: int, error: KafkaException) -> None:
        try:
            self._added.learn(topic, partition, error)
        except KafkaException as refused:
            raise self._shared.failure(refused.args[0], topic) from refused

    def _delivered(self, error: KafkaError | None, message: Any) -> None:
        if error is not None and self._failed is None:
            self._failed = error, message.topic()

    def _check(self) -> None:
        if self._failed is not None:
            raise self._shared.failure(*self._failed)
