"""What users give by mistake, or in another form: topologies, timestamps, serdes, topics, queries."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from headrace import (
    Processor,
    Record,
    Streams,
    StreamsBuilder,
    TimeWindows,
    Topology,
    TopologyTestDriver,
    UnlimitedWindows,
    serdes,
    stores,
)
from headrace.config import StreamsConfig
from headrace.errors import (
    ArgumentError,
    ConfigError,
    IllegalStateError,
    OperatorTypeError,
    StreamsError,
    UnknownTopicError,
)
from headrace.functions import takes
from headrace.instants import to_timestamp
from headrace.query import KeyQuery, WindowKeyQuery, execute
from headrace.serde.given import SERDE_NAMES
from headrace.testing import TestRecord

NEW_YEAR = datetime(2024, 1, 1, tzinfo=timezone.utc)
NEW_YEAR_MS = 1_704_067_200_000


def copy_topology(**serdes_of_source: Any) -> Topology:
    builder = StreamsBuilder()
    builder.stream("in", **serdes_of_source).to("out")
    return builder.build()


@pytest.mark.parametrize("taker", [TopologyTestDriver, Streams])
def test_a_builder_is_not_a_topology(taker: Any) -> None:
    with pytest.raises(OperatorTypeError, match="takes a topology, found StreamsBuilder") as caught:
        taker(StreamsBuilder(), {"application.id": "a"})
    assert "builder.build()" in str(caught.value.hint)
    assert __file__ in str(caught.value.at)


@pytest.mark.parametrize(
    "instant",
    [
        NEW_YEAR,
        NEW_YEAR.astimezone(timezone(timedelta(hours=5, minutes=30))),
        NEW_YEAR.astimezone().replace(tzinfo=None),
        NEW_YEAR_MS,
    ],
    ids=["utc", "other zone", "local without a zone", "milliseconds"],
)
def test_timestamps_may_be_datetimes(instant: Any) -> None:
    with TopologyTestDriver(copy_topology(), wall_clock_ms=instant) as driver:
        topic = driver.create_input_topic("in", start=instant, auto_advance=1)
        topic.pipe_input("a", "x")
        topic.pipe_input("a", "x", instant)
        topic.pipe_input(TestRecord("a", "x", instant))
        topic.pipe_key_value_list([("a", "x")], start=instant)
        times = [record.timestamp for record in driver.create_output_topic("out")]
        assert times == [NEW_YEAR_MS] * 4
        assert driver.wall_clock_ms == NEW_YEAR_MS
    assert UnlimitedWindows(instant).start_ms == NEW_YEAR_MS
    assert Record("a", "x", 0).with_timestamp(instant).timestamp == NEW_YEAR_MS
    assert Record("a", "x", instant).timestamp == NEW_YEAR_MS


def test_parts_of_a_millisecond_are_cut_off_towards_the_past() -> None:
    assert to_timestamp(datetime(1969, 12, 31, 23, 59, 59, 999_900, tzinfo=timezone.utc)) == -1


@pytest.mark.parametrize("wrong", [1.5, "2024-01-01", True, None])
def test_other_timestamps_are_refused_with_a_hint(wrong: Any) -> None:
    with pytest.raises(ArgumentError, match="timestamp must be a datetime or whole milliseconds since 1970") as caught:
        Record("a", "x", 0).with_timestamp(wrong)
    assert "time.time() * 1000" in str(caught.value.hint)
    assert __file__ in str(caught.value.at)


def test_a_float_is_refused_where_it_is_piped() -> None:
    with TopologyTestDriver(copy_topology()) as driver, pytest.raises(ArgumentError, match=r"not 1\.5"):
        driver.create_input_topic("in").pipe_input("a", "x", timestamp=1.5)  # type: ignore[call-overload]


def test_an_extractor_may_give_a_datetime() -> None:
    with TopologyTestDriver(copy_topology(timestamp_extractor=lambda record, time: NEW_YEAR)) as driver:
        driver.create_input_topic("in").pipe_input("a", "x", timestamp=5)
        assert driver.create_output_topic("out").read_record().timestamp == NEW_YEAR_MS


def test_windows_are_asked_for_with_datetimes() -> None:
    builder = StreamsBuilder()
    counts = stores.in_memory_window("counts", timedelta(days=1), timedelta(hours=1))
    builder.stream("in").group_by_key().windowed_by(TimeWindows(timedelta(hours=1))).count(counts)
    with TopologyTestDriver(builder.build()) as driver:
        driver.create_input_topic("in").pipe_input("a", "x", NEW_YEAR + timedelta(minutes=7))
        assert driver.window_store("counts").fetch("a", NEW_YEAR) == 1
        found = execute(driver.store("counts"), WindowKeyQuery("a", NEW_YEAR, NEW_YEAR + timedelta(hours=1)))  # type: ignore[arg-type]
        assert [start for start, _ in found.result] == [NEW_YEAR_MS]


class Hexadecimal:
    def serialize(self, topic: str, value: int | None) -> bytes | None:
        return None if value is None else b"%x" % value

    def deserialize(self, topic: str, data: bytes | None) -> int | None:
        return None if data is None else int(data, 16)


@pytest.mark.parametrize("taker", [TopologyTestDriver, Streams])
def test_the_topology_comes_first(taker: Any) -> None:
    name = taker.__name__
    with pytest.raises(OperatorTypeError, match=f"{name} takes a topology, found dict") as caught:
        taker({"application.id": "a"}, copy_topology())
    assert caught.value.hint == f"The topology comes first: {name}(topology, config)."


def test_an_application_needs_a_configuration() -> None:
    with pytest.raises(OperatorTypeError) as caught:
        Streams(copy_topology())  # type: ignore[call-arg]
    assert caught.value.message == "Streams(): missing a required argument: 'config'"
    assert str(caught.value.hint).startswith('Call it as Streams(builder.build(), {"application.id": "my-app"})')
    assert __file__ in str(caught.value.at)
    with pytest.raises(OperatorTypeError, match=r"Streams\(\): too many positional arguments"):
        Streams(copy_topology(), {"application.id": "a"}, "local")  # type: ignore[call-arg]


@pytest.mark.parametrize("taker", [TopologyTestDriver, Streams])
@pytest.mark.parametrize("config", ["my-app", 5, copy_topology()])
def test_a_configuration_is_a_dict(taker: Any, config: Any) -> None:
    with pytest.raises(ConfigError, match=f"the settings are a dict, found {type(config).__name__}") as caught:
        taker(copy_topology(), config)
    assert '{"application.id": "my-app"}' in str(caught.value.hint)


def test_a_topic_is_given_by_position_and_serdes_by_their_names() -> None:
    builder = StreamsBuilder()
    stream: Any = builder.stream("in")
    read: Any = builder.stream
    table: Any = builder.table
    calls: tuple[tuple[Callable[[], Any], str], ...] = (
        (lambda: read(serdes.string(), "lines"), "stream(topics, key_serde=..., value_serde=...)"),
        (lambda: read("lines", serdes.string(), serdes.json), "stream(topics, key_serde=..., value_serde=...)"),
        (lambda: table("rates", serdes.string()), "table(topic, key_serde=..., value_serde=...)"),
        (lambda: stream.to("out", serdes.string(), serdes.json()), "to(topic, key_serde=..., value_serde=...)"),
        (
            lambda: stream.group_by(lambda key, value: value, serdes.string()),
            "group_by(mapper, key_serde=..., value_serde=...)",
        ),
    )
    for call, right in calls:
        with pytest.raises(OperatorTypeError, match="too many positional arguments") as caught:
            call()
        assert caught.value.hint == f"Serdes are given by their names: {right}."
        assert __file__ in str(caught.value.at)


@pytest.mark.parametrize("topic", [serdes.string(), 5])
def test_what_is_no_topic_is_refused_with_the_right_call(topic: Any) -> None:
    builder: Any = StreamsBuilder()
    for name in ("stream", "table", "global_table"):
        with pytest.raises(OperatorTypeError, match="the name of a topic is text") as caught:
            getattr(builder, name)(topic)
        assert caught.value.hint == f'The topic comes first: {name}("topic", key_serde=..., value_serde=...).'


def test_other_arguments_without_their_names_are_told_which_take_one() -> None:
    stream: Any = StreamsBuilder().stream("in")
    with pytest.raises(OperatorTypeError, match="too many positional arguments") as caught:
        stream.filter(lambda key, value: True, "even")
    assert caught.value.hint == "Without a name it takes predicate; by their names name."


@pytest.mark.parametrize(
    ("wrong", "near"),
    [
        ("jsn", "json"), ("JSON", "json"), ("strng", "string"), ("str", "string"), (int, "long"), (dict, "json"),
        ("int32", "integer"), ("bool", "boolean"),
    ],
)  # fmt: skip
def test_a_serde_that_is_nearly_right_is_told(wrong: Any, near: str) -> None:
    with pytest.raises(OperatorTypeError, match="value_serde must be a serde") as caught:
        copy_topology(value_serde=wrong)
    assert str(caught.value.hint).startswith(f"Did you mean {near!r}? Give an object, such as serdes.string()")
    with pytest.raises(ConfigError, match=r"default\.value\.serde must be a serde") as configured:
        _ = StreamsConfig({"default.value.serde": wrong}).default_value_serde
    assert str(configured.value.hint).startswith(f"Did you mean {near!r}?")


@pytest.mark.parametrize("given", ["json", serdes.json, serdes.json()], ids=["name", "function", "object"])
def test_a_serde_may_be_given_by_name_or_without_the_call(given: Any) -> None:
    with TopologyTestDriver(copy_topology(value_serde=given)) as driver:
        driver.create_input_topic("in", value_serde=given).pipe_input("a", {"n": 1})
        assert driver.create_output_topic("out", value_serde=given).read_value() == {"n": 1}


def test_a_serde_class_stands_for_an_object_of_it() -> None:
    topology = (
        Topology().add_source("in", "in", value_serde=Hexadecimal).add_sink("out", "out", "in", value_serde="long")
    )
    with TopologyTestDriver(topology) as driver:
        driver.create_input_topic("in", None, Hexadecimal()).pipe_input("a", 255)
        assert driver.create_output_topic("out", None, serdes.long()).read_value() == 255


def test_stores_take_serdes_in_every_form() -> None:
    class Count(Processor):
        def init(self, context: Any) -> None:
            self.seen = context.store("seen")

        def process(self, record: Any) -> None:
            self.seen.put(record.key, (self.seen.get(record.key) or 0) + 1)

    forms: tuple[Any, Any] = ("string", serdes.long)
    seen = stores.key_value(stores.in_memory("seen"), *forms)
    topology = Topology().add_source("in", "in").add_processor("count", Count, "in").add_state_store(seen, "count")
    with TopologyTestDriver(topology) as driver:
        driver.create_input_topic("in").pipe_input("a", "x")
        assert driver.key_value_store("seen").get("a") == 1


class NeedsMore(Hexadecimal):
    def __init__(self, base: int) -> None:
        self.base = base


@pytest.mark.parametrize("wrong", ["jason", 5, NeedsMore, object()])
def test_what_is_no_serde_is_refused_at_the_line(wrong: Any) -> None:
    with pytest.raises(OperatorTypeError, match="value_serde must be a serde") as caught:
        StreamsBuilder().stream("in", value_serde=wrong)
    assert "json" in str(caught.value.hint)
    assert __file__ in str(caught.value.at)


def test_every_serde_that_needs_no_arguments_has_a_name() -> None:
    known = {name: inspect.signature(getattr(serdes, name)) for name in serdes.__all__ if name != "Serde"}
    assert {name for name, signature in known.items() if takes(signature, 0)} == set(SERDE_NAMES)


def test_joins_take_serdes_by_name() -> None:
    builder = StreamsBuilder()
    other: Any = builder.stream("other")
    joined: Any = builder.stream("in").select_key(lambda key, value: value)
    joined.join(other.to_table(value_serde="json"), lambda left, right: left, value_serde="json", key_serde="string")
    with pytest.raises(OperatorTypeError, match="key_serde must be a serde"):
        joined.join(other.to_table(), lambda left, right: left, key_serde="strin")


def test_a_misspelt_output_topic_is_refused_with_the_nearest_name() -> None:
    with TopologyTestDriver(copy_topology()) as driver:
        with pytest.raises(UnknownTopicError, match="does not write to the topic 'outt'") as caught:
            driver.create_output_topic("outt")
        assert caught.value.hint == "Did you mean 'out'?"
        assert driver.create_output_topic("never-written").is_empty


def test_topics_that_functions_name_are_not_held_against_a_list() -> None:
    builder = StreamsBuilder()
    builder.stream("in").to(lambda key, value, context: "outt")
    builder.stream("in").to("out")
    with TopologyTestDriver(builder.build()) as driver:
        driver.create_input_topic("in").pipe_input("a", "x")
        assert driver.create_output_topic("outt").read_value() == "x"


def test_the_arguments_of_a_query_may_not_be_swapped() -> None:
    app = Streams(copy_topology(), {"application.id": "a"})
    with pytest.raises(OperatorTypeError, match="the name of the store first") as caught:
        app.query(KeyQuery("a"), "counts")  # type: ignore[arg-type]
    assert caught.value.hint == "query('counts', KeyQuery(key='a', skip_cache=False))"
    with pytest.raises(OperatorTypeError, match="takes the name of a store and a question"):
        app.query("counts", "a")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("pipe", "said", "hint"),
    [
        (lambda topic: topic.pipe_key_value_list(["ab"]), r"a record must be \(key, value\), found 'ab'", '("a", "x")'),
        (
            lambda topic: topic.pipe_key_value_list([("a", "x", 7)]),
            r"must be \(key, value\), found \('a',",
            '("a", "x")',
        ),
        (lambda topic: topic.pipe_key_value_list([TestRecord("a", "x")]), "found TestRecord", '("a", "x")'),
        (lambda topic: topic.pipe_key_value_list({"a": "x"}), r"a list of \(key, value\) pairs is needed", "items()"),
        (lambda topic: topic.pipe_key_value_list(None), "pairs is needed, found None", '("a", "x")'),
        (lambda topic: topic.pipe_value_list("abc"), "a list of values is needed, found 'abc'", '["x", "y"]'),
        (lambda topic: topic.pipe_value_list(5), "a list of values is needed, found 5", '["x", "y"]'),
        (lambda topic: topic.pipe_record_list([("a", "x")]), "must be a TestRecord, found", 'TestRecord("a", "x")'),
        (lambda topic: topic.pipe_record_list(5), "a list of TestRecord objects is needed", 'TestRecord("a", "x")'),
        (lambda topic: topic.pipe_input(Record("a", "x", 7)), "found Record", "record.key, record.value"),
        (lambda topic: topic.pipe_input("a", "x", headers=[("h", "text")]), "pairs of text and bytes", 'b"1"'),
        (lambda topic: topic.pipe_input("a", "x", headers="h"), "must be pairs of text and bytes, found 'h'", 'b"1"'),
        (lambda topic: topic.pipe_input("a", "x", headers=5), "must be pairs of text and bytes, found 5", 'b"1"'),
    ],
)
def test_what_is_piped_in_another_form_is_refused_with_the_right_one(pipe: Any, said: str, hint: str) -> None:
    with TopologyTestDriver(copy_topology()) as driver:
        with pytest.raises(ArgumentError, match=said) as caught:
            pipe(driver.create_input_topic("in"))
        assert driver.produced == []
    assert hint in str(caught.value.hint)
    assert __file__ in str(caught.value.at)


def test_headers_may_be_a_dict() -> None:
    with TopologyTestDriver(copy_topology()) as driver:
        driver.create_input_topic("in").pipe_input("a", "x", headers={"trace": b"1"})
        assert driver.create_output_topic("out").read_record().headers == [("trace", b"1")]


@pytest.mark.parametrize(
    ("call", "said", "hint"),
    [
        (lambda driver: driver.create_input_topic(5), r"create_input_topic\(\): the name of a topic is text", "first"),
        (lambda driver: driver.create_output_topic(None), "is text, not None", "first"),
        (lambda driver: driver.pipe_record("in", "a", "x", 7), "takes bytes, found 'a' and 'x'", "pipe_input"),
        (lambda driver: driver.restore("rows", {"a": "x"}), "found 'a'", "other.changelog('rows')"),
        (lambda driver: driver.restore("rows", 5), "found 5", "other.changelog('rows')"),
        (
            lambda driver: driver.key_value_store("rows").prefix_scan("a", "txt"),
            "must be a serde, found 'txt'",
            "names",
        ),
    ],
)
def test_a_driver_says_what_it_takes(call: Any, said: str, hint: str) -> None:
    builder = StreamsBuilder()
    builder.table("in", store=stores.in_memory("rows"))
    with TopologyTestDriver(builder.build()) as driver, pytest.raises(OperatorTypeError, match=said) as caught:
        list(call(driver))
    assert hint in str(caught.value.hint)


def test_a_prefix_may_have_the_name_of_its_serde() -> None:
    builder = StreamsBuilder()
    builder.table("in", store=stores.in_memory("rows"))
    with TopologyTestDriver(builder.build()) as driver:
        driver.create_input_topic("in").pipe_key_value_list([("ab", "x"), ("b", "y")])
        assert list(driver.key_value_store("rows").prefix_scan("a", "string")) == [("ab", "x")]


def test_a_closed_driver_takes_no_records() -> None:
    with TopologyTestDriver(copy_topology()) as driver:
        lines = driver.create_input_topic("in")
    with pytest.raises(IllegalStateError, match="the driver is closed"):
        lines.pipe_input("a", "x")


def built(build: Any) -> Any:
    """What ``build`` gives, for a stream that it is handed."""
    return build(StreamsBuilder().stream("in"))


@pytest.mark.parametrize(
    ("build", "said", "hint"),
    [
        (lambda stream: stream.repartition(partitions="3"), "partitions must be a whole number, 1 or more", "Leave"),
        (lambda stream: stream.repartition(partitions=0), "1 or more, found 0", "Leave"),
        (
            lambda stream: stream.group_by_key().count(logging="yes"),
            "logging= takes True, False or a dict",
            "retention",
        ),
        (lambda stream: stream.group_by_key().count(caching="no"), "caching= takes True or False, not 'no'", "None"),
        (
            lambda _, name="string": serdes.list(name),
            r"serdes.list\(\) takes a serde, found 'string'",
            "serdes.string()",
        ),
        (lambda _, name="string": serdes.windowed(name, 5), r"serdes.windowed\(\) takes a serde", "serdes.string()"),
        (lambda _, most="5": stores.lru("recent", most), "max_entries must be a whole number, found '5'", "1000"),
        (lambda _: stores.key_value("counts"), "takes a supplier, found 'counts'", "stores.persistent"),
        (lambda _: stores.window(stores.in_memory("w")), "makes no store of the kind window", "persistent_window"),
        (lambda _: stores.session(stores.in_memory("w")), "makes no store of the kind session", "persistent_session"),
        (lambda _: stores.key_value(stores.persistent_session("w", 5)), "no store of the kind kv", "in_memory"),
        (
            lambda _, given=5: Record("a", "x", 7, headers=given),
            "headers must be pairs of text and bytes, found 5",
            "trace",
        ),
        (
            lambda _, given="text": Record("a", "x", 7).with_headers([("h", given)]),
            "must be pairs of text and bytes",
            "trace",
        ),
    ],
)
def test_options_of_another_form_are_refused_where_they_are_given(build: Any, said: str, hint: str) -> None:
    with pytest.raises(ArgumentError, match=said) as caught:
        built(build)
    assert hint in str(caught.value.hint)


@pytest.mark.parametrize("chosen", ["0", 1.5, ["0"]])
def test_a_partitioner_gives_numbers(chosen: Any) -> None:
    builder = StreamsBuilder()
    builder.stream("in").to("out", partitioner=lambda topic, key, value, count: chosen)
    with (
        TopologyTestDriver(builder.build()) as driver,
        pytest.raises(StreamsError, match="partitioner of the topic 'out'"),
    ):
        driver.create_input_topic("in").pipe_input("a", "x")


def test_a_stream_says_that_tables_are_suppressed() -> None:
    with pytest.raises(AttributeError, match=r"suppress\(\.\.\.\) of a table"):
        getattr(StreamsBuilder().stream("in"), "suppress")  # noqa: B009
