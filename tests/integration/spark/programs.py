"""Programs that only the tests on Spark run. The workers import this module."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from headrace import (
    Processor,
    ProcessorContext,
    PunctuationType,
    Record,
    StreamsBuilder,
    Suppressed,
    TimeWindows,
    Topology,
    failpoints,
    serdes,
    stores,
)


def closed_windows() -> Topology:
    """Clicks per key and window, told once the window is closed."""
    builder = StreamsBuilder()
    counts = (
        builder.stream("clicks")
        .group_by_key(key_serde=serdes.string())
        .windowed_by(TimeWindows(10, grace=0))
        .count("per-window")
    )
    closed = counts.suppress(Suppressed.until_window_closes())
    closed.to_stream(lambda window, count: f"{window.key}@{window.start}").to("closed", value_serde=serdes.long())
    return builder.build()


def named_orders() -> Topology:
    """A stream joined with a table."""
    builder = StreamsBuilder()
    names = builder.table("names", store="names")
    builder.stream("orders").join(names, lambda order, name: f"{order} for {name}").to("named")
    return builder.build()


def counts_in(store: Any) -> Topology:
    """Records per key, in a store of any kind."""
    builder = StreamsBuilder()
    counts = builder.stream("in").group_by_key().count(store, caching=False)
    counts.to_stream().to("out", value_serde=serdes.long())
    return builder.build()


def rekeyed() -> Topology:
    """Records with another key, through a shuffle."""
    builder = StreamsBuilder()
    builder.stream("in").select_key(lambda key, value: value).repartition(partitions=3, name="by-value").to("out")
    return builder.build()


def shares(least: int) -> Topology:
    """How many numbers have which share in 12. No number is taken to be below ``least``: 0 has no share."""
    builder = StreamsBuilder()
    found = builder.stream("numbers").map_values(lambda text: str(12 // max(least, int(text))), name="divide")
    counts = found.group_by(lambda key, share: share, name="by-share").count("shares")
    counts.to_stream().to("shares", value_serde=serdes.long())
    return builder.build()


class Beats(Processor):
    """Counts how often the clock on the wall called."""

    def init(self, context: ProcessorContext) -> None:
        self.context, self.beats = context, context.store("beats")
        context.schedule(20, PunctuationType.WALL_CLOCK_TIME, self.beat)

    def beat(self, now_ms: int) -> None:
        count = (self.beats.get("all") or 0) + 1
        self.beats.put("all", count)
        self.context.forward(Record("beat", str(count), now_ms))

    def process(self, record: Record[Any, Any]) -> None:
        self.context.forward(record)


def heart() -> Topology:
    """A processor that works without any input."""
    beats = stores.key_value(stores.persistent("beats"), key_serde=serdes.string(), value_serde=serdes.long())
    return (
        Topology()
        .add_source("in", ["in"])
        .add_processor("heart", Beats, parents="in")
        .add_state_store(beats, processors="heart")
        .add_sink("out", "out", parents="heart")
    )


def tally(step: Callable[[Any, Any], None]) -> Topology:
    """The application of ``tests.faults.scene``, with a step of a test's own in both of its sub-topologies."""
    builder = StreamsBuilder()
    events = builder.stream("events").peek(step)
    events.to("echo")
    totals = events.group_by(lambda key, value: value.split(":")[2]).count("totals")
    totals.to_stream().peek(step).to("counts", value_serde=serdes.long())
    return builder.build()


class Saboteur:
    """Kills the first worker that comes to a place for which there is a file ``PLACE.armed``; see ``arm``."""

    def __init__(self, directory: Path, driver: int) -> None:
        self._directory = directory
        self._driver = driver
        if os.getpid() != driver:
            failpoints.on_reached = self._reached

    def __reduce__(self) -> tuple[object, ...]:
        return Saboteur, (self._directory, self._driver)

    def __call__(self, key: Any, value: Any) -> None:
        """A step that lets everything pass: so it gets into a topology, and with that to the workers."""

    def _reached(self, name: str) -> None:
        try:
            (self._directory / f"{name}.armed").rename(self._directory / f"{name}.done")
        except FileNotFoundError:
            return
        os.kill(os.getpid(), signal.SIGKILL)


def sabotaged(directory: Path) -> Topology:
    """The scene's application with a saboteur in it."""
    return tally(Saboteur(directory, os.getpid()))


class Waiter:
    """The first worker that gets here tells its process id, and waits to be killed."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def __call__(self, key: Any, value: Any) -> None:
        try:
            draft = self._directory / f"draft-{os.getpid()}"
            draft.write_text(str(os.getpid()))
            os.link(draft, self._directory / "waiting")
        except FileExistsError:
            return
        time.sleep(60)


def waiting(directory: Path) -> Topology:
    """The scene's application; its first record waits."""
    return tally(Waiter(directory))
