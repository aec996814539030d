"""Stores are read in a test as they are in an application and in a processor."""

from __future__ import annotations

import inspect
from datetime import datetime, timezone
from typing import Any

import pytest

from headrace import SessionWindows, StreamsBuilder, TimeWindows, TopologyTestDriver, stores
from headrace.errors import ArgumentError
from headrace.query import read_only
from headrace.state.layers.typed import TypedKeyValueStore, TypedSessionStore, TypedWindowStore
from headrace.testing import facades

READERS = [
    (read_only.ReadOnlyKeyValueStore, facades.KeyValueFacade, TypedKeyValueStore),
    (read_only.ReadOnlyWindowStore, facades.WindowFacade, TypedWindowStore),
    (read_only.ReadOnlySessionStore, facades.SessionFacade, TypedSessionStore),
]


def moment(millisecond: int) -> datetime:
    return datetime.fromtimestamp(millisecond / 1000, timezone.utc)


def parameters(method: Any) -> list[tuple[str, Any]]:
    return [(each.name, each.default) for each in inspect.signature(method).parameters.values()]


@pytest.mark.parametrize(("shared", "driven", "typed"), READERS)
def test_reading_takes_the_same_arguments_everywhere(shared: type, driven: type, typed: type) -> None:
    readers = [name for name in vars(shared) if not name.startswith("_")]
    assert "fetch" in readers or "get" in readers
    for name in readers:
        assert (
            parameters(getattr(shared, name)) == parameters(getattr(driven, name)) == parameters(getattr(typed, name))
        ), name


def test_windows_are_fetched_by_one_time_or_two() -> None:
    builder = StreamsBuilder()
    counted = builder.stream("in").group_by_key().windowed_by(TimeWindows(10, grace=100))
    counted.count(store=stores.IN_MEMORY("counts"), caching=False)
    with TopologyTestDriver(builder.build()) as driver:
        driver.create_input_topic("in").pipe_key_value_list([("a", "x"), ("a", "y")], start=12, advance=10)
        for windows in (driver.window_store("counts"), driver.store("counts")):
            assert [start for start, _ in windows.fetch("a", 0, 30)] == [10, 20]
            assert [start for start, _ in windows.backward_fetch("a", 0, 30)] == [20, 10]
        assert driver.window_store("counts").fetch("a", moment(10)) == 1
        assert list(driver.window_store("counts").fetch("a", moment(15), time_to=moment(30))) == [(20, 1)]
        assert driver.timestamped_window_store("counts").fetch("a", moment(10)).timestamp == 12
        with pytest.raises(ArgumentError, match="time must be a datetime or whole milliseconds"):
            driver.window_store("counts").fetch("a", 1.5)


def test_sessions_are_fetched_by_datetimes_too() -> None:
    builder = StreamsBuilder()
    counted = builder.stream("in").group_by_key().windowed_by(SessionWindows(5))
    counted.count(store=stores.IN_MEMORY("counts"), caching=False)
    with TopologyTestDriver(builder.build()) as driver:
        driver.create_input_topic("in").pipe_input("a", "x", timestamp=12)
        sessions = driver.session_store("counts")
        assert sessions.fetch_session("a", moment(12), moment(12)) == 1
        assert [value for _, value in sessions.find_sessions("a", moment(0), moment(50))] == [1]
        assert [value for _, value in sessions.find_sessions_by_end(moment(0), moment(50))] == [1]


def test_a_method_of_another_kind_of_store_names_the_right_one() -> None:
    builder = StreamsBuilder()
    grouped = builder.stream("in").group_by_key()
    grouped.count(store=stores.IN_MEMORY("rows"))
    grouped.windowed_by(TimeWindows(10)).count(store=stores.IN_MEMORY("windows"))
    grouped.windowed_by(SessionWindows(5)).count(store=stores.IN_MEMORY("sessions"))
    with TopologyTestDriver(builder.build()) as driver:
        with pytest.raises(AttributeError, match=r"'fetch'. Here it is get\(key\)"):
            driver.key_value_store("rows").fetch("a", 0)
        with pytest.raises(AttributeError, match=r"'get'. Here it is fetch\(key, window_start\)"):
            driver.window_store("windows").get("a")
        with pytest.raises(AttributeError, match=r"'get'. Here it is fetch\(key\)"):
            driver.session_store("sessions").get("a")
