"""Final results of windows when hours of stream time pass within one batch: each window has one, and none is lost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from headrace import EmitStrategy, SessionWindows, SlidingWindows, StreamsBuilder, TimeWindows, Topology, serdes
from headrace.batch.local import LocalEngine
from headrace.broker.port import NewRecord
from tests.integration.batch.programs import open_at, read, settings

MINUTE = 60_000
START = 1_700_000_040_000
"""At the begin of a minute."""
STEP = 3000


def final_counts(windows: Any) -> Topology:
    builder = StreamsBuilder()
    grouped = builder.stream("in").group_by_key().windowed_by(windows)
    counts = grouped.emit_strategy(EmitStrategy.on_window_close()).count()
    counts.to_stream(lambda window, count: f"{window.key}{window.start}").map_values(str).to(
        "out", key_serde=serdes.string()
    )
    return builder.build()


def starts_of(size: int, advance: int, times: set[int]) -> set[int]:
    return {start for time in times for start in range(time - time % advance, time - size, -advance)}


@pytest.mark.parametrize("cache", [0, 10_000_000])
@pytest.mark.parametrize(
    ("windows", "starts"),
    [
        (TimeWindows(MINUTE), lambda times: starts_of(MINUTE, MINUTE, times)),
        (TimeWindows(MINUTE, advance=MINUTE // 6), lambda times: starts_of(MINUTE, MINUTE // 6, times)),
        (SlidingWindows(2000), lambda times: {time - 2000 for time in times}),
        (SessionWindows(MINUTE), lambda times: {time for time in times if time - STEP not in times}),
    ],
    ids=["tumbling", "hopping", "sliding", "session"],
)
def test_each_window_of_a_long_past_has_one(tmp_path: Path, windows: Any, starts: Any, cache: int) -> None:
    """Another key makes time pass in small steps: what a single step skips is lost, as in Kafka Streams."""
    every = range(START, START + 62 * MINUTE, STEP)
    times = {time for time in every[:-40] if (time - START) % (5 * MINUTE) < 2.5 * MINUTE}
    broker = open_at(tmp_path)
    broker.create_topic("in")
    broker.append(
        NewRecord("in", key, b"v", time) for time in every for key in (b"k", b"-") if key == b"-" or time in times
    )

    with LocalEngine(
        final_counts(windows), settings(tmp_path, **{"statestore.cache.max.bytes": cache}), broker
    ) as engine:
        assert engine.run_until_idle() == 1

    found = [int(key[1:]) for key, _ in read(broker, "out") if key is not None and key.startswith(b"k")]
    assert sorted(found) == sorted(starts(times))


def test_no_record_is_late_because_another_partition_was_read_before_its_own(tmp_path: Path) -> None:
    builder = StreamsBuilder()
    grouped = builder.stream("in").group_by(lambda key, word: word).windowed_by(TimeWindows(1000))
    counts = grouped.count().to_stream(lambda window, count: f"{window.key}{window.start}")
    counts.to("out", value_serde=serdes.long())
    broker = open_at(tmp_path)
    broker.create_topic("in", 3)
    times = range(START, START + 300_000, 100)
    broker.append(NewRecord("in", None, b"ab"[at % 2 :][:1], time, partition=at % 3) for at, time in enumerate(times))

    with LocalEngine(builder.build(), settings(tmp_path), broker) as engine:
        report = engine.run_batch()

    assert report is not None and report.dropped == {}
    last = {key: int.from_bytes(value, "big") for key, value in read(broker, "out") if key and value}
    assert set(last.values()) == {5} and sum(last.values()) == len(times)
