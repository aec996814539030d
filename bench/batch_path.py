"""``python -m bench.batch_path``: records per second through the batch engine, embedded broker and all, on one core.

Word count reads lines of five words over 5,000 words; count per key reads 200,000 records over 50,000 keys. Each is one
batch. With ``--lines`` and ``--profile`` a run can be made smaller, or looked into.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import random
import resource
import tempfile
import time
from collections.abc import Iterable
from itertools import islice
from pathlib import Path

from headrace import StreamsBuilder, Topology, serdes
from headrace.batch.local import LocalEngine
from headrace.broker.embedded import EmbeddedBroker
from headrace.broker.port import Broker, NewRecord

_LINES, _WORDS, _WORDS_PER_LINE = 1_000_000, 5_000, 5
_RECORDS, _KEYS = 200_000, 50_000
_PARTITIONS = 4
_APPENDED_AT_ONCE = 100_000


def word_count() -> Topology:
    """Lines in, counts per word out."""
    builder = StreamsBuilder()
    words = builder.stream("lines").flat_map_values(lambda line: line.split())
    words.group_by(lambda _, word: word).count(store="counts").to_stream().to("out", value_serde=serdes.long())
    return builder.build()


def count_per_key() -> Topology:
    """Records in, counts per key out; no repartition."""
    builder = StreamsBuilder()
    counts = builder.stream("rows").group_by_key().count(store="counts")
    counts.to_stream().to("out", value_serde=serdes.long())
    return builder.build()


def fill_lines(broker: Broker, count: int) -> None:
    """Lines of five words over all partitions, a millisecond apart."""
    chance = random.Random(1)
    words = [f"word{number}" for number in range(_WORDS)]
    lines = (" ".join(chance.choices(words, k=_WORDS_PER_LINE)).encode() for _ in range(count))
    _fill(broker, "lines", ((None, line) for line in lines))


def fill_rows(broker: Broker, count: int) -> None:
    """Short values over many keys."""
    chance = random.Random(2)
    _fill(broker, "rows", ((b"key-%d" % chance.randrange(_KEYS), b"some value") for _ in range(count)))


def _fill(broker: Broker, topic: str, entries: Iterable[tuple[bytes | None, bytes]]) -> None:
    broker.create_topic(topic, _PARTITIONS)
    records = (
        NewRecord(topic, key, value, 1_000_000 + number, partition=number % _PARTITIONS if key is None else None)
        for number, (key, value) in enumerate(entries)
    )
    while some := list(islice(records, _APPENDED_AT_ONCE)):
        broker.append(some)


def run(name: str, topology: Topology, broker: Broker, directory: Path, count: int, *, profile: bool) -> None:
    """One batch, timed."""
    settings = {"application.id": f"bench-{name}", "state.dir": str(directory / name)}
    profiler = cProfile.Profile() if profile else None
    with LocalEngine(topology, settings, broker) as engine:
        wall, cpu = time.perf_counter(), time.process_time()
        if profiler is not None:
            profiler.enable()
        engine.run_until_idle()
        if profiler is not None:
            profiler.disable()
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{name:14} {count:>10,} records {wall:8.2f} s wall {cpu:8.2f} s cpu {count / cpu:>12,.0f} records/s "
        f"{peak:8,.0f} MB"
    )
    if profiler is not None:
        pstats.Stats(profiler).sort_stats("tottime").print_stats(35)


def main() -> None:
    """Both programs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", type=int, default=_LINES)
    parser.add_argument("--rows", type=int, default=_RECORDS)
    parser.add_argument("--profile", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        with EmbeddedBroker(directory / "broker", fsync=False) as broker:
            fill_lines(broker, arguments.lines)
            fill_rows(broker, arguments.rows)
            run("word-count", word_count(), broker, directory, arguments.lines, profile=arguments.profile)
            run("count-per-key", count_per_key(), broker, directory, arguments.rows, profile=arguments.profile)


if __name__ == "__main__":
    main()
