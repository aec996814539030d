"""The driver's way to stores that keep headers."""

from __future__ import annotations

import pytest

from headrace import Headers, SessionWindows, StreamsBuilder, TimeWindows, TopologyTestDriver, ValueAndTimestamp
from headrace.errors import ArgumentError


def test_stores_with_headers_show_them() -> None:
    builder = StreamsBuilder()
    builder.table("rows", store="rows")
    grouped = builder.stream("in").group_by_key()
    grouped.windowed_by(TimeWindows(10)).count("windows")
    grouped.windowed_by(SessionWindows(10)).count("sessions")
    config = {"dsl.store.format": "HEADERS"}
    kept = ValueAndTimestamp("x", 7, Headers([("trace", b"1")]))
    with TopologyTestDriver(builder.build(), config) as driver:
        rows = driver.timestamped_key_value_store_with_headers("rows")
        rows.put("a", kept)
        assert rows.get("a") == kept
        assert driver.timestamped_key_value_store("rows").get("a").headers == ()
        driver.create_input_topic("in").pipe_input("a", "x", 7)
        assert driver.timestamped_window_store_with_headers("windows").fetch("a", 0).value == 1
        assert driver.session_store_with_headers("sessions").fetch_session("a", 7, 7) == 1
        assert driver.session_store("sessions").fetch_session("a", 7, 7) == 1
        with pytest.raises(ArgumentError) as caught:
            driver.versioned_key_value_store("rows")
        assert "driver.timestamped_key_value_store_with_headers('rows')" in str(caught.value.hint)


def test_a_store_without_headers_is_of_another_kind() -> None:
    builder = StreamsBuilder()
    builder.table("rows", store="rows")
    with TopologyTestDriver(builder.build()) as driver, pytest.raises(ArgumentError, match="of another kind") as caught:
        driver.timestamped_key_value_store_with_headers("rows")
    assert "driver.timestamped_key_value_store('rows')" in str(caught.value.hint)
