"""The engines that cases run on, and what each needs to be one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from headrace import Topology
from headrace.application.layout import Application
from headrace.batch.local import LocalEngine
from headrace.batch.reading_time import ReadingTime
from headrace.broker import open_broker
from headrace.broker.port import Broker
from tests.conformance.kafka_broker import kafka_broker, wait_for_markers
from tests.conformance.spark_engine import on_spark


class Engine(Protocol):
    """Runs an application batch by batch on a broker."""

    @property
    def application(self) -> Application:
        """What the engine made of the topology and the topics."""

    def run_until_idle(self) -> int:
        """Batch after batch, until nothing is due."""

    def close(self) -> None:
        """Give the application back."""


class MakeEngine(Protocol):
    """Starts an engine."""

    def __call__(
        self, topology: Topology, settings: Mapping[str, Any], broker: Broker, *, clock: Callable[[], int]
    ) -> Engine:
        """The engine of an application."""


class OpenBroker(Protocol):
    """Opens a broker for one case; it is empty, and closed at the end of the block."""

    def __call__(self, directory: Path, settings: Mapping[str, Any]) -> AbstractContextManager[Broker]:
        """A broker, in the directory where it needs one."""


@contextmanager
def embedded_broker(directory: Path, settings: Mapping[str, Any]) -> Iterator[Broker]:
    """One of the case's own."""
    with closing(open_broker(f"embedded:{directory}/broker", fsync="never")) as broker:
        yield broker


def readable_at_once() -> None:
    """What is published can be read when the engine goes on."""


@dataclass(frozen=True)
class EngineKind:
    """How an engine is made, and on which broker."""

    make: MakeEngine
    open_broker: OpenBroker = embedded_broker
    settings: Mapping[str, Any] = field(default_factory=dict)
    """What applications have beside their own settings."""
    earliest_ms: int = 0
    """The first timestamp that the broker can store: those before it become it."""
    wait_until_readable: Callable[[], None] = readable_at_once
    """Returns when everything that was published to the broker can be read."""


class HurriedEngine(LocalEngine):
    """Its visits have no time: each ends after a record of each partition, and most of what it read waits."""

    def __init__(self, *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, time=_NoTime(), **more)


class _NoTime(ReadingTime):
    seconds = 0.0

    def __init__(self) -> None: ...

    def learn(self, reading: float, working: float) -> None:
        """There is nothing to learn."""


_ON_KAFKA = {
    "processing.guarantee": "exactly_once_v2",
    # What is appended to several partitions does not appear at once there: nobody looks before everything has.
    "poll.ms": 600_000,
}

ENGINES: dict[str, EngineKind] = {
    "batches": EngineKind(LocalEngine),
    "hurried": EngineKind(HurriedEngine),
    "spark": EngineKind(on_spark),
    "kafka": EngineKind(LocalEngine, kafka_broker, _ON_KAFKA, earliest_ms=1, wait_until_readable=wait_for_markers),
    "kafka-spark": EngineKind(on_spark, kafka_broker, _ON_KAFKA, earliest_ms=1, wait_until_readable=wait_for_markers),
}
"""By the name that the command line has for them."""
OWN_CLOCK = frozenset({"spark", "kafka-spark"})
"""Those that run on the clock of the machine: only cases for which ``needs_wall_clock`` is false can be compared."""
