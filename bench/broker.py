"""``python -m bench.broker``: how fast the embedded broker appends and reads, and how long its answers take.

Records have keys of 8 and values of about 100 bytes. One process does it all, on the file system of ``--directory``.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from headrace.broker.embedded import EmbeddedBroker
from headrace.broker.port import Decision, NewRecord, OffsetAndMetadata
from headrace.records import Headers

PARTITIONS = 4


@dataclass(frozen=True)
class Figure:
    """One line of the table."""

    what: str
    number: float
    unit: str


def records(count: int, headers: Headers = Headers()) -> Iterator[NewRecord]:  # noqa: B008
    """Records over 5,000 keys."""
    for number in range(count):
        yield NewRecord("t", b"key-%04d" % (number % 5000), b"value %90d" % number, number, headers)


def seconds(work: Callable[[], object]) -> float:
    """How long it takes, by the clock on the wall: waiting for the disk counts."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def read_all(broker: EmbeddedBroker) -> int:
    """Read every record of the topic; how many there are."""
    ends = broker.end_offsets([("t", partition) for partition in range(PARTITIONS)])
    return sum(len(chunk) for (topic, partition), _ in ends.items() for chunk in broker.read(topic, partition, 0))


def bulk(broker: EmbeddedBroker, count: int) -> Iterator[Figure]:
    """One large append, read back."""
    given = list(records(count))
    taken = seconds(lambda: broker.append(given))
    size = broker.describe_topic("t").size or 0
    yield Figure("append, one call", count / taken, "records/s")
    yield Figure("append, one call", size / taken / 1e6, "MB/s")
    yield Figure("read, checksums verified", count / seconds(lambda: read_all(broker)), "records/s")
    taken = seconds(lambda: read_all(broker))
    yield Figure("read again", count / taken, "records/s")
    yield Figure("read again", size / taken / 1e6, "MB/s")


def small(broker: EmbeddedBroker, rounds: int) -> Iterator[Figure]:
    """Appends and commits of few records."""
    one = list(records(1))
    times = [seconds(lambda: broker.append(one)) for _ in range(rounds)]
    yield Figure("append of 1 record, median", statistics.median(times) * 1e3, "ms")
    yield Figure("append of 1 record, p99", statistics.quantiles(times, n=100)[98] * 1e3, "ms")
    with broker.acquire_lease("bench") as lease:
        times = [seconds(lambda number=number: commit(broker, lease.epoch, number, 100)) for number in range(rounds)]  # type: ignore[misc]
    yield Figure(
        f"stage and commit 100 records in {PARTITIONS} partitions, median", statistics.median(times) * 1e3, "ms"
    )


def commit(broker: EmbeddedBroker, epoch: int, batch_id: int, count: int) -> None:
    """What an engine does per batch."""
    with broker.stage("bench", epoch, batch_id, "0") as stage:
        for number in range(count):
            stage.append("t", number % PARTITIONS, number, b"key-%04d" % number, b"value")
        staged = stage.finish()
    broker.decide(Decision("bench", epoch, batch_id, [staged], {("t", 0): OffsetAndMetadata(batch_id)}))


def staging(broker: EmbeddedBroker, count: int) -> Iterator[Figure]:
    """A large batch of an engine."""
    with broker.acquire_lease("large") as lease, broker.stage("large", lease.epoch, 0, "0") as stage:
        given = list(records(count))

        def write() -> None:
            for number, record in enumerate(given):
                stage.append("t", number % PARTITIONS, number, record.key, record.value)

        taken = seconds(write)
        staged: list[bytes] = []
        taken += seconds(lambda: staged.append(stage.finish()))
        yield Figure("stage", count / taken, "records/s")
        yield Figure("commit of it", seconds(lambda: broker.decide(Decision("large", 1, 0, staged))) * 1e3, "ms")


def answers(broker: EmbeddedBroker, rounds: int) -> Iterator[Figure]:
    """How long it takes to learn the offsets."""
    partitions = [("t", partition) for partition in range(PARTITIONS)]
    times = [seconds(lambda: broker.end_offsets(partitions)) for _ in range(rounds)]
    yield Figure(f"end_offsets of {PARTITIONS} partitions, median", statistics.median(times) * 1e3, "ms")
    yield Figure(f"end_offsets of {PARTITIONS} partitions, p99", statistics.quantiles(times, n=100)[98] * 1e3, "ms")
    yield Figure(
        "open the broker", statistics.median(seconds(lambda: opened(broker.directory)) for _ in range(20)) * 1e3, "ms"
    )


def opened(directory: Path) -> None:
    """Open and close another broker on the same directory."""
    EmbeddedBroker(directory).close()


def compacting(broker: EmbeddedBroker, count: int) -> Iterator[Figure]:
    """Compaction of everything into the last record of each key."""
    broker.alter_topic("t", config={"cleanup.policy": "compact"})
    yield Figure("compaction", count / seconds(lambda: broker.compact("t", force=True)), "records/s")


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(prog="python -m bench.broker", description=__doc__)
    parser.add_argument("--records", type=int, default=500_000)
    parser.add_argument("--rounds", type=int, default=500)
    parser.add_argument("--fsync", choices=["always", "never"], default="always")
    parser.add_argument("--directory", default=None)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(dir=arguments.directory) as directory,
        EmbeddedBroker(Path(directory) / "data", fsync=arguments.fsync == "always") as broker,
    ):
        broker.create_topic("t", PARTITIONS, {"retention.ms": -1})
        figures = [
            *bulk(broker, arguments.records),
            *small(broker, arguments.rounds),
            *staging(broker, arguments.records),
            *answers(broker, arguments.rounds),
            *compacting(broker, 2 * arguments.records + arguments.rounds * 101),
        ]
    if arguments.json:
        print(json.dumps([vars(figure) for figure in figures]))
        return
    table = Table("what", "figure", "", title=f"embedded broker, fsync {arguments.fsync}")
    for figure in figures:
        shown = f"{figure.number:,.0f}" if figure.number >= 100 else f"{figure.number:.3g}"
        table.add_row(figure.what, shown, figure.unit)
    Console().print(table)


if __name__ == "__main__":
    main()
