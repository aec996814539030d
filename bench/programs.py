"""What is measured: each program once as a topology and once as a loop that a person would write by hand."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from headrace import StreamsBuilder, TimeWindows, Topology, serdes, stores
from headrace.config import StreamsConfig
from headrace.records import NO_HEADERS, Headers
from headrace.state.cache import ThreadCache
from headrace.task.stream_task import StreamTask

Written = list[tuple[Any, ...]]
_LONG = struct.Struct(">q").pack
_WINDOW_MS = 1_000


def records(count: int) -> list[Any]:
    """Input records as a host hands them to a task: 5,000 keys, short texts, a millisecond apart."""
    return [
        ("in", 0, n, n, b"key-%d" % (n * 7919 % 5_000), b"some value %d" % (n % 100), NO_HEADERS) for n in range(count)
    ]


class Port:
    """A producer port that keeps what goes to the output topic and forgets the changelogs."""

    def __init__(self) -> None:
        self.written: Written = []

    def send(
        self,
        topic: str,
        partition: int | None,
        timestamp: int | None,
        key: bytes | None,
        value: bytes | None,
        headers: Headers,
    ) -> None:
        """Take a record."""
        if topic == "out":
            self.written.append((topic, partition, timestamp, key, value, headers))

    def partitions_for(self, topic: str) -> int:
        """One."""
        return 1

    def flush(self) -> None:
        """Nothing is under way."""


@dataclass(frozen=True)
class Program:
    """A topology and the loop that does the same."""

    name: str
    topology: Callable[[], Topology]
    loop: Callable[[Iterable[Any]], Written]

    def task(self, records: list[Any]) -> Callable[[], Written]:
        """A fresh task, ready to take the records; the call returned is what is timed."""
        config = StreamsConfig({"application.id": "bench", "statestore.cache.max.bytes": 0})
        topology = self.topology()
        planned = topology.configured(config)
        port = Port()
        task = StreamTask(planned.task_plan(), config, port, partitions=[("in", 0)], cache=ThreadCache(0))
        task.initialize()
        task.start()

        return lambda: run_to_the_end(task, port, records)


def run_to_the_end(task: StreamTask, port: Port, records: list[Any]) -> Written:
    """Process the records of ``in``, commit and close; what was written."""
    task.add_records(("in", 0), records)
    task.process_all(0)
    task.prepare_commit()
    task.post_commit()
    task.close()
    return port.written


def chain_topology() -> Topology:
    """Five functions in a row."""
    builder = StreamsBuilder()
    (
        builder.stream("in")
        .map_values(lambda value: value.upper())
        .filter(lambda key, value: value != "SOME VALUE 7")
        .map_values(lambda value: value + "!")
        .map(lambda key, value: (value, key))
        .filter_not(lambda key, value: value == "key-13")
        .to("out")
    )
    return builder.build()


def chain_loop(records: Iterable[Any]) -> Written:
    """The same five functions by hand."""
    # Functions called by name, as the topology's are.
    upper: Callable[[str], str] = lambda value: value.upper()  # noqa: E731
    keep: Callable[[str, str], bool] = lambda key, value: value != "SOME VALUE 7"  # noqa: E731
    shout: Callable[[str], str] = lambda value: value + "!"  # noqa: E731
    swap: Callable[[str, str], tuple[str, str]] = lambda key, value: (value, key)  # noqa: E731
    leave: Callable[[str, str], bool] = lambda key, value: value == "key-13"  # noqa: E731
    written: Written = []
    write = written.append
    for _, _, _, timestamp, raw_key, raw_value, headers in records:
        key, value = raw_key.decode(), raw_value.decode()
        value = upper(value)
        if not keep(key, value):
            continue
        value = shout(value)
        key, value = swap(key, value)
        if leave(key, value):
            continue
        write(("out", None, timestamp, key.encode(), value.encode(), headers))
    return written


def count_topology() -> Topology:
    """Count per key, in memory."""
    builder = StreamsBuilder()
    counts = builder.stream("in").group_by_key().count(store=stores.in_memory("counts"), caching=False)
    counts.to_stream().to("out", value_serde=serdes.long())
    return builder.build()


def count_loop(records: Iterable[Any]) -> Written:
    """Count per key in a dict."""
    counts: dict[str, int] = {}
    times: dict[str, int] = {}
    written: Written = []
    for _, _, _, timestamp, raw_key, raw_value, headers in records:
        key, value = raw_key.decode(), raw_value.decode()
        if value is None:
            continue
        count = counts[key] = counts.get(key, 0) + 1
        latest = times[key] = max(timestamp, times.get(key, timestamp))
        written.append(("out", None, latest, key.encode(), _LONG(count), headers))
    return written


def windowed_topology() -> Topology:
    """Count per key and second, in memory."""
    builder = StreamsBuilder()
    windows = builder.stream("in").group_by_key().windowed_by(TimeWindows(_WINDOW_MS))
    counts = windows.count(store=stores.IN_MEMORY("counts"), caching=False)
    counts.to_stream().to("out", key_serde=serdes.windowed(serdes.string(), _WINDOW_MS), value_serde=serdes.long())
    return builder.build()


def windowed_loop(records: Iterable[Any]) -> Written:
    """Count per key and second in a dict, forgetting windows that have passed."""
    counts: dict[tuple[str, int], int] = {}
    times: dict[tuple[str, int], int] = {}
    stream_time = -1
    written: Written = []
    for _, _, _, timestamp, raw_key, raw_value, headers in records:
        key, value = raw_key.decode(), raw_value.decode()
        start = timestamp - timestamp % _WINDOW_MS
        if timestamp > stream_time:
            stream_time = timestamp
        if value is None or start + _WINDOW_MS <= stream_time:
            continue
        window = (key, start)
        count = counts[window] = counts.get(window, 0) + 1
        latest = times[window] = max(timestamp, times.get(window, timestamp))
        if len(counts) > 10_000:
            counts = {held: n for held, n in counts.items() if held[1] + _WINDOW_MS > stream_time}
            times = {held: times[held] for held in counts}
        # A windowed key goes where its plain key goes; there is one partition here.
        written.append(("out", 0, latest, key.encode() + _LONG(start), _LONG(count), headers))
    return written


PROGRAMS = (
    Program("five lambdas", chain_topology, chain_loop),
    Program("count in memory", count_topology, count_loop),
    Program("windowed count in memory", windowed_topology, windowed_loop),
)
