"""From the moment a record is sent to the moment a reader of committed results has what was made of it."""

from __future__ import annotations

import time
from dataclasses import dataclass

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from bench.kafka.inputs import PARTITIONS
from bench.kafka.sides import Running

_SLICE = 0.002
_READ_AT_ONCE = 1_000
_WARM_SECONDS, _LEFT_SECONDS, _FIRST_SECONDS = 4.0, 10.0, 60.0


@dataclass(frozen=True)
class Waits:
    """How long records took at a rate, in seconds."""

    rate: int
    p50: float
    p99: float
    sent: int
    received: int


class Stream:
    """Sends records with the time in their values, and reads them where they come out. One thread does both."""

    def __init__(self, servers: str, input: str, output: str) -> None:
        self._input = input
        self._producer = Producer({"bootstrap.servers": servers, "linger.ms": 1, "partitioner": "murmur2_random"})
        reading = {"group.id": "unused", "isolation.level": "read_committed", "fetch.wait.max.ms": 10}
        self._consumer = Consumer({"bootstrap.servers": servers, **reading})
        self._consumer.assign([TopicPartition(output, number, 0) for number in range(PARTITIONS)])
        self._sent = self._received = 0
        self._waits: list[float] = []

    def wait_for_the_first(self, running: Running) -> None:
        """Until a record that was sent comes out."""
        deadline = time.monotonic() + _FIRST_SECONDS
        while not self._received:
            self._send(1)
            self._receive(0.1)
            running.check()
            if time.monotonic() > deadline:
                message = f"nothing came out within {_FIRST_SECONDS:g} s"
                raise RuntimeError(message)

    def measure(self, rate: int, seconds: float) -> Waits:
        """Send at a rate; the first seconds do not count."""
        self._run(rate, _WARM_SECONDS)
        self._drain()
        first = self._sent
        self._waits.clear()
        self._run(rate, seconds)
        self._drain()
        waits = sorted(self._waits)
        p50, p99 = (waits[int(len(waits) * part)] if waits else float("nan") for part in (0.5, 0.99))
        return Waits(rate, p50, p99, self._sent - first, len(waits))

    def close(self) -> None:
        """End the clients."""
        self._consumer.close()
        self._producer.flush(_LEFT_SECONDS)

    def _run(self, rate: int, seconds: float) -> None:
        begin, before = time.monotonic(), self._sent
        while (passed := time.monotonic() - begin) < seconds:
            self._send(int(passed * rate) - (self._sent - before))
            self._receive(_SLICE)

    def _drain(self) -> None:
        deadline = time.monotonic() + _LEFT_SECONDS
        while self._received < self._sent and time.monotonic() < deadline:
            self._receive(_SLICE)

    def _send(self, count: int) -> None:
        for _ in range(count):
            self._sent += 1
            self._producer.produce(self._input, b"%d" % time.time_ns(), b"%d" % self._sent)
        self._producer.poll(0)

    def _receive(self, seconds: float) -> None:
        for message in self._consumer.consume(_READ_AT_ONCE, seconds):
            error, value = message.error(), message.value()
            if error is not None:
                raise KafkaException(error)
            assert value is not None
            self._waits.append((time.time_ns() - int(value)) / 1e9)
            self._received += 1
