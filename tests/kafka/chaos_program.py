"""What the chaos run runs: a repartition, a table and a windowed count; its input, and what must come of it.

``python -m tests.kafka.chaos_program ADDRESS NAME DIRECTORY [batch=RECORDS]`` runs it on Spark until its standard input
ends. Each batch is a line on standard output.
"""

from __future__ import annotations

import os
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition

from headrace import Streams, StreamsBuilder, StreamsState, TimeWindows, Topology, serdes
from headrace.broker import open_broker
from headrace.errors import HeadraceError

PARTITIONS = 4
INPUTS, OUTPUTS = ("events", "owners"), ("joined", "totals", "visits")
_WINDOW = timedelta(minutes=10)
_STEP_MS = 10
_SECONDS = 600.0
_LONG = serdes.long()
_MOST = 10_000


def topology(name: str) -> Topology:
    """Every event meets the owner of its key, its word is counted, and its key is counted by windows."""
    builder = StreamsBuilder()
    events, owners = builder.stream(f"{name}-events"), builder.table(f"{name}-owners")
    events.join(owners, lambda event, owner: f"{event}:{owner}").to(f"{name}-joined")
    totals = events.group_by(lambda key, event: event.split(":")[1]).count("totals")
    totals.to_stream().to(f"{name}-totals", value_serde=_LONG)
    windows = TimeWindows(_WINDOW, grace=timedelta(days=1))
    visits = events.group_by_key().windowed_by(windows).count("visits")
    visits.to_stream().to(f"{name}-visits", key_serde=serdes.windowed(serdes.string(), _WINDOW), value_serde=_LONG)
    return builder.build()


@dataclass(frozen=True)
class Input:
    """Events are numbered; number, key and word of each follow from its number."""

    name: str
    keys: int
    start_ms: int
    """The time of the first event."""

    def key(self, number: int) -> str:
        return f"k{number % self.keys}"

    def event(self, number: int) -> str:
        return f"{number}:w{number * 7 % max(7, self.keys // 20)}"

    def joined(self, number: int) -> str:
        return f"{self.event(number)}:o{number % self.keys}"

    def window(self, number: int) -> tuple[str, int]:
        size = int(_WINDOW.total_seconds() * 1000)
        return self.key(number), (self.start_ms + number * _STEP_MS) // size * size


class Feeder:
    """Writes the input: every record once, in the order of its key, however often the broker goes away meanwhile."""

    def __init__(self, address: str, given: Input) -> None:
        self._given = given
        self.sent = 0
        self._errors: list[KafkaError] = []
        settings = {"bootstrap.servers": address, "enable.idempotence": True, "partitioner": "murmur2_random"}
        limits = {"queue.buffering.max.messages": 2_000_000, "message.timeout.ms": 0, "reconnect.backoff.max.ms": 500}
        self._producer = Producer({**settings, **limits, "logger": _Silent()})

    def send_owners(self) -> None:
        for number in range(self._given.keys):
            self._send("owners", f"k{number}", f"o{number}", self._given.start_ms - 1)
        self.flush()

    def send(self, count: int) -> None:
        """The next events. They are on their way when it returns, and there after ``flush``."""
        for number in range(self.sent, self.sent + count):
            at = self._given.start_ms + number * _STEP_MS
            self._send("events", self._given.key(number), self._given.event(number), at)
        self.sent += count

    def flush(self) -> None:
        left = self._producer.flush(_SECONDS)
        assert (left, self._errors) == (0, [])

    def _send(self, topic: str, key: str, value: str, timestamp: int) -> None:
        self._producer.produce(
            f"{self._given.name}-{topic}", value, key, timestamp=timestamp, on_delivery=self._delivered
        )
        self._producer.poll(0)

    def _delivered(self, error: KafkaError | None, _: object) -> None:
        if error is not None:
            self._errors.append(error)


def make_topics(address: str, name: str) -> None:
    with closing(open_broker(address)) as broker:
        for topic in (*INPUTS, *OUTPUTS):
            broker.create_topic(f"{name}-{topic}", PARTITIONS)


def seen(address: str, topic: str) -> Iterator[tuple[bytes, bytes]]:
    """All that a consumer sees that reads only what is committed."""
    settings = {"bootstrap.servers": address, "group.id": "chaos-verdict", "enable.auto.commit": False}
    reading = {"isolation.level": "read_committed", "enable.partition.eof": True, "auto.offset.reset": "error"}
    consumer = Consumer({**settings, **reading, "logger": _Silent()})
    try:
        consumer.assign([TopicPartition(topic, number, 0) for number in range(PARTITIONS)])
        left, deadline = set(range(PARTITIONS)), time.monotonic() + _SECONDS
        while left:
            assert time.monotonic() < deadline, f"{topic} cannot be read to its end"
            for message in consumer.consume(_MOST, 0.5):
                error = message.error()
                if error is None:
                    yield message.key() or b"", message.value() or b""
                else:
                    assert error.code() == KafkaError._PARTITION_EOF, error
                    left.discard(message.partition())
    finally:
        consumer.close()


def check(address: str, given: Input, count: int) -> None:
    """Each result of ``count`` events once, per key in order, and sums that match."""
    joined = [(key.decode(), value.decode()) for key, value in seen(address, f"{given.name}-joined")]
    expected = Counter((given.key(number), given.joined(number)) for number in range(count))
    _check_equal("joined", Counter(joined), expected)
    last: dict[str, int] = {}
    for key, value in joined:
        number = int(value.split(":")[0])
        assert last.get(key, -1) < number, f"{key} has {number} after {last[key]}"
        last[key] = number
    words = Counter(given.event(number).split(":")[1] for number in range(count))
    _check_counted("totals", ((key.decode(), value) for key, value in seen(address, f"{given.name}-totals")), words)
    windows = Counter(given.window(number) for number in range(count))
    found = ((_window(key), value) for key, value in seen(address, f"{given.name}-visits"))
    _check_counted("visits", found, windows)


def _window(key: bytes) -> tuple[str, int]:
    windowed = serdes.windowed(serdes.string(), _WINDOW).deserialize("", key)
    assert windowed is not None
    return windowed.key, windowed.window.start


def _check_counted(what: str, found: Iterator[tuple[Any, bytes]], expected: Counter[Any]) -> None:
    """Every count of every key, in order: 1, 2, 3 … up to how often there was one."""
    counts: Counter[Any] = Counter()
    for key, value in found:
        counts[key] += 1
        number = int.from_bytes(value, "big")
        assert number == counts[key], f"{what}: {key} has {number} where {counts[key]} comes next"
    _check_equal(what, counts, expected)


def _check_equal(what: str, found: Counter[Any], expected: Counter[Any]) -> None:
    missing, more = expected - found, found - expected
    assert not missing and not more, (
        f"{what}: {missing.total()} are missing ({list(missing)[:5]}), {more.total()} too many ({list(more)[:5]})"
    )


class _Silent:
    """For what librdkafka says while a broker is away."""

    def log(self, *_: object) -> None:
        """Nothing: it is meant to be away."""


def main(address: str, name: str, directory: str, *options: str) -> None:
    given = dict(option.split("=", 1) for option in options)
    settings = {
        "application.id": name,
        "bootstrap.servers": address,
        "state.dir": str(Path(directory, "state")),
        "processing.guarantee": "exactly_once_v2",
        # No caching, so that every count is seen.
        "statestore.cache.max.bytes": 0,
        "num.stream.threads": 2,
        "max.records.per.batch": int(given.get("batch", "2000")),
    }
    app = Streams(topology(name), settings)
    app.on_batch(lambda report: print("batch", report.batch_id, flush=True))
    app.on_state_change(lambda new, old: print("state", new.value, flush=True))
    app.start()
    while os.read(0, 1):
        pass
    app.close()
    if app.failure is not None or app.state is StreamsState.ERROR:
        raise app.failure or SystemExit(1)


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except HeadraceError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        sys.exit(1)
