"""The driver, its topics and its views of stores."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from headrace import serde as serdes
from headrace.dsl.builder import StreamsBuilder
from headrace.errors import (
    ArgumentError,
    EmptyTopicError,
    IllegalStateError,
    ProcessingError,
    StreamsError,
    TopologyError,
    UnknownTopicError,
    UnsupportedError,
)
from headrace.processors.api import Processor
from headrace.records import Record, ValueAndTimestamp
from headrace.state import stores
from headrace.testing import TestRecord, TopologyTestDriver
from headrace.topology import Topology

CONFIG = {"application.id": "app"}
Drivers = Callable[..., TopologyTestDriver]


def copy() -> Topology:
    return Topology().add_source("source", ["in"]).add_sink("sink", "out", "source")


def counting(**keywords: Any) -> StreamsBuilder:
    builder = StreamsBuilder()
    counts = builder.stream("in").group_by_key().count(store="counts", **keywords)
    counts.to_stream().to("out", value_serde=serdes.long())
    return builder


def test_a_program_may_have_many_steps(driver: Drivers) -> None:
    builder = StreamsBuilder()
    numbers = builder.stream("in", value_serde=serdes.long())
    for _ in range(150):
        numbers = numbers.map_values(lambda number: number + 1)
        numbers = numbers.merge(numbers.filter(lambda key, number: number < 0))
    numbers.to("out", value_serde=serdes.long())
    running = driver(builder.build())
    running.create_input_topic("in", value_serde=serdes.long()).pipe_input("k", 0)
    assert running.create_output_topic("out", value_serde=serdes.long()).read_values_to_list() == [150]


def test_pipes_and_reads_records(driver: Drivers) -> None:
    under_test = driver(copy(), CONFIG)
    topic, out = under_test.create_input_topic("in"), under_test.create_output_topic("out")
    topic.pipe_input("k", "v", timestamp=5, headers=[("h", b"1")])
    topic.pipe_input("bare value", timestamp=6)
    topic.pipe_input(TestRecord("a", None, 7))
    assert len(out) == 3
    assert out.read_record() == TestRecord("k", "v", 5, [("h", b"1")])
    assert out.read_key_value() == (None, "bare value")
    assert out.read_value() is None
    assert out.is_empty
    with pytest.raises(EmptyTopicError, match="have been read"):
        out.read_record()


def test_reads_whole_topics(driver: Drivers) -> None:
    under_test = driver(copy(), CONFIG)
    topic, out = under_test.create_input_topic("in"), under_test.create_output_topic("out")
    topic.pipe_key_value_list([("a", "1"), ("b", "2"), ("a", "3")], start=10, advance=5)
    assert [record.timestamp for record in out] == [10, 15, 20]
    topic.pipe_key_value_list([("a", "1"), ("a", "3")])
    assert out.read_key_values_to_map() == {"a": "3"}
    topic.pipe_value_list(["x", "y"])
    assert out.read_values_to_list() == ["x", "y"]
    topic.pipe_input(None, "x")
    with pytest.raises(IllegalStateError):
        out.read_key_values_to_map()


def test_the_topics_clock_moves_only_by_itself(driver: Drivers) -> None:
    under_test = driver(copy(), CONFIG, wall_clock_ms=50)
    out = under_test.create_output_topic("out")
    topic = under_test.create_input_topic("in", start=100, auto_advance=timedelta(milliseconds=10))
    topic.pipe_input("a", "1")
    topic.pipe_input("a", "2", timestamp=7)
    topic.pipe_input("a", "3")
    topic.advance_time(1000)
    topic.pipe_input("a", "4")
    under_test.create_input_topic("in").pipe_input("a", "5")
    assert [record.timestamp for record in out] == [100, 7, 110, 1120, 50]
    with pytest.raises(ArgumentError):
        topic.advance_time(-1)


def test_a_negative_timestamp_is_refused() -> None:
    with pytest.raises(ArgumentError, match="cannot be negative"):
        TestRecord("k", "v", -1)


def test_an_unknown_topic_is_refused(driver: Drivers) -> None:
    with pytest.raises(UnknownTopicError, match="'nowhere'"):
        driver(copy(), CONFIG).create_input_topic("nowhere").pipe_input("v")


def test_a_topic_nobody_wrote_to_is_empty(driver: Drivers) -> None:
    out = driver(copy(), CONFIG).create_output_topic("out")
    assert out.is_empty
    with pytest.raises(EmptyTopicError, match="nothing was ever written"):
        out.read_value()


def test_a_pattern_takes_every_topic_it_matches_with_one_count_of_offsets(driver: Drivers) -> None:
    class Place(Processor):
        def process(self, record: Record[Any, Any]) -> None:
            self.context.forward(record.with_value(str(self.context.record_metadata)))

    topology = (
        Topology().add_source("source", pattern="in-.*").add_processor("p", Place, "source").add_sink("k", "out", "p")
    )
    under_test = driver(topology, CONFIG)
    under_test.create_input_topic("in-a").pipe_input("v")
    under_test.create_input_topic("in-b").pipe_input("v")
    assert under_test.create_output_topic("out").read_values_to_list() == ["in-a-0@0", "in-b-0@1"]


def test_a_topic_name_that_reads_like_a_pattern_is_refused(driver: Drivers) -> None:
    under_test = driver(Topology().add_source("source", ["in.put"]).add_sink("sink", "out", "source"), CONFIG)
    with pytest.raises(TopologyError, match="reads like a pattern"):
        under_test.create_input_topic("in-put").pipe_input("v")


def test_what_the_topology_reads_itself_comes_back_in(driver: Drivers) -> None:
    topology = (
        Topology()
        .add_source("one", ["in"])
        .add_sink("middle", "between", "one")
        .add_source("two", ["between"])
        .add_sink("last", "out", "two")
    )
    under_test = driver(topology, CONFIG)
    under_test.create_input_topic("in").pipe_input("k", "v", 1)
    assert [record.topic for record in under_test.produced] == ["between", "out"]
    assert under_test.produced_topic_names == {"between", "out"}


def test_commits_after_every_record(driver: Drivers) -> None:
    under_test = driver(counting(), CONFIG)
    topic = under_test.create_input_topic("in")
    topic.pipe_input("a", "x", 1)
    topic.pipe_input("a", "x", 2)
    # A cache that holds more than one record would have let only the 2 through.
    out = under_test.create_output_topic("out", value_serde=serdes.long())
    assert out.read_key_values_to_list() == [("a", 1), ("a", 2)]
    assert [record.topic for record in under_test.produced] == ["app-counts-changelog", "out"] * 2


def test_views_of_a_timestamped_store(driver: Drivers) -> None:
    under_test = driver(counting(), CONFIG)
    under_test.create_input_topic("in").pipe_input("a", "x", 1)
    plain = under_test.key_value_store("counts")
    assert plain is not None
    assert plain.get("a") == 1
    assert plain.get("b") is None
    with plain.all() as entries:
        assert list(entries) == [("a", 1)]
    timestamped = under_test.timestamped_key_value_store("counts")
    assert timestamped is not None
    assert timestamped.get("a") == ValueAndTimestamp(1, 1)
    assert list(under_test.stores()) == ["counts"]


def test_writing_through_the_plain_view_has_no_timestamp(driver: Drivers) -> None:
    logged = driver(counting(caching=False), CONFIG).key_value_store("counts")
    assert logged is not None
    with pytest.raises(ArgumentError, match="timestamp -1"):
        logged.put("a", 5)
    under_test = driver(counting(caching=False, logging=False), CONFIG)
    plain, timestamped = under_test.key_value_store("counts"), under_test.timestamped_key_value_store("counts")
    assert plain is not None
    assert timestamped is not None
    plain.put("a", 5)
    assert timestamped.get("a") == ValueAndTimestamp(5, -1)


def test_a_table_is_the_replay_of_its_changelog(driver: Drivers) -> None:
    first, second = driver(counting(), CONFIG), driver(counting(), CONFIG)
    first.create_input_topic("in").pipe_key_value_list([("a", "x"), ("b", "x"), ("a", "x")], start=1)
    assert second.restore("counts", first.changelog("counts")) == 3
    ours, theirs = second.timestamped_key_value_store("counts"), first.timestamped_key_value_store("counts")
    assert ours is not None
    assert theirs is not None
    with ours.all() as found, theirs.all() as expected:
        assert list(found) == list(expected) != []


def test_the_wall_clock_cannot_go_back(driver: Drivers) -> None:
    under_test = driver(copy(), CONFIG, wall_clock_ms=5)
    under_test.advance_wall_clock_time(timedelta(seconds=1))
    assert under_test.wall_clock_ms == 1005
    with pytest.raises(ArgumentError):
        under_test.advance_wall_clock_time(-1)


def test_counts_drops_by_reason(driver: Drivers) -> None:
    under_test = driver(counting(), CONFIG)
    under_test.create_input_topic("in").pipe_input(None, "x", 1)
    assert under_test.dropped_records == 1
    assert sum(under_test.dropped_records_by_reason.values()) == 1
    total = [value for name, value in under_test.metrics().items() if name.name == "dropped-records-total"]
    assert total == [1]


class Fill(Processor):
    def process(self, record: Record[Any, Any]) -> None:
        self.context.store("shared").put(record.key, record.value)


class LookUp(Processor):
    def process(self, record: Record[Any, Any]) -> None:
        if record.value == "write":
            self.context.store("shared").put("k", "v")
        self.context.forward(record.with_value(self.context.store("shared").get(record.key)))


def with_global_store() -> Topology:
    builder = stores.key_value(stores.in_memory("shared")).with_logging_disabled()
    return (
        Topology()
        .add_global_store(builder, "global-source", "shared-topic", "fill", Fill)
        .add_source("source", ["in"])
        .add_processor("look-up", LookUp, "source")
        .add_sink("sink", "out", "look-up")
    )


def test_a_global_store_can_be_read_everywhere(driver: Drivers) -> None:
    under_test = driver(with_global_store(), CONFIG)
    under_test.create_input_topic("shared-topic").pipe_input("k", "found", 1)
    under_test.create_input_topic("in").pipe_input("k", "v", 1)
    assert under_test.create_output_topic("out").read_values_to_list() == ["found"]
    assert list(under_test.stores()) == ["shared"]


def test_a_global_store_is_read_only(driver: Drivers) -> None:
    under_test = driver(with_global_store(), CONFIG)
    with pytest.raises(ProcessingError, match="read-only") as raised:
        under_test.create_input_topic("in").pipe_input("k", "write", 1)
    assert isinstance(raised.value.__cause__, UnsupportedError)


def test_closing_deletes_the_state(tmp_path: Path) -> None:
    with TopologyTestDriver(counting().build(), {**CONFIG, "state.dir": str(tmp_path)}) as under_test:
        under_test.create_input_topic("in").pipe_input("a", "x", 1)
        assert (tmp_path / "app" / "0_0").is_dir()
    assert not (tmp_path / "app").exists()
    under_test.close()


def test_an_error_in_the_body_is_not_hidden_by_closing() -> None:
    class Stubborn(Processor):
        def process(self, record: Record[Any, Any]) -> None:
            """Nothing."""

        def close(self) -> None:
            raise ValueError("close")

    topology = Topology().add_source("source", ["in"]).add_processor("p", Stubborn, "source")
    with pytest.raises(KeyError, match="body"), TopologyTestDriver(topology, CONFIG):
        raise KeyError("body")


def test_closing_after_a_failure_does_not_fail_again() -> None:
    def refuse(value: int) -> int:
        raise ValueError("no")

    builder = StreamsBuilder()
    builder.stream("in").group_by_key().count(store="counts").to_stream().map_values(refuse).to("out")
    with TopologyTestDriver(builder.build(), CONFIG) as under_test, pytest.raises(StreamsError, match="counts"):
        under_test.create_input_topic("in").pipe_input("a", "x", 1)
