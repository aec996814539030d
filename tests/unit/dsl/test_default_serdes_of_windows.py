"""Tables with windowed keys work with the default serdes: what meets a windowed key is wrapped for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from headrace import (
    KTable,
    SessionWindows,
    SlidingWindows,
    StreamsBuilder,
    Suppressed,
    TimeWindows,
    TopologyTestDriver,
    UnlimitedWindows,
    Windowed,
    serdes,
)
from headrace.errors import StreamsError
from headrace.windows import SessionWindow, TimeWindow

RECORDS = (("a", "x", 1), ("a", "y", 2), ("b", "z", 100))
A, B = Windowed("a", TimeWindow(0, 10)), Windowed("b", TimeWindow(100, 110))


def windowed_count(builder: StreamsBuilder, windows: Any = None) -> KTable:
    return builder.stream("in").group_by_key().windowed_by(windows or TimeWindows(10)).count()


def written(
    program: Callable[[StreamsBuilder], object], config: dict[str, Any] | None = None, value_serde: Any = None
) -> list[tuple[Any, Any]]:
    builder = StreamsBuilder()
    program(builder)
    with TopologyTestDriver(builder.build(), config) as driver:
        topic = driver.create_input_topic("in")
        for record in RECORDS:
            topic.pipe_input(*record)
        return driver.create_output_topic("out", value_serde=value_serde or serdes.long()).read_key_values_to_list()


def test_a_windowed_table_is_written_with_default_serdes() -> None:
    assert written(lambda builder: windowed_count(builder).to_stream().to("out")) == [(A, 1), (A, 2), (B, 1)]


def test_a_windowed_table_is_suppressed_with_default_serdes() -> None:
    def program(builder: StreamsBuilder) -> None:
        windowed_count(builder).suppress(Suppressed.until_window_closes()).to_stream().to("out")

    assert written(program) == [(A, 2)]


@pytest.mark.parametrize(
    ("windows", "key"),
    [
        (SessionWindows(10), Windowed("a", SessionWindow(1, 2))),
        (SlidingWindows(10, grace=0), Windowed("a", TimeWindow(0, 10))),
        (UnlimitedWindows(), Windowed("a", TimeWindow(0, 2**63 - 1))),
    ],
)
def test_each_kind_of_windows_has_its_own_form(windows: Any, key: Windowed[str]) -> None:
    assert (key, 2) in written(lambda builder: windowed_count(builder, windows).to_stream().to("out"))


def test_the_default_serde_is_the_one_inside() -> None:
    def program(builder: StreamsBuilder) -> None:
        stream = builder.stream("in", key_serde=serdes.json(), value_serde=serdes.string())
        windowed = stream.group_by_key(value_serde=serdes.string()).windowed_by(TimeWindows(10))
        windowed.count().to_stream().to("out")

    config = {"default.key.serde": "json", "default.value.serde": "string"}
    assert written(program, config)[0] == (A, 1)


@pytest.mark.parametrize(
    "change",
    [
        lambda table: table.filter(lambda key, count: True, store="kept", value_serde=serdes.long()),
        lambda table: table.map_values(lambda count: count, store="kept", value_serde=serdes.long()),
        lambda table: table.join(
            table.filter(lambda key, count: True), lambda left, right: left, value_serde=serdes.long()
        ),
        lambda table: table.to_stream().repartition(value_serde=serdes.long()).to_table(value_serde=serdes.long()),
        lambda table: table.to_stream().group_by_key().reduce(lambda old, new: new, value_serde=serdes.long()),
    ],
    ids=["filter", "map_values", "join", "repartition", "group_by_key"],
)
def test_stores_and_repartitions_below_take_the_windowed_keys(change: Callable[[KTable], KTable]) -> None:
    found = written(lambda builder: change(windowed_count(builder)).to_stream().to("out", value_serde=serdes.long()))
    assert found[-1] == (B, 1)


def test_a_windowed_table_takes_part_in_a_foreign_key_join() -> None:
    def program(builder: StreamsBuilder) -> None:
        users = builder.table("users")
        joined = windowed_count(builder).left_join(
            users, lambda count, user: f"{count} {user}", foreign_key=lambda count: str(count)
        )
        joined.to_stream().to("out")

    assert written(program, value_serde=serdes.string())[-1] == (B, "1 None")


@pytest.mark.parametrize("default", ["string", "json"])
def test_windowed_keys_that_a_function_returns_are_wrapped_where_they_leave(default: str) -> None:
    def program(builder: StreamsBuilder) -> None:
        counts = windowed_count(builder).to_stream()
        counts.map(lambda window, count: (window, count)).merge(counts).to("out", value_serde=serdes.long())

    builder = StreamsBuilder()
    program(builder)
    with TopologyTestDriver(builder.build(), {"default.key.serde": default}) as driver:
        topic = driver.create_input_topic("in", serdes.string() if default == "string" else serdes.json())
        topic.pipe_input("a", "x", 1)
        out = driver.create_output_topic("out", serdes.windowed(None, 10), serdes.long())
        assert out.read_key_values_to_list() == [(A, 1), (A, 1)]


def test_a_repartition_that_cannot_know_its_keys_are_windowed_says_what_to_give() -> None:
    def program(builder: StreamsBuilder) -> None:
        stream = windowed_count(builder).to_stream().map_values(str)
        stream.group_by(lambda window, count: window).count().to_stream().to("out")

    with pytest.raises(StreamsError, match="windowed"):
        written(program)


def test_a_given_serde_is_not_wrapped() -> None:
    with pytest.raises(StreamsError, match="Windowed"):
        written(lambda builder: windowed_count(builder).to_stream().to("out", key_serde=serdes.string()))
