"""Typed records in and out of topics without an application."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

import headrace
from headrace import Record, Streams, StreamsBuilder, Topics, serdes
from headrace.broker.embedded import EmbeddedBroker
from headrace.errors import (
    ArgumentError,
    ConfigError,
    IllegalStateError,
    OperatorTypeError,
    SerializationError,
    TopicExistsError,
    UnknownTopicError,
    UnsupportedError,
    WrongTypeError,
)
from headrace.partitioning import default_partition
from headrace.records import Headers


@pytest.fixture
def topics(tmp_path: Path) -> Iterator[Topics]:
    with headrace.topics(f"embedded:{tmp_path / 'data'}") as topics:
        topics.create("lines", partitions=3)
        yield topics


def values(topics: Topics, topic: str = "lines", **options: Any) -> list[Any]:
    return [record.value for record in topics.consume(topic, **options)]


class TestManaging:
    def test_topics_are_made_listed_altered_described_and_deleted(self, topics: Topics) -> None:
        topics.create("users", config={"cleanup.policy": "compact"})
        assert topics.names() == {"lines": 3, "users": 1}
        topics.alter("users", partitions=2, config={"retention.ms": -1})
        found = topics.describe("users")
        assert len(found.partitions) == 2
        assert (found.config["cleanup.policy"], found.config["retention.ms"]) == ("compact", "-1")
        with pytest.raises(TopicExistsError):
            topics.create("users")
        topics.delete("users")
        assert topics.names() == {"lines": 3}

    def test_partitions_that_state_cannot_follow_are_not_added_without_being_asked_for(
        self, topics: Topics, tmp_path: Path
    ) -> None:
        builder = StreamsBuilder()
        builder.stream("lines").group_by_key().count("totals")
        settings = {"application.id": "app", "bootstrap.servers": topics.address, "state.dir": str(tmp_path / "state")}
        with Streams(builder.build(), settings, engine="local") as app:
            app.run_until_idle()
        with pytest.raises(
            IllegalStateError, match=r"the partitions of lines as they are \(app has totals\)"
        ) as caught:
            topics.alter("lines", partitions=4)
        assert caught.value.hint == "Say force=True to add them all the same."
        assert topics.names() == {"app-totals-changelog": 3, "lines": 3}
        topics.alter("lines", partitions=3, config={"retention.ms": -1})
        topics.alter("lines", partitions=4, force=True)
        assert topics.names()["lines"] == 4

    def test_looking_makes_no_directory(self, tmp_path: Path) -> None:
        with headrace.topics(f"embedded:{tmp_path / 'nowhere'}") as topics:
            assert topics.names() == {}
            with pytest.raises(UnknownTopicError, match=r"there are no topics at embedded:.*nowhere"):
                topics.consume("lines")
        assert list(tmp_path.iterdir()) == []

    def test_a_misspelt_topic_gets_the_nearest_name(self, topics: Topics) -> None:
        with pytest.raises(UnknownTopicError, match="there is no topic 'line'") as caught:
            topics.produce("line", None, "a")
        assert caught.value.hint == "Did you mean 'lines'?"

        with pytest.raises(UnknownTopicError) as caught:
            topics.consume("nope")
        assert str(caught.value.hint).startswith("topics.names() gives those there are")

    def test_a_directory_without_topics_says_where_to_look(self, topics: Topics) -> None:
        topics.delete("lines")
        with pytest.raises(UnknownTopicError) as caught:
            topics.consume("lines")
        assert topics.address in str(caught.value.detail)
        assert "headrace.topics(ADDRESS)" in str(caught.value.hint)
        assert "--broker" in str(caught.value.hint)

    def test_can_be_used_again_after_it_was_closed(self, topics: Topics) -> None:
        topics.close()
        topics.produce("lines", None, "a")
        assert repr(topics) == f"Topics({topics.address!r})"


class TestProducing:
    def test_the_key_decides_the_partition_as_in_kafka(self, topics: Topics) -> None:
        for key in ("alice", "bob", "carol"):
            found = topics.produce("lines", key, "v")
            assert found == ("lines", default_partition(key.encode(), 3), found.offset)

    def test_a_record_comes_back_as_it_was_sent(self, topics: Topics) -> None:
        at = datetime(2026, 7, 1, tzinfo=timezone.utc)
        topics.produce("lines", "k", "v", timestamp=at, headers={"a": b"1", "b": None}, partition=2)
        (record,) = topics.consume("lines")
        assert (record.topic, record.partition, record.offset) == ("lines", 2, 0)
        assert (record.key, record.value, record.timestamp) == ("k", "v", int(at.timestamp() * 1000))
        assert record.headers == Headers([("a", b"1"), ("b", None)])

    def test_many_at_once_in_every_form(self, topics: Topics) -> None:
        topics.create("copy")
        sent = [("a", "1"), ("b", "2", 7), Record("c", "3", 8, Headers([("h", b"x")]))]
        assert topics.produce_all("lines", sent) == 3
        assert topics.produce_all("copy", topics.consume("lines")) == 3
        copied = {record.key: record for record in topics.consume("copy")}
        assert {key: record.value for key, record in copied.items()} == {"a": "1", "b": "2", "c": "3"}
        assert (copied["b"].timestamp, copied["c"].timestamp) == (7, 8)
        assert copied["c"].headers == Headers([("h", b"x")])

    def test_all_or_none(self, topics: Topics) -> None:
        with pytest.raises(ArgumentError, match=r"a record must be \(key, value\)"):
            topics.produce_all("lines", [("a", "1"), "oops"])
        assert values(topics) == []

    def test_a_value_that_the_serde_cannot_write_is_refused(self, topics: Topics) -> None:
        with pytest.raises(WrongTypeError, match="found int"):
            topics.produce("lines", "k", 7)

    def test_a_partition_that_is_not_there_is_refused(self, topics: Topics) -> None:
        with pytest.raises(ArgumentError, match="topic lines has no partition 3"):
            topics.produce("lines", "k", "v", partition=3)


class TestSerdes:
    def test_by_name_for_all_calls_or_for_one(self, tmp_path: Path) -> None:
        with headrace.topics(f"embedded:{tmp_path}", key_serde="long", value_serde=serdes.json()) as topics:
            topics.create("purchases")
            topics.produce("purchases", 7, {"amount": 3})
            topics.produce("purchases", "x", None, key_serde="string")
            assert [record.value for record in topics.consume("purchases", key_serde="bytes")] == [{"amount": 3}, None]

    def test_an_unknown_name_is_refused(self, topics: Topics) -> None:
        with pytest.raises(OperatorTypeError, match="value_serde must be a serde, found 'jsn'"):
            topics.consume("lines", value_serde="jsn")

    def test_a_record_that_cannot_be_read_is_named(self, topics: Topics) -> None:
        topics.produce("lines", "k", "no number", partition=1)
        with pytest.raises(SerializationError) as caught:
            list(topics.consume("lines", value_serde="long"))
        assert caught.value.at == "the value of the record lines-1@0"


class TestConsuming:
    @pytest.fixture(autouse=True)
    def records(self, topics: Topics) -> None:
        for number in range(6):
            topics.produce("lines", None, str(number), timestamp=1000 * number, partition=number % 2)

    def test_partitions_come_in_order_of_time(self, topics: Topics) -> None:
        assert values(topics) == ["0", "1", "2", "3", "4", "5"]
        assert values(topics, partitions=[1]) == ["1", "3", "5"]
        assert values(topics, limit=2) == ["0", "1"]
        assert values(topics, limit=0) == []

    @pytest.mark.parametrize(
        ("from_", "expected"),
        [
            ("latest", []),
            (2, ["4", "5"]),
            (-1, ["4", "5"]),
            (99, []),
            (datetime.fromtimestamp(2.5, timezone.utc), ["3", "4", "5"]),
            ({0: 1, 1: 2}, ["2", "4", "5"]),
            ({1: 2}, ["5"]),
        ],
    )
    def test_from_somewhere(self, topics: Topics, from_: Any, expected: list[str]) -> None:
        assert values(topics, from_=from_) == expected

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"from_": "middle"}, "from_ cannot be 'middle'"),
            ({"from_": {7: 0}}, "from_ names the partition 7"),
            ({"partitions": [3]}, "topic lines has no partition 3"),
            ({"limit": -1}, "limit must be a whole number"),
        ],
    )
    def test_what_cannot_be_meant_is_refused_at_once(
        self, topics: Topics, options: dict[str, Any], message: str
    ) -> None:
        with pytest.raises(ArgumentError, match=message):
            topics.consume("lines", **options)

    def test_without_a_timeout_it_ends_at_what_was_the_end(self, topics: Topics) -> None:
        reading = topics.consume("lines", from_=2)
        topics.produce("lines", None, "late", partition=0)
        assert [record.value for record in reading] == ["4", "5"]

    def test_with_a_timeout_it_waits_for_more(self, topics: Topics) -> None:
        reading = topics.consume("lines", from_="latest", timeout=timedelta(seconds=20), limit=2)
        later = threading.Timer(0.1, lambda: topics.produce_all("lines", [("k", "a"), ("k", "b")]))
        later.start()
        assert [record.value for record in reading] == ["a", "b"]
        later.join()

    def test_and_ends_when_nothing_comes(self, topics: Topics) -> None:
        assert values(topics, from_="latest", timeout=timedelta(milliseconds=60)) == []

    def test_what_was_deleted_is_passed_over(self, topics: Topics) -> None:
        broker = topics._broker()
        assert isinstance(broker, EmbeddedBroker)
        broker.delete_records({("lines", 0): 2})
        assert values(topics, from_={0: 0, 1: 2}) == ["4", "5"]


class TestTables:
    def test_a_topic_as_arrow_and_pandas(self, topics: Topics) -> None:
        options: dict[str, Any] = {"value_serde": "json", "key_serde": "long"}
        topics.produce("lines", 1, {"n": 1, "who": "a"}, timestamp=5, headers={"h": b"x"}, partition=0, **options)
        topics.produce("lines", 2, {"n": 2, "who": None}, timestamp=6, partition=2, **options)
        table = topics.to_arrow("lines", **options)
        assert table.column_names == ["key", "value", "timestamp", "partition", "offset", "headers"]
        assert table.to_pylist()[0] == {
            "key": 1,
            "value": {"n": 1, "who": "a"},
            "timestamp": 5,
            "partition": 0,
            "offset": 0,
            "headers": [{"name": "h", "value": b"x"}],
        }
        assert topics.to_arrow("lines", from_="latest", **options).num_rows == 0
        frame = topics.to_pandas("lines", limit=1, **options)
        assert frame["key"].tolist() == [1]

    def test_values_without_a_common_type_are_json(self, topics: Topics) -> None:
        topics.produce("lines", None, 1, value_serde="json", partition=0, timestamp=1)
        topics.produce("lines", None, {"n": 2}, value_serde="json", partition=0, timestamp=2)
        assert topics.to_arrow("lines", value_serde="json")["value"].to_pylist() == ["1", '{"n":2}']


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (
            lambda topics: topics.produce("lines", "a", "x", partition="0"),
            "partition must be a whole number, found '0'",
        ),
        (lambda topics: topics.produce("lines", "a", "x", headers=5), "headers must be pairs of text and bytes"),
        (lambda topics: topics.produce_all("lines", 5), "a list of records is needed, found 5"),
        (lambda topics: topics.produce_all("lines", "abc"), "a list of records is needed, found 'abc'"),
        (lambda topics: topics.produce_all("lines", ["ab"]), "a record must be .* found 'ab'"),
        (lambda topics: topics.consume("lines", partitions=0), "partitions must be a list of numbers, found 0"),
    ],
)
def test_arguments_of_another_form_are_refused_with_the_right_one(topics: Topics, call: Any, said: str) -> None:
    with pytest.raises(ArgumentError, match=said) as caught:
        call(topics)
    assert caught.value.hint
    assert values(topics) == []


@pytest.mark.parametrize("address", [5, None, Path("data")])
def test_an_address_is_text(address: Any) -> None:
    with pytest.raises(UnsupportedError, match="no broker can be opened at") as caught:
        headrace.topics(address)
    assert "embedded:DIRECTORY" in str(caught.value.hint)


def test_settings_are_a_dict() -> None:
    with pytest.raises(ConfigError, match="the settings are a dict, found str"):
        headrace.topics("embedded:data", settings="security.protocol=SSL")  # type: ignore[arg-type]


@pytest.mark.parametrize("part", ["key", "value"])
def test_what_does_not_fit_a_serde_is_told_by_its_part(topics: Topics, part: str) -> None:
    with pytest.raises(WrongTypeError, match=r"string\(\) expected str, found int") as written:
        topics.produce("lines", *((5, "x") if part == "key" else ("a", 5)))
    assert f"Give {part}_serde= the serde that writes int" in str(written.value.hint)
    assert f"the {part} of a record for the topic lines, {__file__}" in str(written.value.at)
    topics.produce("lines", "a", "x", partition=0)
    with pytest.raises(SerializationError, match=r"long\(\) expected 8 bytes") as read:
        values(topics, **{f"{part}_serde": "long"})
    assert f"Give {part}_serde= the serde that wrote it" in str(read.value.hint)
    assert read.value.at == f"the {part} of the record lines-0@0"
