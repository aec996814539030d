"""What the tests of traps share: a driver with little to type, and a look at what passes a point of the topology."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from headrace import KStream, KTable, Processor, StreamsBuilder, Topology, TopologyTestDriver, serdes
from headrace.records import Headers, Record
from headrace.windows import Windowed

Seen = tuple[Any, Any, int]
"""Key (windowed ones as text), value, timestamp."""


class Watcher(Processor):
    """Writes down what comes along."""

    def __init__(self, seen: list[Seen], headers: list[Headers]) -> None:
        self._seen = seen
        self._headers = headers

    def process(self, record: Record[Any, Any]) -> None:
        key = str(record.key) if isinstance(record.key, Windowed) else record.key
        self._seen.append((key, record.value, record.timestamp))
        self._headers.append(record.headers)


def watch(view: KStream | KTable, headers: list[Headers] | None = None) -> list[Seen]:
    """All that will pass here, in order; tables as streams of their changes."""
    stream = view.to_stream() if isinstance(view, KTable) else view
    seen: list[Seen] = []
    kept: list[Headers] = [] if headers is None else headers
    stream.process(lambda: Watcher(seen, kept))
    return seen


class Scene:
    """A running topology. Keys and values are text unless a serde says otherwise."""

    def __init__(self, driver: TopologyTestDriver) -> None:
        self.driver = driver

    def pipe(
        self,
        topic: str,
        key: Any,
        value: Any,
        at: int,
        *,
        headers: list[tuple[str, bytes | None]] | None = None,
        value_serde: Any = None,
    ) -> None:
        """One record."""
        self.driver.create_input_topic(topic, serdes.string(), value_serde).pipe_input(key, value, at, headers)

    def read(self, topic: str, key_serde: Any = None, value_serde: Any = None) -> list[Seen]:
        """Take what was written to a topic."""
        output = self.driver.create_output_topic(topic, key_serde, value_serde)
        return [(record.key, record.value, record.timestamp or 0) for record in output]

    @property
    def dropped(self) -> dict[str, int]:
        """How many records were dropped, by reason."""
        return self.driver.dropped_records_by_reason


@contextmanager
def scene(program: StreamsBuilder | Topology, settings: dict[str, Any] | None = None) -> Iterator[Scene]:
    """Run a program; the wall clock stands at 0."""
    topology = program.build() if isinstance(program, StreamsBuilder) else program
    with TopologyTestDriver(topology, {"application.id": "app", **(settings or {})}, wall_clock_ms=0) as driver:
        yield Scene(driver)
