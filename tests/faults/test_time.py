"""Rows T1, T2, O1 to O3: clocks that jump, timestamps that make no sense, records out of order and too late."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest
from pyspark import cloudpickle

from headrace import StreamsBuilder, TimeWindows, Topology, serdes
from headrace.batch.coordinator import Coordinator
from headrace.batch.level import read_result
from headrace.batch.local import LocalEngine
from headrace.batch.parcels import Kind
from headrace.broker.embedded import EmbeddedBroker
from headrace.broker.port import NewRecord
from headrace.errors import ArgumentError
from headrace.processors.api import Processor, PunctuationType
from headrace.records import Record
from headrace.spark.host import HostedApplication
from tests.faults.scene import START_MS, Scene
from tests.faults.verdict import read

HOUR = 3_600_000
WINDOW = 1_000


class SettableClock:
    def __init__(self, now_ms: int) -> None:
        self.now_ms = now_ms

    def __call__(self) -> int:
        return self.now_ms


class Ticking(Processor):
    """Tells when it is called, by the wall clock and by stream time."""

    def init(self, context: Any) -> None:
        self.context = context
        for kind in (PunctuationType.WALL_CLOCK_TIME, PunctuationType.STREAM_TIME):
            context.schedule(10 * WINDOW, kind, self._tick(kind))

    def process(self, record: Record[Any, Any]) -> None:
        """Records only move stream time."""

    def _tick(self, kind: PunctuationType) -> Any:
        return lambda now_ms: self.context.forward(Record(kind.name, str(now_ms), max(now_ms, 0)))


def ticking() -> Topology:
    builder = StreamsBuilder()
    builder.stream("in").process(Ticking).to("ticks")
    return builder.build()


def counting(*, grace: int, extractor: Any = None) -> Topology:
    """Counts per key and window of a second; every update is an output record."""
    builder = StreamsBuilder()
    source = builder.stream("in") if extractor is None else builder.stream("in", timestamp_extractor=extractor)
    windows = source.group_by_key().windowed_by(TimeWindows(WINDOW, grace=grace))
    counts = windows.count("per-window").to_stream(lambda window, _: f"{window.key}@{window.window.start}")
    counts.to("counts", value_serde=serdes.long())
    return builder.build()


def at(*times: int, key: str = "k", partition: int | None = None) -> list[NewRecord]:
    return [NewRecord("in", key.encode(), str(n).encode(), time, partition=partition) for n, time in enumerate(times)]


def run(
    scene: Scene, topology: Topology, records: Iterable[NewRecord], **more: Any
) -> tuple[dict[str, int], dict[str, int]]:
    """The last count of each window, and what was dropped."""
    with closing(scene.broker()) as broker:
        if "in" not in broker.topics():
            broker.create_topic("in")
        broker.append(records)
        with LocalEngine(topology, scene.settings(**more), broker) as engine:
            engine.run_until_idle()
        return final(broker), dict(engine.dropped_records)


def final(broker: EmbeddedBroker) -> dict[str, int]:
    return {key.decode(): int.from_bytes(value, "big") for key, value in read(broker, "counts") if key and value}


@pytest.mark.parametrize("jump", [HOUR, -HOUR])
def test_a_clock_that_is_set_moves_no_stream_time_and_punctuators_fire_once(tmp_path: Path, jump: int) -> None:
    scene, clock = Scene(tmp_path), SettableClock(START_MS)
    with closing(scene.broker()) as broker:
        broker.create_topic("in")
        with LocalEngine(ticking(), scene.settings(), broker, clock=clock) as engine:
            broker.append(at(START_MS))
            engine.run_until_idle()
            before = Counter(key for key, _ in read(broker, "ticks"))
            clock.now_ms += jump
            broker.append(at(START_MS + 1, START_MS + 2))
            engine.run_until_idle()
            assert engine.run_until_idle() == 0, "a jump keeps it busy"
            ticks = Counter(key for key, _ in read(broker, "ticks"))
            assert ticks[b"STREAM_TIME"] == before[b"STREAM_TIME"]
            assert ticks[b"WALL_CLOCK_TIME"] - before[b"WALL_CLOCK_TIME"] == (1 if jump > 0 else 0)
            clock.now_ms = START_MS + max(jump, 0) + 11 * WINDOW
            engine.run_until_idle()
            again = Counter(key for key, _ in read(broker, "ticks"))
            assert again[b"WALL_CLOCK_TIME"] == ticks[b"WALL_CLOCK_TIME"] + 1


def test_a_punctuation_that_is_due_again_before_its_batch_is_done_keeps_nobody_waiting(tmp_path: Path) -> None:
    scene, clock = Scene(tmp_path), SettableClock(START_MS)

    def slow_clock() -> int:
        clock.now_ms += 20 * WINDOW
        return clock.now_ms

    with closing(scene.broker()) as broker:
        broker.create_topic("in")
        with LocalEngine(ticking(), scene.settings(), broker, clock=slow_clock) as engine:
            broker.append(at(START_MS))
            assert engine.run_until_idle() <= 3
            broker.append(at(START_MS + 1))
            assert 1 <= engine.run_until_idle() <= 3


@pytest.mark.parametrize("skew", [HOUR, -HOUR])
def test_a_host_with_a_wrong_clock_fires_punctuations_by_that_of_the_driver(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, skew: int
) -> None:
    scene = Scene(tmp_path)
    with closing(scene.broker()) as broker:
        broker.create_topic("in")
        coordinator = Coordinator(ticking(), scene.settings(), broker, lambda: START_MS)
        shipped = cloudpickle.dumps(coordinator.application)  # type: ignore[no-untyped-call]
        order = msgspec.msgpack.encode(coordinator.begin())
        readings = coordinator.parcels(coordinator.plan())
        monkeypatch.setattr(time, "time_ns", lambda: (START_MS + skew) * 1_000_000)
        with closing(HostedApplication("run", broker.config, shipped)) as hosted:
            sent = list(hosted.run_level(0, order, readings))
        (result,) = [read_result(parcel.data) for parcel in sent if parcel.kind == Kind.RESULT]
    due = result.progress.next_punctuation_ms
    assert due is not None
    assert START_MS < due < START_MS + 11 * WINDOW


@pytest.mark.parametrize(
    "odd",
    [0, 2**31 * 1000, 253_402_300_799_000, START_MS * 1000, START_MS + 10 * 365 * 24 * HOUR, 2**63 - 1 - WINDOW],
    ids=["zero", "2038", "9999", "microseconds", "in ten years", "the largest"],
)
def test_an_odd_timestamp_makes_one_window_and_one_record_late_at_most(tmp_path: Path, odd: int) -> None:
    scene = Scene(tmp_path)
    times = [START_MS, START_MS + 1, odd, START_MS + 2, START_MS + 3]
    counts, dropped = run(scene, counting(grace=0), at(*times))
    # What comes after a time in the future is late; what was before it is not.
    late = 2 if odd > START_MS + WINDOW else 1 if odd < START_MS - WINDOW else 0
    assert dropped == ({"expired window": late} if late else {})
    assert len(counts) <= 2
    assert sum(counts.values()) + late == len(times)


def test_a_negative_timestamp_is_refused_by_the_broker_and_dropped_and_counted_by_the_application(
    tmp_path: Path,
) -> None:
    scene = Scene(tmp_path)
    with closing(scene.broker()) as broker:
        broker.create_topic("in")
        with pytest.raises(
            ArgumentError, match=r"has the timestamp -1\n  hint: Timestamps are milliseconds since 1970"
        ):
            broker.append(at(-1))

    def extract(record: Any, partition_time: int) -> int:
        return -5 if record.value == "2" else int(record.timestamp)

    counts, dropped = run(scene, counting(grace=0, extractor=extract), at(*range(START_MS, START_MS + 5)))
    assert dropped == {"the extracted timestamp is negative": 1}
    assert sum(counts.values()) == 4


def test_records_out_of_order_within_grace_give_the_same_result(tmp_path: Path) -> None:
    times = [START_MS + 7 * number for number in range(2000)]
    shuffled = list(times)
    generator = random.Random(5)
    for start in range(0, len(times), 250):
        group = shuffled[start : start + 250]
        generator.shuffle(group)
        shuffled[start : start + 250] = group
    keys = ["a", "b", "c"]
    in_order = [NewRecord("in", keys[time % 3].encode(), b"", time) for time in times]
    mixed = [NewRecord("in", keys[time % 3].encode(), b"", time) for time in shuffled]
    expected, none = run(Scene(tmp_path / "one"), counting(grace=7 * 250), in_order)
    found, dropped = run(Scene(tmp_path / "two"), counting(grace=7 * 250), mixed, **{"max.records.per.batch": 300})
    assert found == expected
    assert dropped == none == {}


def test_what_is_later_than_grace_is_dropped_and_counted_exactly(tmp_path: Path) -> None:
    grace = 2 * WINDOW
    generator = random.Random(6)
    records, expected, late, stream_time = [], Counter[str](), 0, 0
    for number in range(1000):
        time = START_MS + 20 * number - (generator.randrange(5, 8) * WINDOW if number % 10 == 9 else 0)
        stream_time = max(stream_time, time)
        start = time - time % WINDOW
        if start + WINDOW <= stream_time - grace:
            late += 1
        else:
            expected[f"k@{start}"] += 1
        records.append(NewRecord("in", b"k", str(number).encode(), time))
    scene = Scene(tmp_path)
    counts, dropped = run(scene, counting(grace=grace), records, **{"max.records.per.batch": 170})
    assert late > 80
    assert dropped == {"expired window": late}
    assert counts == expected
    assert sum(counts.values()) + sum(dropped.values()) == len(records)


def merging() -> Topology:
    builder = StreamsBuilder()
    builder.stream("left").merge(builder.stream("right")).to("merged")
    return builder.build()


def test_a_partition_an_hour_ahead_waits_for_one_that_has_more_to_read(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    with closing(scene.broker()) as broker:
        for topic in ("left", "right", "merged"):
            broker.create_topic(topic)
        ahead = [NewRecord("left", b"k", f"l{n}".encode(), START_MS + HOUR + n) for n in range(10)]
        behind = [NewRecord("right", b"k", f"r{n}".encode(), START_MS + n) for n in range(100)]
        broker.append(ahead + behind)
        settings = scene.settings(**{"max.records.per.batch": 8})
        with LocalEngine(merging(), settings, broker) as engine:
            engine.run_until_idle()
        order = [value for _, value in read(broker, "merged")]
    assert order == [record.value for record in behind] + [record.value for record in ahead]


def test_an_idle_partition_holds_nobody_up_unless_it_is_waited_for(tmp_path: Path) -> None:
    for idle_ms, expected in ((0, 1), (5_000, 0)):
        scene, clock = Scene(tmp_path / str(idle_ms)), SettableClock(START_MS)
        with closing(scene.broker()) as broker:
            for topic in ("left", "right", "merged"):
                broker.create_topic(topic)
            broker.append([NewRecord("left", b"k", b"v", START_MS)])
            settings = scene.settings(**{"max.task.idle.ms": idle_ms})
            with LocalEngine(merging(), settings, broker, clock=clock) as engine:
                engine.run_batch()
                assert len(list(read(broker, "merged"))) == expected
                clock.now_ms += 5_001
                engine.run_batch()
                assert len(list(read(broker, "merged"))) == 1
