"""The application that the faults are thrown at, its input, its model, and ways to run it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from headrace import StreamsBuilder, Topology, serdes
from headrace.batch.local import LocalEngine
from headrace.broker.embedded import EmbeddedBroker
from headrace.broker.port import NewRecord
from headrace.clock import Clock
from tests.faults.verdict import Model, Pair, check

IS_LONG = os.environ.get("HEADRACE_FAULTS") == "long"
WORDS = 7
KEYS = 5
POISON = "poison"
"""The word of events that cannot be processed: they become dead letters."""
START_MS = 4_000_000_000_000
"""The time of the first event; retention must not take it away, whenever the tests run."""
APPLICATION = "tally"
CHANGELOG = "tally-totals-changelog"
LETTERS = "letters"


def topology() -> Topology:
    """Every event that can be read goes through, and its word is counted: two sub-topologies, a store, a changelog."""
    builder = StreamsBuilder()
    events = builder.stream("events").map_values(_checked)
    events.to("echo")
    totals = events.group_by(lambda key, value: value.split(":")[2]).count("totals")
    totals.to_stream().to("counts", value_serde=serdes.long())
    return builder.build()


def _checked(value: str) -> str:
    if value.split(":")[2] == POISON:
        raise ValueError(POISON)
    return value


def events(count: int, *, first: int = 0, padding: int = 0, poison_each: int | None = None) -> list[NewRecord]:
    """Events with a number of their own, the number of their key, and a word."""
    return [
        NewRecord(
            "events",
            f"k{number % KEYS}".encode(),
            f"{number}:{number // KEYS}:{_word(number, poison_each)}:{'x' * padding}".encode(),
            START_MS + number,
        )
        for number in range(first, first + count)
    ]


def _word(number: int, poison_each: int | None) -> str:
    return f"w{number % WORDS}" if poison_each is None or number % poison_each else POISON


def model_of(records: Iterable[NewRecord]) -> Model:
    """Fold the input."""
    echo: list[Pair] = []
    counts: list[Pair] = []
    letters: list[Pair] = []
    totals: Counter[bytes] = Counter()
    for record in records:
        assert record.value is not None
        word = record.value.split(b":")[2]
        if word == POISON.encode():
            letters.append((record.key, record.value))
            continue
        totals[word] += 1
        echo.append((record.key, record.value))
        counts.append((word, totals[word].to_bytes(8, "big")))
    content = {word: count.to_bytes(8, "big") for word, count in totals.items()}
    return Model(
        {"events": len(echo) + len(letters)},
        {"echo": echo, "counts": counts, **({LETTERS: letters} if letters else {})},
        {"totals": content},
        processed=len(echo),
        one_for_each="echo",
        dead_letters=len(letters),
        dead_letter_topic=LETTERS if letters else None,
    )


class Scene:
    """A directory with a broker and the state of the application. Of its events, each ``poison_each``-th is poison."""

    def __init__(self, directory: Path, *, poison_each: int | None = None) -> None:
        self.directory = directory
        self._poison_each = poison_each
        self.broker_dir = directory / "broker"
        self.state_dir = directory / "state"
        self.sent: list[NewRecord] = []

    def broker(self, clock: Clock | None = None) -> EmbeddedBroker:
        """The broker, opened anew."""
        return EmbeddedBroker(self.broker_dir, fsync=False, clock=clock)

    def settings(self, **more: Any) -> dict[str, Any]:
        """What the application is run with: no caching, so that every count is seen."""
        return {
            "application.id": APPLICATION,
            "state.dir": str(self.state_dir),
            "statestore.cache.max.bytes": 0,
            "processing.exception.handler": "log_and_continue",
            "errors.dead.letter.queue.topic.name": LETTERS,
            **more,
        }

    def send(self, count: int, *, padding: int = 0, partitions: int = 2) -> None:
        """Append the next events."""
        with closing(self.broker()) as broker:
            if "events" not in broker.topics():
                broker.create_topic("events", partitions)
            records = events(count, first=len(self.sent), padding=padding, poison_each=self._poison_each)
            broker.append(records)
        self.sent += records

    def run(self, more: Mapping[str, Any] | None = None, *, clock: Clock | None = None) -> int:
        """Run the application here until nothing is due; the number of batches."""
        with (
            closing(self.broker(clock)) as broker,
            LocalEngine(topology(), self.settings(**more or {}), broker) as engine,
        ):
            return engine.run_until_idle()

    def spawn(self, environment: Mapping[str, str] | None = None, *arguments: str) -> subprocess.Popen[str]:
        """Run the application in a process of its own."""
        command = [sys.executable, "-m", "tests.faults.worker", str(self.directory), *arguments]
        return subprocess.Popen(
            command,
            env={**os.environ, **(environment or {})},
            cwd=Path(__file__).parents[2],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run_worker(self, environment: Mapping[str, str] | None = None, *arguments: str) -> tuple[int, str]:
        """The same, to its end: its exit code and what it said."""
        process = self.spawn(environment, *arguments)
        _, said = process.communicate(timeout=120)
        return process.returncode, said

    def copy(self, directory: Path) -> Scene:
        """The same scene elsewhere, to damage it."""
        shutil.copytree(self.directory, directory)
        scene = Scene(directory)
        scene.sent = list(self.sent)
        return scene

    def check(self) -> None:
        """Hold everything against the model."""
        check(self.broker_dir, APPLICATION, model_of(self.sent), state_dir=self.state_dir)
