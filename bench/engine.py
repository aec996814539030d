"""``python -m bench.engine``: the engine on Spark, beside Spark's own operators in the same session.

(a) word count against ``groupBy().count()``; (b) a count per key against ``transformWithStateInPandas``; (c) the time
of an empty batch with one and with two levels; (d) the restore of a store; (e) what more records and more keys cost;
(f) small batches over many partitions, and the memory of hosts; (g) from a record to its result.
"""

from __future__ import annotations

import argparse
import random
import shutil
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from rich.console import Console
from rich.table import Table

from bench import peers
from bench.batch_path import count_per_key, word_count
from bench.latency import Reader, producing
from bench.memory import PeakMemory, host_processes, resident_megabytes
from headrace import Processor, PunctuationType, StreamsBuilder, TimeWindows, Topology
from headrace.batch.local import LocalEngine
from headrace.batch.reports import BatchReport
from headrace.broker import open_broker
from headrace.broker.port import Broker, NewRecord
from headrace.config import StreamsConfig
from headrace.records import Record
from headrace.spark.engine import SparkEngine
from headrace.spark.job import SQL
from headrace.spark.parcel_rows import SCHEMA, TARGET
from headrace.spark.session import open_session

PARTITIONS = 4
WORDS, WORDS_PER_LINE = 5_000, 5
Row = tuple["bytes | None", bytes]


class Bench:
    """One session, one directory, one table."""

    def __init__(self, directory: Path, scale: float) -> None:
        self.directory = directory
        self.scale = scale
        self.session = _session()
        self.table = Table("what", "ours", "peer", "ratio", "remark", title="the engine on Spark, local[2]")
        self._scenes = 0

    def tell(self, what: str, ours: str, peer: str = "", ratio: str = "", *, remark: str) -> None:
        """One row of the table. A whole run takes a quarter of an hour: each row is shown as it comes, too."""
        print(what, ours, peer, ratio, remark, flush=True)
        self.table.add_row(what, ours, peer, ratio, remark)

    def start_over(self, **settings: str) -> None:
        """Go on with a new session."""
        self.session.stop()
        self.session = _session(**settings)

    def size(self, count: int) -> int:
        """A number of records or keys, made smaller for a quick look."""
        return max(1000, int(count * self.scale))

    def scene(self) -> Path:
        """A new directory."""
        self._scenes += 1
        path = self.directory / str(self._scenes)
        path.mkdir()
        return path

    def settings(self, scene: Path) -> dict[str, Any]:
        """Those of an application in ``scene``."""
        return {"application.id": "bench", "state.dir": str(scene / "state"), "poll.ms": 10}

    @contextmanager
    def engine(self, topology: Topology, broker: Broker, scene: Path, reports: list[BatchReport]) -> Iterator[Any]:
        """An engine in the session."""
        with SparkEngine(
            topology, self.settings(scene), broker, session=self.session, on_batch=reports.append
        ) as engine:
            yield engine

    def seconds(self, topology: Topology, broker: Broker, scene: Path) -> float:
        """From the start of the query to the commit of the last record."""
        reports: list[BatchReport] = []
        with self.engine(topology, broker, scene, reports) as engine:
            start = time.perf_counter()
            engine.run_until_idle()
            return time.perf_counter() - start

    def against(self, what: str, topology: Topology, topic: str, rows: list[Row], peer: Any, remark: str) -> None:
        """Both sides on the same rows, in the same session; the first run of each warms it up."""
        for count in (len(rows) // 50, len(rows)):
            scene = self.scene()
            broker = fill(scene, topic, rows[:count])
            peers.write_rows(rows[:count], scene / "rows", PARTITIONS)
            ours = self.seconds(topology, broker, scene)
            theirs = peer(self.session, scene / "rows", scene)
        rate = f"{len(rows) / ours:,.0f} records/s; {remark}"
        self.tell(what, f"{ours:.2f} s", f"{theirs:.2f} s", f"{theirs / ours:.2f}×", remark=rate)


def _session(**settings: str) -> SparkSession:
    return open_session(StreamsConfig({"application.id": "bench", **settings}), threads=2)


def lines(count: int) -> list[Row]:
    """Lines of five words."""
    chance = random.Random(1)
    words = [f"word{number}" for number in range(WORDS)]
    return [(None, " ".join(chance.choices(words, k=WORDS_PER_LINE)).encode()) for _ in range(count)]


def keyed(count: int, keys: int) -> Iterator[Row]:
    """Short values over many keys."""
    chance = random.Random(2)
    return ((b"key-%d" % chance.randrange(keys), b"some value") for _ in range(count))


def fill(scene: Path, topic: str, rows: Any, partitions: int = PARTITIONS) -> Broker:
    """A broker with the rows in a topic."""
    broker = open_broker(f"embedded:{scene / 'broker'}")
    broker.create_topic(topic, partitions)
    records = (
        NewRecord(topic, key, value, 1_000_000 + number, partition=number % partitions if key is None else None)
        for number, (key, value) in enumerate(rows)
    )
    while some := list(islice(records, 100_000)):
        broker.append(some)
    return broker


class Ticking(Processor):
    """Makes a batch due all the time."""

    def init(self, context: Any) -> None:
        """Ask for it."""
        context.schedule(timedelta(milliseconds=1), PunctuationType.WALL_CLOCK_TIME, lambda _: None)

    def process(self, record: Record[Any, Any]) -> None:
        """There is nothing to process."""


def ticking(levels: int) -> Topology:
    """A program that does nothing, at one or two levels."""
    builder = StreamsBuilder()
    stream = builder.stream("in")
    stream.process(Ticking)
    if levels == 2:
        stream.repartition(name="again").process(Ticking)
    return builder.build()


def bench_a(bench: Bench) -> None:
    """Word count."""
    bench.start_over(**peers.CHECKPOINTS)
    count = bench.size(1_000_000)
    bench.against("(a) word count", word_count(), "lines", lines(count), peers.word_count, f"{count:,} lines")


def bench_b(bench: Bench) -> None:
    """Count per key."""
    bench.start_over(**peers.CHECKPOINTS)
    count, keys = bench.size(200_000), bench.size(50_000)
    rows = list(keyed(count, keys))
    bench.against("(b) count per key", count_per_key(), "rows", rows, peers.count_per_key, f"{keys:,} keys")


def bench_c(bench: Bench) -> None:
    """Empty batches."""
    bench.start_over()
    for levels in (1, 2):
        scene = bench.scene()
        broker = fill(scene, "in", [], partitions=2)
        reports = _Timed()
        with bench.engine(ticking(levels), broker, scene, reports) as engine:
            engine.start()
            while len(reports) < 30:
                time.sleep(0.1)
        period = statistics.median(later - earlier for earlier, later in pairwise(reports.times[5:]))
        job = statistics.median(report.duration_ms for report in reports[5:]) / 1000
        bench.tell(f"(c) empty batch, {levels} level", f"{period:.2f} s", remark=f"of it job {job:.2f} s")


class _Timed(list[BatchReport]):
    """Reports, and when they came."""

    def __init__(self) -> None:
        super().__init__()
        self.times: list[float] = []

    def append(self, report: BatchReport) -> None:
        """One more."""
        super().append(report)
        self.times.append(time.perf_counter())


def bench_d(bench: Bench) -> None:
    """Restore."""
    keys = bench.size(1_000_000)
    scene = bench.scene()
    broker = fill(scene, "rows", ((b"key-%d" % number, b"x") for number in range(keys)), partitions=2)
    with LocalEngine(count_per_key(), bench.settings(scene), broker) as engine:
        engine.run_until_idle()
    shutil.rmtree(scene / "state")
    broker.append([NewRecord("rows", b"key-1", b"x"), NewRecord("rows", b"key-3", b"x")])  # one in each partition
    megabytes = (broker.describe_topic("bench-counts-changelog").size or 0) / 1e6
    reports: list[BatchReport] = []
    with bench.engine(count_per_key(), broker, scene, reports) as engine:
        engine.run_until_idle()
    restoring = [report for report in reports if report.restored]
    restored = sum(sum(report.restored.values()) for report in restoring)
    seconds = sum(report.duration_ms for report in restoring) / 1000
    remark = f"{restored:,} keys, {megabytes:.0f} MB, {megabytes / seconds:.1f} MB/s"
    bench.tell("(d) restore", f"{seconds:.2f} s", remark=remark)


def bench_e(bench: Bench) -> None:
    """Growth."""
    sizes = [(1, 100_000), (4, 100_000), (16, 100_000), (4, 10_000), (4, 1_000_000)]
    for millions, keys in sizes:
        records, keys = bench.size(millions * 1_000_000), bench.size(keys)
        scene = bench.scene()
        broker = fill(scene, "rows", keyed(records, keys))
        with PeakMemory() as memory:
            seconds = bench.seconds(count_per_key(), broker, scene)
        remark = f"{records / seconds:,.0f} records/s, workers {memory.megabytes:,.0f} MB"
        bench.tell(f"(e) {records:,} records, {keys:,} keys", f"{seconds:.2f} s", remark=remark)
        shutil.rmtree(scene)


def many_stores() -> Topology:
    """A stream-table join, a repartition, a count and a windowed count: three stores, two levels."""
    builder = StreamsBuilder()
    table = builder.table("table", store="table")
    joined = builder.stream("rows").join(table, lambda value, other: value)
    grouped = joined.group_by(lambda key, value: key)
    grouped.count("counts").to_stream().to("counted")
    grouped.windowed_by(TimeWindows(timedelta(minutes=1))).count("windows").to_stream().to("windowed")
    return builder.build()


def bench_f(bench: Bench) -> None:
    """Many partitions, and what Spark takes for a job of two levels that does nothing."""
    bench.start_over()
    for partitions in (4, 16, 64, 256):
        _small_batches(bench, partitions)
    seconds = statistics.median(_empty_jobs(bench.session, 25)[5:])
    bench.tell("(f) empty job, 2 levels", f"{seconds:.2f} s", remark="Spark alone, without a streaming query")


def _small_batches(bench: Bench, partitions: int, size: int = 2_000, count: int = 12) -> None:
    scene = bench.scene()
    keys = [b"key-%d" % number for number in range(size)]
    broker = fill(scene, "table", ((key, b"x") for key in keys), partitions)
    for topic in ("rows", "counted", "windowed"):
        broker.create_topic(topic, partitions)
    reports: list[BatchReport] = []
    with bench.engine(many_stores(), broker, scene, reports) as engine:
        for number in range(count):
            broker.append(NewRecord("rows", key, b"value", 1_000_000 + number) for key in keys)
            engine.run_until_idle()
        hosts = ", ".join(f"{each:,.0f}" for each in resident_megabytes(host_processes(engine._query._job.run)))
    seconds = statistics.median(report.duration_ms for report in reports[3:]) / 1000
    remark = f"{2 * partitions} tasks, batches of {size:,} records, three stores; RSS of the hosts {hosts} MB"
    bench.tell(f"(f) {partitions} partitions", f"{seconds:.2f} s", remark=remark)
    shutil.rmtree(scene)


def _empty_jobs(session: SparkSession, count: int) -> list[float]:
    """How long jobs take that have the shape of a batch with two levels."""
    session = session.newSession()
    for name, value in SQL.items():
        session.conf.set(name, value)
    seconds = []
    for _ in range(count):
        start = time.perf_counter()
        first = session.range(0, 2, numPartitions=2).mapInArrow(_take, SCHEMA)
        first.repartitionById(2, TARGET).mapInArrow(_take, SCHEMA).toArrow()
        seconds.append(time.perf_counter() - start)
    return seconds


def _take(batches: Iterator[Any]) -> Iterator[Any]:
    """Read everything, send nothing."""
    yield from (each for each in batches if each is None)


def bench_g(bench: Bench) -> None:
    """From the append of a record to its result, one level, at a steady rate. The first seconds are left out."""
    bench.start_over()
    rate, seconds, warm_seconds = 1_000, 40.0, 10.0
    scene = bench.scene()
    builder = StreamsBuilder()
    builder.stream("rows").filter(lambda key, value: True).to("passed")
    broker = fill(scene, "rows", [], partitions=4)
    broker.create_topic("passed", 4)
    reader, reports = Reader(broker, "passed"), list[BatchReport]()
    with bench.engine(builder.build(), broker, scene, reports) as engine:
        engine.start()
        with producing(broker.address, "rows", rate, seconds) as producer:
            reader.read_until(producer, 4 * seconds)
    begin = min(sent for sent, _ in reader.waits)
    waits = sorted(wait for sent, wait in reader.waits if sent - begin > warm_seconds)
    p50, p99 = waits[len(waits) // 2], waits[int(len(waits) * 0.99)]
    batch = statistics.median(report.duration_ms for report in reports[5:]) / 1000
    remark = f"p50; p99 {p99:.2f} s, longest {waits[-1]:.2f} s; {len(reader.waits):,} records, a batch {batch:.2f} s"
    bench.tell(f"(g) latency at {rate:,} records/s", f"{p50:.2f} s", remark=remark)


PARTS = {"a": bench_a, "b": bench_b, "c": bench_c, "d": bench_d, "e": bench_e, "f": bench_f, "g": bench_g}


def main() -> None:
    """Measure what was asked for."""
    parser = argparse.ArgumentParser(prog="python -m bench.engine", description=__doc__)
    parser.add_argument("parts", nargs="*", default=list(PARTS), help="a, b, c, d, e, f, g; all of them unless told")
    parser.add_argument("--scale", type=float, default=1.0, help="0.01 for a quick look")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        bench = Bench(Path(directory), arguments.scale)
        # The peers of (a) and (b) need a file system that a JVM keeps once it has one: they come first.
        for part in sorted(arguments.parts):
            PARTS[part](bench)
        bench.session.stop()
    Console(width=120).print(bench.table)


if __name__ == "__main__":
    main()
