"""An application on Kafka, its input, what must come of it, and ways to run it: here, or in a process to be killed.

``python -m tests.kafka.tally ADDRESS NAME DIRECTORY [batch=RECORDS] [hosts=1] [inline=BYTES] [timeout=MS]`` runs it
until nothing is due. With ``hosts`` its tasks have brokers of their own, as in the hosts of Spark: what they write is
staged where others can read it, and published after the decision.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from headrace import StreamsBuilder, Topology, serdes
from headrace.batch.local import LocalEngine
from headrace.batch.visiting import OpenTasks
from headrace.broker import BrokerConfig, open_broker
from headrace.broker.kafka import staging
from headrace.broker.port import Broker, NewRecord
from headrace.errors import HeadraceError

WORDS, KEYS = 7, 5


def topology(name: str) -> Topology:
    """Every event goes through, and its word is counted: two sub-topologies, a store, a changelog."""
    builder = StreamsBuilder()
    events = builder.stream(f"{name}-events")
    events.to(f"{name}-echo")
    totals = events.group_by(lambda key, value: value.split(":")[1]).count("totals")
    totals.to_stream().to(f"{name}-counts", value_serde=serdes.long())
    return builder.build()


class Tally:
    """The application ``name`` on the broker at ``address``, with its state below ``directory``."""

    def __init__(self, address: str, name: str, directory: Path, guarantee: str = "exactly_once_v2") -> None:
        self.address, self.name, self.directory, self.guarantee = address, name, directory, guarantee
        self.timeout_ms = 60_000
        self.sent = 0

    def config(self) -> BrokerConfig:
        settings = {
            "state.dir": str(self.directory / "state"),
            "processing.guarantee": self.guarantee,
            "admin.default.api.timeout.ms": self.timeout_ms,
        }
        return BrokerConfig(self.address, settings)

    def settings(self, **more: Any) -> dict[str, Any]:
        """No caching, so that every count is seen."""
        return {
            "application.id": self.name,
            "state.dir": str(self.directory / "state"),
            "statestore.cache.max.bytes": 0,
            "processing.guarantee": self.guarantee,
            **more,
        }

    def broker(self) -> Broker:
        return open_broker(self.config())

    def send(self, count: int) -> None:
        """Append the next events."""
        with closing(self.broker()) as broker:
            there = broker.topics()
            for topic in ("events", "echo", "counts"):
                if f"{self.name}-{topic}" not in there:
                    broker.create_topic(f"{self.name}-{topic}", 2)
            broker.append(
                NewRecord(
                    f"{self.name}-events",
                    f"k{number % KEYS}".encode(),
                    f"{number}:w{number % WORDS}".encode(),
                )
                for number in range(self.sent, self.sent + count)
            )
        self.sent += count

    def run(self, *, batch: int = 50, hosts: int = 0) -> int:
        """Run it here until nothing is due; the number of batches."""
        with ExitStack() as ending:
            broker = ending.enter_context(closing(self.broker()))
            settings = self.settings(**{"max.records.per.batch": batch})
            engine = ending.enter_context(LocalEngine(topology(self.name), settings, broker))
            if hosts:
                host = ending.enter_context(closing(open_broker(replace(self.config(), publisher=1))))
                engine.tasks = OpenTasks(engine.application, host)
            return engine.run_until_idle()

    def spawn(self, environment: Mapping[str, str] | None = None, *options: str) -> subprocess.Popen[str]:
        """Run it in a process of its own."""
        command = [sys.executable, "-m", "tests.kafka.tally", self.address, self.name, str(self.directory), *options]
        return subprocess.Popen(
            command,
            env={**os.environ, **(environment or {})},
            cwd=Path(__file__).parents[2],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def check(self) -> None:
        """What a reader sees that reads only what is committed: each event once, each count once and in order."""
        with closing(self.broker()) as broker:
            echo = self._read(broker, "echo")
            assert Counter(value for _, value in echo) == Counter(
                f"{number}:w{number % WORDS}".encode() for number in range(self.sent)
            )
            _check_order([(key, int(value.split(b":")[0])) for key, value in echo])
            counts: Counter[bytes] = Counter()
            for key, value in self._read(broker, "counts"):
                counts[key] += 1
                assert int.from_bytes(value, "big") == counts[key], (key, value)
            assert counts.total() == self.sent
            assert sum(broker.lag(self.name).values()) == 0
            self._check_changelog(broker, counts)

    def _check_changelog(self, broker: Broker, counts: Mapping[bytes, int]) -> None:
        found = dict(self._read(broker, f"{self.name}-totals-changelog", is_whole=True))
        assert {key: int.from_bytes(value, "big") for key, value in found.items()} == counts

    def _read(self, broker: Broker, topic: str, *, is_whole: bool = False) -> list[tuple[bytes, bytes]]:
        name = topic if is_whole else f"{self.name}-{topic}"
        return [
            (record[4] or b"", record[5] or b"")
            for number in range(broker.topics()[name])
            for records in broker.read(name, number, 0)
            for record in records
        ]


def _check_order(numbers: list[tuple[bytes, int]]) -> None:
    last: dict[bytes, int] = {}
    for key, number in numbers:
        assert last.get(key, -1) < number, f"{key!r} has {number} after {last[key]}"
        last[key] = number


def main(address: str, name: str, directory: str, *options: str) -> None:
    given = dict(option.split("=", 1) for option in options)
    staging.INLINE_BYTES = int(given.get("inline", staging.INLINE_BYTES))
    tally = Tally(address, name, Path(directory), given.get("guarantee", "exactly_once_v2"))
    tally.timeout_ms = int(given.get("timeout", tally.timeout_ms))
    tally.run(batch=int(given.get("batch", "50")), hosts=int(given.get("hosts", "0")))


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except HeadraceError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        sys.exit(1)
