"""Every kind of window, from time 0 on, over every kind of store and with any cache, gives what a plain model gives."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace import SessionWindows, SlidingWindows, StreamsBuilder, TimeWindows, UnlimitedWindows, serdes
from headrace.windows import MAX_TIMESTAMP
from tests.property import models
from tests.property.harness import Input, Program, running
from tests.property.models import Event, Table
from tests.time_limit import time_limit

EXAMPLES = int(os.environ.get("HEADRACE_EXAMPLES", "1"))
"""How many times more examples than usual."""

TEXT = serdes.string()
ENOUGH_MS = 10_000_000
"""Longer than all records together."""

CACHES = st.sampled_from([0, 150, 10 << 20]) | st.integers(200, 1000)
"""Bytes: none, two entries, few, the default."""

STORES = st.fixed_dictionaries(
    {
        "dsl.store.suppliers.class": st.sampled_from(["in_memory", "rocks_db"]),
        "dsl.store.format": st.sampled_from(["default", "headers"]),
    }
)


AGES = st.sampled_from([[0], [0, 1_780_000_000_000], [1_780_000_000_000, 4_102_444_800_000, 2**62]])
"""When time begins: once, or again after millions of segments."""


class Windowing(NamedTuple):
    """Windows, and what the plain model gives for them."""

    windows: Any
    model: Callable[[list[Event]], Table]


@st.composite
def windowings(draw: st.DrawFn, kind: str, unit: int) -> Windowing:
    size, grace = draw(st.integers(1, 6)) * unit, draw(st.sampled_from([0, 3 * unit, ENOUGH_MS]))
    if kind == "tumbling":
        return Windowing(TimeWindows(size, grace=grace), lambda events: models.time_windows(events, size, size, grace))
    if kind == "hopping":
        advance = draw(st.integers(1, size // unit)) * unit
        windows = TimeWindows(size, advance=advance, grace=grace)
        return Windowing(windows, lambda events: models.time_windows(events, size, advance, grace))
    if kind == "sliding":
        return Windowing(SlidingWindows(size, grace=ENOUGH_MS), lambda events: models.sliding_windows(events, size))
    if kind == "session":
        return Windowing(SessionWindows(size, grace=grace), lambda events: models.session_windows(events, size, grace))
    start = draw(st.integers(0, 4)) * unit
    return Windowing(
        UnlimitedWindows(start=start), lambda events: models.unlimited_windows(events, start, MAX_TIMESTAMP)
    )


def events(unit: int) -> st.SearchStrategy[list[Event]]:
    event: Any = st.builds(
        Event,
        key=st.sampled_from("ab"),
        value=st.sampled_from("xyz"),
        time=st.integers(0, 15).map(lambda time: time * unit) | st.integers(0, 15 * unit),
    )
    return st.sampled_from([0, 15, 50]).flatmap(lambda size: st.lists(event, min_size=size, max_size=size + 15))


def in_ages(arriving: list[Event], ages: list[int]) -> list[Event]:
    """The same in every age, one age after the other: what comes late is not late by an age."""
    return [event._replace(time=age + event.time) for age in ages for event in arriving]


def as_text(value: Any) -> str | None:
    return None if value is None else str(value)


def aggregated(grouped: Any, how: str, is_session: bool, retention: int | None) -> Any:
    if how == "count":
        return grouped.count(store="t", retention=retention)
    if how == "reduce":
        return grouped.reduce(lambda held, value: held + value, store="t", retention=retention)
    merger = (lambda key, left, right: left + right,) if is_session else ()
    return grouped.aggregate(
        lambda: "", lambda key, value, held: held + value, *merger, store="t", retention=retention, value_serde=TEXT
    )


def program(windowing: Windowing, how: str, retention: int | None) -> Program:
    def build(builder: StreamsBuilder) -> None:
        grouped = builder.stream("in").group_by_key().windowed_by(windowing.windows)
        table = aggregated(grouped, how, isinstance(windowing.windows, SessionWindows), retention)
        table.to_stream(lambda window, value: str(window)).map_values(as_text).to("out", key_serde=TEXT)

    return build


@pytest.mark.parametrize("kind", ["tumbling", "hopping", "sliding", "session", "unlimited"])
@settings(max_examples=30 * EXAMPLES)
@given(data=st.data(), stores=STORES, cache_bytes=CACHES, commit_after=st.sets(st.integers(0, 64), max_size=8))
def test_windows_hold_what_the_model_says(
    kind: str, data: st.DataObject, stores: dict[str, str], cache_bytes: int, commit_after: set[int]
) -> None:
    unit = data.draw(st.sampled_from([1, 40_000]))
    windowing, how = data.draw(windowings(kind, unit)), data.draw(st.sampled_from(["count", "reduce", "aggregate"]))
    arriving = in_ages(data.draw(events(unit)), data.draw(AGES))
    retention = None
    if kind == "session":
        # A late record may join a session that still grows with one that does not. As in Kafka Streams, a retention
        # of gap and grace does not say whether the second is still there; and a store in memory forgets a session in
        # the last millisecond in which it may grow, so one is added.
        least = windowing.windows.gap_ms + windowing.windows.grace_ms + 1
        retention = data.draw(st.sampled_from([least, 2 * ENOUGH_MS]))
        arriving = arriving if retention > least else sorted(arriving, key=lambda event: event.time)

    with running(program(windowing, how, retention), cache_bytes=cache_bytes, settings=stores) as task, time_limit():
        for position, event in enumerate(arriving):
            task.feed(Input("in", *event))
            if position in commit_after:
                task.commit()
        task.commit()
        found = {key.decode(): value.decode() for key, value in task.written.get("out", {}).items() if key}

    expected = windowing.model(arriving)
    assert found == ({key: str(len(row)) for key, row in expected.items()} if how == "count" else expected)


@pytest.mark.parametrize("store", ["in_memory", "rocks_db"])
@pytest.mark.parametrize("cache_bytes", [0, 10 << 20])
def test_a_session_from_time_0_on_counts_each_record_once(store: str, cache_bytes: int) -> None:
    """It is looked for in segments of the cache from before time 0 on: there are none."""
    minute = 60_000
    sessions = Windowing(SessionWindows(5 * minute), lambda _: {})
    settings = {"dsl.store.suppliers.class": store}
    with running(program(sessions, "count", None), cache_bytes=cache_bytes, settings=settings) as task:
        for time in range(3):
            task.feed(Input("in", "k", "v", time * minute))
        task.commit()
        assert task.written["out"] == {b"[k@0/120000]": b"3"}
