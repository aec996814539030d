"""Short words for what the tests of the broker do."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from headrace.broker.embedded import EmbeddedBroker
from headrace.broker.port import Decision, NewRecord
from headrace.broker.staging import StagedSegment, pack, unpack
from headrace.clock import Clock
from headrace.records import RawRecord

BIG = b"x" * 5000
"""Fourteen of these and a segment is a file."""

Pair = tuple[bytes | None, bytes | None]


class FakeClock(Clock):
    """Clocks that a test sets."""

    def __init__(self) -> None:
        self.now = 1_000_000
        self.uptime = 5_000

    def now_ms(self) -> int:
        return self.now

    def uptime_ms(self) -> int:
        return self.uptime


def put(broker: EmbeddedBroker, topic: str, *pairs: Pair, timestamp: int | None = None, partition: int = 0) -> None:
    broker.append([NewRecord(topic, key, value, timestamp, partition=partition) for key, value in pairs])


def records(broker: EmbeddedBroker, topic: str, partition: int = 0, start: int | None = None) -> list[RawRecord]:
    first = broker.start_offsets([(topic, partition)])[topic, partition] if start is None else start
    return [record for chunk in broker.read(topic, partition, first) for record in chunk]


def values(broker: EmbeddedBroker, topic: str, partition: int = 0) -> list[bytes | None]:
    return [record[5] for record in records(broker, topic, partition)]


def entries(broker: EmbeddedBroker, topic: str, partition: int = 0) -> list[tuple[int, bytes | None, bytes | None]]:
    """Offset, key and value of each record."""
    return [(record[2], record[4], record[5]) for record in records(broker, topic, partition)]


def staged(
    broker: EmbeddedBroker,
    epoch: int,
    batch_id: int,
    topic: str,
    *given: bytes,
    attempt: str = "0",
    application: str = "app",
) -> list[StagedSegment]:
    """Values staged for partition 0."""
    with broker.stage(application, epoch, batch_id, attempt) as stage:
        for value in given:
            stage.append(topic, 0, 1, b"k", value)
        return unpack(stage.finish())


def batch(epoch: int, batch_id: int, segments: Iterable[StagedSegment] = (), application: str = "app") -> Decision:
    return Decision(application, epoch, batch_id, [pack(segments)])


def files(broker: EmbeddedBroker) -> list[Path]:
    return sorted((broker.directory / "topics").glob("*/*/*"))
