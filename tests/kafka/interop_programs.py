"""The twins of the programs in ``java/Interop.java``, what they are fed, and what must come of it."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from headrace import (
    KTable,
    SessionWindows,
    StreamsBuilder,
    Suppressed,
    TimeWindows,
    Topology,
    TopologyTestDriver,
    serdes,
)
from headrace.serde import Serde

Sent = tuple[str, str, str | None, int]
"""A record: the end of its topic's name, key, value, timestamp."""

Written = tuple[Any, Any, int]
"""A result: key, value, timestamp."""

_SIZE = timedelta(seconds=10)
_STEP_MS = 700
START_MS = int(time.time()) // 86_400 * 86_400_000
"""Today: brokers delete what is older than a week by its timestamp."""


@dataclass(frozen=True)
class Program:
    """What it is called in Java, how it is built for an application's name, its topics and the serdes of its output.

    ``told`` is what of its results is the same in every run without caches. Times go back by up to ``late_ms``.
    """

    name: str
    build: Callable[[str], Topology]
    inputs: tuple[str, ...]
    record: Callable[[random.Random, int], tuple[str, str, str | None]]
    key_serde: Serde[Any]
    value_serde: Serde[Any]
    told: Callable[[list[Written]], object]
    late_ms: int = 0
    partitions: int = 2

    def topics(self, name: str) -> list[str]:
        return [f"{name}-{end}" for end in (*self.inputs, "out")]

    def part(self, number: int, size: int) -> list[Sent]:
        """The records of one part of the input; times go on from part to part."""
        chance = random.Random(f"{self.name}-{number}")
        times = range(START_MS + number * size * _STEP_MS, START_MS + (number + 1) * size * _STEP_MS, _STEP_MS)
        return [
            (*self.record(chance, index), time_ms + chance.randrange(-self.late_ms, _STEP_MS))
            for index, time_ms in enumerate(times)
        ]


class Model:
    """The same program in one process, which sees every record once."""

    def __init__(self, program: Program, name: str) -> None:
        self._program, self._name = program, name
        config = {"application.id": name, "default.value.serde": serdes.string(), "statestore.cache.max.bytes": 0}
        self._driver = TopologyTestDriver(program.build(name), config)
        self._inputs = {end: self._driver.create_input_topic(f"{name}-{end}") for end in program.inputs}
        self._out = self._driver.create_output_topic(f"{name}-out", program.key_serde, program.value_serde)
        self.written: list[Written] = []

    def feed(self, records: list[Sent]) -> None:
        for end, key, value, timestamp in records:
            self._inputs[end].pipe_input(key, value, timestamp)
        self.written += [(each.key, each.value, each.timestamp) for each in self._out.read_records_to_list()]

    def close(self) -> None:
        self._driver.close()


def last_values(written: list[Written]) -> dict[Any, Any]:
    """The last value of each key that has one."""
    found = {key: value for key, value, _ in written}
    return {key: value for key, value in found.items() if value is not None}


def all_values(written: list[Written]) -> tuple[dict[Any, list[Any]], dict[Any, int]]:
    """Every value of each key in its order, and the last timestamp."""
    found: dict[Any, list[Any]] = {}
    for key, value, _ in written:
        found.setdefault(key, []).append(value)
    return found, {key: timestamp for key, _, timestamp in written}


def everything(written: list[Written]) -> dict[Any, list[tuple[Any, int]]]:
    """Every value of each key in its order, with its timestamp."""
    found: dict[Any, list[tuple[Any, int]]] = {}
    for key, value, timestamp in written:
        found.setdefault(key, []).append((value, timestamp))
    return found


def _word_count(name: str) -> Topology:
    builder = StreamsBuilder()
    (
        builder.stream(f"{name}-in")
        .flat_map_values(lambda line: line.split(" "))
        .group_by(lambda key, word: word)
        .count("counts")
        .to_stream()
        .to(f"{name}-out", value_serde=serdes.long())
    )
    return builder.build()


def _windowed(builder: StreamsBuilder, name: str) -> KTable[Any, int]:
    windows = TimeWindows(_SIZE, grace=timedelta(seconds=20))
    return builder.stream(f"{name}-in").group_by_key().windowed_by(windows).count()


def _windowed_count(name: str) -> Topology:
    builder = StreamsBuilder()
    _windowed(builder, name).to_stream().to(
        f"{name}-out", key_serde=serdes.windowed(serdes.string(), _SIZE), value_serde=serdes.long()
    )
    return builder.build()


def _suppress(name: str) -> Topology:
    builder = StreamsBuilder()
    closed = Suppressed.until_window_closes()
    _windowed(builder, name).suppress(closed).to_stream().to(
        f"{name}-out", key_serde=serdes.windowed(serdes.string(), _SIZE), value_serde=serdes.long()
    )
    return builder.build()


def _session_count(name: str) -> Topology:
    builder = StreamsBuilder()
    windows = SessionWindows(timedelta(seconds=5), grace=timedelta(seconds=60))
    builder.stream(f"{name}-in").group_by_key().windowed_by(windows).count().to_stream().to(
        f"{name}-out", key_serde=serdes.session_windowed(serdes.string()), value_serde=serdes.long()
    )
    return builder.build()


def _table_join(name: str) -> Topology:
    builder = StreamsBuilder()
    left, right = builder.table(f"{name}-left"), builder.table(f"{name}-right")
    left.join(right, lambda one, other: f"{one}+{other}", store="joined").to_stream().to(f"{name}-out")
    return builder.build()


def _foreign_key_join(name: str) -> Topology:
    builder = StreamsBuilder()
    left, right = builder.table(f"{name}-left"), builder.table(f"{name}-right")
    joined = left.left_join(
        right,
        lambda one, other: f"{one}+{'null' if other is None else other}",
        foreign_key=lambda one: one.split(":")[0],
    )
    joined.to_stream().to(f"{name}-out")
    return builder.build()


def _line(chance: random.Random, index: int) -> tuple[str, str, str | None]:
    return "in", f"k{index % 5}", " ".join(chance.choices(["all", "streams", "lead", "to", "kafka"], k=3))


def _visit(chance: random.Random, index: int) -> tuple[str, str, str | None]:
    return "in", chance.choice("abcdefg"), "visit"


def _row(chance: random.Random, index: int) -> tuple[str, str, str | None]:
    end = chance.choice(["left", "right"])
    return end, f"key-{chance.randrange(8)}", None if chance.random() < 0.15 else f"{end}-{index}"


def _reference(chance: random.Random, index: int) -> tuple[str, str, str | None]:
    end = chance.choice(["left", "left", "right"])
    if end == "right":
        return end, f"r{chance.randrange(4)}", None if chance.random() < 0.15 else f"right-{index}"
    return end, f"l{chance.randrange(6)}", None if chance.random() < 0.15 else f"r{chance.randrange(4)}:{index}"


_WINDOWED, _SESSION = serdes.windowed(serdes.string(), _SIZE), serdes.session_windowed(serdes.string())
_TEXT, _LONG = serdes.string(), serdes.long()

_LATE_MS = 8_000

PROGRAMS = (
    # Words come from two partitions of lines: in which order, is anybody's guess.
    Program("word-count", _word_count, ("in",), _line, _TEXT, _LONG, all_values, _LATE_MS),
    Program("windowed-count", _windowed_count, ("in",), _visit, _WINDOWED, _LONG, everything, _LATE_MS),
    # Its windows close by the time of the task: with one partition that is the time of the model.
    Program("suppress", _suppress, ("in",), _visit, _WINDOWED, _LONG, everything, _LATE_MS, partitions=1),
    Program("session-count", _session_count, ("in",), _visit, _SESSION, _LONG, everything, _LATE_MS),
    Program("table-join", _table_join, ("left", "right"), _row, _TEXT, _TEXT, everything),
    # Its two sides answer each other through topics: what comes between depends on who is quicker.
    Program("foreign-key-join", _foreign_key_join, ("left", "right"), _reference, _TEXT, _TEXT, last_values),
)
