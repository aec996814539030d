"""``python -m bench.kafka``: Kafka to Kafka, Headrace (``local[2]``) beside Kafka Streams (two threads), on one broker.

A rate is that of the input's records from the start of an application to the commit of its last input offset, which is
looked for from outside, in the same way for everybody. An application starts in a process that is up: how long that
takes is told apart. Every output is read and compared with what it has to be; a row with another one is invalid.
"""

from __future__ import annotations

import argparse
import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeAlias

from rich.console import Console
from rich.table import Table

from bench.kafka import inputs, sides
from bench.kafka.inputs import Input, Row
from bench.kafka.latency import Stream, Waits
from bench.kafka.sides import Order, Running
from bench.kafka.topics import Topics
from headrace.kafka_server import KafkaServer, Node, free_port

GUARANTEES = ("exactly_once_v2", "at_least_once")
LATENCY, QUIX = "latency", "quix"
RATES = (1_000, 10_000)
_QUIX_PART = 50
"""Quix Streams counts the words of a fiftieth of the lines."""
_LOOK_SECONDS = 0.02
_RUN_SECONDS = 300.0

Side: TypeAlias = Callable[[Order], list[str]]
_JAVA, _OURS, _QUIX = "Kafka Streams", "Headrace", "Quix Streams"
_SIDES: dict[str, Side] = {_JAVA: sides.kafka_streams, _OURS: sides.headrace, _QUIX: sides.quix_streams}


@dataclass(frozen=True)
class Run:
    """One side of one row."""

    seconds: float
    start_seconds: float
    rate: float
    is_right: bool

    def __str__(self) -> str:
        return f"{self.rate:,.0f}" + ("" if self.is_right else " INVALID")


@dataclass
class Bench:
    """One broker and what is in it."""

    topics: Topics
    directory: Path
    chosen: list[str]
    sides: list[str]
    latency_seconds: float
    spent: dict[str, float] = field(default_factory=dict)
    starts: dict[str, list[float]] = field(default_factory=dict)
    _filled: set[str] = field(default_factory=set)
    _number: int = 0

    def fill(self, input: Input) -> None:
        """Its topic, once."""
        if input.name not in self._filled:
            with self.part(f"filling {input.name}"):
                self.topics.fill(input.name, input)
            self._filled.add(input.name)

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """Something whose time is told at the end."""
        began = time.monotonic()
        yield
        self.spent[name] = self.spent.get(name, 0.0) + time.monotonic() - began

    @contextmanager
    def started(self, side: str, guarantee: str, row: Row, processed: int | None) -> Iterator[tuple[Running, Order]]:
        """A process that runs a row; its topics and its state are gone afterwards."""
        self._number += 1
        application = f"bench-{self._number}"
        place = self.directory / application
        place.mkdir()
        table = None if row.table is None else row.table.name
        order = Order(
            application,
            self.topics.address,
            str(place),
            guarantee,
            row.program,
            row.input.name,
            f"{application}-out",
            table,
            processed,
        )
        self.topics.create(order.output)
        try:
            with Running(_SIDES[side](order), place.with_suffix(".log")) as running:
                self.starts.setdefault(side, []).append(running.start_seconds)
                yield running, order
        finally:
            self.topics.delete_those_of(application)
            shutil.rmtree(place, ignore_errors=True)

    def run(self, side: str, guarantee: str, row: Row) -> Run:
        """One side of one row."""
        for input in row.inputs:
            self.fill(input)
        # It commits every half minute otherwise, which is no time to measure by.
        processed = row.processed if side == _JAVA and guarantee == "at_least_once" else None
        with self.part(side), self.started(side, guarantee, row, processed) as (running, order):
            ended = self._wait(running, order, [input.name for input in row.inputs])
            seconds = ended - running.started
            with self.part("checking"):
                expected = row.expected()
                is_right = self.topics.found(order.output, expected) == expected
        run = Run(seconds, running.start_seconds, row.input.count / seconds, is_right)
        print(f"{guarantee}  {row.name}  {side}: {run} records/s, {seconds:.2f} s", flush=True)
        return run

    def _wait(self, running: Running, order: Order, read: list[str]) -> float:
        """When the last offset was committed: twice found, because several questions are no snapshot."""
        deadline, found = time.monotonic() + _RUN_SECONDS, None
        in_transactions = order.guarantee == GUARANTEES[0]
        while True:
            now = time.time()
            running.check()
            if not self.topics.is_done(order.application, read, in_transactions=in_transactions):
                found = None
            elif found is not None:
                return found
            else:
                found = now
            if time.monotonic() > deadline:
                message = f"{order.application} ({order.program}) is not done within {_RUN_SECONDS:g} s"
                raise RuntimeError(message)
            time.sleep(_LOOK_SECONDS)


def throughput(bench: Bench, rows: dict[str, Row], guarantee: str) -> Table:
    """All rows under one guarantee."""
    table = Table("records/s", _JAVA, _OURS, "ratio", "aim", title=f"Kafka to Kafka, {guarantee}")
    for name, row in rows.items():
        if name not in bench.chosen:
            continue
        aim = f"{row.aim:g}×" if guarantee == GUARANTEES[0] else ""
        table.add_row(row.name, *_compared(bench, guarantee, row, _JAVA), aim)
    if QUIX in bench.chosen:
        table.add_row(*_quix(bench, rows["words"], guarantee))
    return table


def _compared(bench: Bench, guarantee: str, row: Row, peer: str) -> tuple[str, str, str]:
    """The peer, we, and how many times as fast we are."""
    runs = {side: bench.run(side, guarantee, row) for side in (peer, _OURS) if side in bench.sides}
    ratio = f"{runs[_OURS].rate / runs[peer].rate:.2f}×" if len(runs) == 2 else ""
    return str(runs.get(peer, "")), str(runs.get(_OURS, "")), ratio


def _quix(bench: Bench, words: Row, guarantee: str) -> list[str]:
    """A part of word count on Quix Streams, and on Headrace to compare."""
    text = replace(words.input, name="some-lines", count=max(1000, words.input.count // _QUIX_PART))
    part = replace(words, input=text, expected=lambda: inputs.words_in(text), name=f"word count, {text.count:,} lines")
    theirs, ours, ratio = _compared(bench, guarantee, part, _QUIX)
    return [part.name, f"{_QUIX}: {theirs}", ours, ratio, ""]


def latency(bench: Bench, guarantee: str) -> Table:
    """One level, at several rates."""
    table = Table("records/s", "", "p50", "p99", "of", title=f"from record to result, one level, {guarantee}")
    for side in (side for side in (_JAVA, _OURS) if side in bench.sides):
        for waits in _waits(bench, side, guarantee):
            seconds = [f"{waits.p50:.3f} s", f"{waits.p99:.3f} s"]
            complete = "" if waits.sent == waits.received else " INVALID"
            print(f"{guarantee}  latency at {waits.rate:,}/s  {side}: p50 {seconds[0]}, p99 {seconds[1]}", flush=True)
            table.add_row(f"{waits.rate:,}", side, *seconds, f"{waits.received:,} of {waits.sent:,}{complete}")
    return table


def _waits(bench: Bench, side: str, guarantee: str) -> list[Waits]:
    source = Input(f"latency-{len(bench.spent)}-{guarantee}", inputs.lines, 0)
    row = Row("latency", "pass", source, 0, dict)
    bench.topics.create(source.name)
    with bench.part("latency"), bench.started(side, guarantee, row, None) as (running, order):
        stream = Stream(bench.topics.address, source.name, order.output)
        try:
            stream.wait_for_the_first(running)
            return [stream.measure(rate, bench.latency_seconds) for rate in RATES]
        finally:
            stream.close()


@contextmanager
def broker(directory: Path) -> Iterator[str]:
    """A broker of the benchmark's own, or the address that was given."""
    server = KafkaServer(directory / "broker", Node(1, free_port(), free_port()), heap="1g")
    try:
        server.start(print)
        yield server.address
    finally:
        server.stop()


def _end(number: int, _: object) -> None:
    """Whoever ends the benchmark ends what it started, too."""
    raise SystemExit(128 + number)


def main() -> None:
    """Measure what was asked for."""
    names = [*inputs.rows(1.0), QUIX, LATENCY]
    parser = argparse.ArgumentParser(prog="python -m bench.kafka", description=__doc__)
    parser.add_argument("--only", action="append", choices=names, help="a row; may be given several times")
    parser.add_argument("--scale", type=float, default=1.0, help="0.1 for a quick look")
    parser.add_argument("--guarantee", action="append", choices=GUARANTEES, help="both unless told")
    parser.add_argument("--side", action="append", choices=[*_SIDES], help="all unless told")
    parser.add_argument("--latency-seconds", type=float, default=12.0, help="how long each rate is held")
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, _end)
    began = time.monotonic()
    tables = []
    with tempfile.TemporaryDirectory() as directory, broker(Path(directory)) as address:
        bench = Bench(
            Topics(address),
            Path(directory),
            arguments.only or names,
            arguments.side or [*_SIDES],
            arguments.latency_seconds,
        )
        rows = inputs.rows(arguments.scale)
        for guarantee in arguments.guarantee or GUARANTEES:
            tables.append(throughput(bench, rows, guarantee))
            if LATENCY in bench.chosen:
                tables.append(latency(bench, guarantee))
    console = Console(width=120)
    for table in tables:
        console.print(table)
    for side, seconds in bench.starts.items():
        console.print(f"a process of {side} is up after {sorted(seconds)[len(seconds) // 2]:.1f} s, not counted above")
    told = ", ".join(f"{name} {seconds:.0f} s" for name, seconds in bench.spent.items())
    console.print(f"{time.monotonic() - began:.0f} s in all: {told}")


if __name__ == "__main__":
    main()
