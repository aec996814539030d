"""An application on Kafka whose results can be checked: it counts what comes per key."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer

from headrace import Streams, StreamsBuilder, Topology, serdes
from headrace.broker import open_broker
from headrace.broker.port import NewRecord

SECONDS = 120.0
IS_LONG = os.environ.get("HEADRACE_FAULTS") == "long"
long = pytest.mark.skipif(not IS_LONG, reason="takes long: HEADRACE_FAULTS=long, make faults-kafka")
_LONG = serdes.long()
KEYS = [f"key-{number}" for number in range(8)]


def counting(name: str) -> Topology:
    builder = StreamsBuilder()
    builder.stream(f"{name}-in").group_by_key().count("counts").to_stream().to(f"{name}-out", value_serde=_LONG)
    return builder.build()


class CountingApp:
    """The application of a name, and its topics. ``address`` is where we look; the application may go another way."""

    def __init__(self, address: str, name: str, directory: Path) -> None:
        self.address, self.name, self.directory = address, name, directory
        self._sent: Counter[str] = Counter()

    def make_topics(self, partitions: int = 2) -> None:
        with closing(open_broker(self.address)) as broker:
            for end in ("in", "out"):
                broker.create_topic(f"{self.name}-{end}", partitions)

    def streams(self, **settings: Any) -> Streams:
        config = {
            "application.id": self.name,
            "bootstrap.servers": self.address,
            "state.dir": self.directory / "state",
            "processing.guarantee": "exactly_once_v2",
            **{name.replace("_", "."): value for name, value in settings.items()},
        }
        return Streams(counting(self.name), config, engine="local")

    def send(self, count: int = 40) -> None:
        keys = [KEYS[number % len(KEYS)] for number in range(count)]
        self._sent.update(keys)
        with closing(open_broker(self.address)) as broker:
            broker.append([NewRecord(f"{self.name}-in", key.encode(), b"x") for key in keys])

    def counts(self) -> dict[str, int]:
        """The last count of each key, read committed; no count comes twice, or after a larger one."""
        found: dict[str, int] = {}
        topic = f"{self.name}-out"
        with closing(open_broker(self.address)) as broker:
            for number in range(broker.topics()[topic]):
                for records in broker.read(topic, number, 0):
                    for record in records:
                        assert record[4] is not None and record[5] is not None
                        key, count = record[4].decode(), _LONG.deserialize(topic, record[5])
                        assert count is not None and count > found.get(key, 0), (key, count, found)
                        found[key] = count
        return found

    def wait_until_counted(self) -> None:
        wait_for(lambda: self.counts() == self._sent, lambda: f"{self.counts()} instead of {self._sent}")


def wait_for(holds: Callable[[], bool], what: Callable[[], object] = lambda: "") -> None:
    deadline = time.monotonic() + SECONDS
    while not holds():
        assert time.monotonic() < deadline, what()
        time.sleep(0.2)


@contextmanager
def member(address: str, group: str, topic: str) -> Iterator[None]:
    """Somebody who reads as that group, as Kafka Streams does."""
    consumer = Consumer({"bootstrap.servers": address, "group.id": group, "enable.auto.commit": False})
    try:
        consumer.subscribe([topic])
        while not consumer.assignment():
            consumer.poll(0.1)
        yield
    finally:
        consumer.close()


@contextmanager
def running(app: Streams) -> Iterator[Streams]:
    """As ``with app``, but what ended it is raised, not hidden by its end."""
    with app:
        yield app
        assert app.failure is None, app.failure
