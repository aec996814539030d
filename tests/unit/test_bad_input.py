"""Bad input: each mistake gives one error that says what is wrong, where, and what to do about it."""

from __future__ import annotations

import inspect
import re
from typing import Any

import pytest

from headrace import (
    BufferConfig,
    JoinWindows,
    Processor,
    Record,
    StreamsBuilder,
    Suppressed,
    Topology,
    TopologyTestDriver,
    errors,
    handlers,
    serdes,
    stores,
)
from headrace.config import StreamsConfig
from headrace.testing import TestRecord


def line() -> int:
    """The line of the caller."""
    frame = inspect.currentframe()
    assert frame is not None and frame.f_back is not None
    return frame.f_back.f_lineno


def driver(builder: StreamsBuilder | Topology, **settings: Any) -> TopologyTestDriver:
    topology = builder.build() if isinstance(builder, StreamsBuilder) else builder
    dotted = {name.replace("_", "."): value for name, value in settings.items()}
    return TopologyTestDriver(topology, {"application.id": "app", **dotted})


class Nothing(Processor):
    def process(self, record: Any) -> None: ...


# Operators


def test_an_unknown_argument_of_an_operator_suggests_the_nearest() -> None:
    stream = StreamsBuilder().stream("in")

    with pytest.raises(errors.OperatorTypeError) as caught:
        stream.map_values(lambda value: value, nmae="upper")  # type: ignore[call-overload]

    assert caught.value.message == "KStream.map_values() has no argument 'nmae'"
    assert caught.value.hint == "Did you mean name=?"
    assert caught.value.at == f"{__file__}:{line() - 4}"
    assert isinstance(caught.value, TypeError)


def test_without_a_near_one_it_lists_what_there_is() -> None:
    with pytest.raises(errors.OperatorTypeError) as caught:
        StreamsBuilder().stream("in").filter(lambda key, value: True, zzz=1)  # type: ignore[call-arg]

    assert caught.value.message == "KStream.filter() has no argument 'zzz'"
    assert caught.value.hint == "It takes predicate, name."


def test_the_joins_of_a_stream_are_checked_as_what_the_user_called() -> None:
    builder = StreamsBuilder()
    left, right, table = builder.stream("left"), builder.stream("right"), builder.table("table")

    with pytest.raises(errors.OperatorTypeError) as caught:
        left.left_join(table, lambda a, b: a, gracee=10)  # type: ignore[call-overload]
    assert caught.value.message == "KStream.left_join() has no argument 'gracee'"
    assert caught.value.hint == "Did you mean grace=?"
    assert caught.value.at == f"{__file__}:{line() - 3}"

    with pytest.raises(errors.OperatorTypeError) as caught:
        left.join(right, lambda a, b: a)  # type: ignore[call-overload]
    assert caught.value.message == "KStream.join(): missing a required argument: 'windows'"
    assert "JoinWindows(timedelta(minutes=5))" in str(caught.value.hint)

    with pytest.raises(errors.OperatorTypeError) as caught:
        left.join("right", lambda a, b: a, JoinWindows(10))  # type: ignore[call-overload]
    assert caught.value.message == "join() joins with a KStream, KTable or GlobalKTable, not 'right'"


def test_a_function_of_the_wrong_arity_is_refused_where_it_is_given() -> None:
    with pytest.raises(errors.OperatorTypeError) as caught:
        StreamsBuilder().stream("in").filter(lambda value: value)  # type: ignore[arg-type, misc]

    assert caught.value.message == "filter(): predicate is called with 2 argument(s), but takes (value)"
    assert str(caught.value.detail).endswith(f"<lambda> at {__file__}:{line() - 3}")
    assert caught.value.hint == "Let the function take just these arguments."
    assert caught.value.at == f"{__file__}:{line() - 5}"


def test_one_that_wants_the_key_as_well_hears_of_with_key() -> None:
    builder = StreamsBuilder()

    with pytest.raises(errors.OperatorTypeError) as caught:
        builder.stream("in").map_values(lambda key, value: value)  # type: ignore[arg-type, misc]
    assert caught.value.message == "map_values(): mapper is called with 1 argument(s), but takes (key, value)"
    assert caught.value.hint == "with_key=True gives the function the key as well."

    with pytest.raises(errors.OperatorTypeError) as caught:
        builder.table("left").join(builder.table("right"), lambda key, left, right: left)  # type: ignore[arg-type, misc]
    assert caught.value.hint == "Let the function take just these arguments."  # joins of tables have no such switch


def test_what_cannot_be_called_is_no_function() -> None:
    with pytest.raises(errors.OperatorTypeError) as caught:
        StreamsBuilder().stream("in").group_by_key().reduce("sum")  # type: ignore[arg-type]

    assert caught.value.message == "reduce(): reducer must be a function of 2 argument(s), not 'sum'"
    assert caught.value.hint == "Give a function, a lambda or another callable."
    assert caught.value.at == f"{__file__}:{line() - 4}"


# Serdes


def test_a_serde_that_does_not_fit_the_value_names_sink_record_and_the_serde_to_give() -> None:
    builder = StreamsBuilder()
    builder.stream("in").map_values(len).to("out")

    with driver(builder) as under_test, pytest.raises(errors.ProcessingError) as caught:
        under_test.create_input_topic("in").pipe_input("a", "four")

    assert caught.value.message == (
        "the value serde of the topic 'out' does not fit the value: string() expected str, found int"
    )
    assert caught.value.detail == "found 4"
    assert str(caught.value.hint).startswith("Give the operator or topic the serde that writes int: serdes.long();")
    assert re.fullmatch(
        rf"{__file__}:\d+, node KSTREAM-MAPVALUES-0000000001, node KSTREAM-SINK-0000000002, record in-0@0",
        str(caught.value.at),
    )


def test_a_generator_is_told_where_it_belongs() -> None:
    builder = StreamsBuilder()
    builder.stream("in").map_values(lambda value: (word for word in value.split())).to("out")

    with driver(builder) as under_test, pytest.raises(errors.ProcessingError) as caught:
        under_test.create_input_topic("in").pipe_input("a", "x y")

    assert caught.value.hint == "A function with yield gives many values: use flat_map or flat_map_values for it."


def test_so_does_one_right_below_a_source() -> None:
    builder = StreamsBuilder()
    builder.stream("in", key_serde=serdes.long()).to("out", key_serde=serdes.string())  # type: ignore[arg-type]

    with driver(builder) as under_test, pytest.raises(errors.StreamsError) as caught:
        under_test.create_input_topic("in", serdes.long()).pipe_input(1, "x")

    assert "the key serde of the topic 'out' does not fit the key: string() expected str, found int" in str(
        caught.value
    )
    assert re.fullmatch(rf"{__file__}:\d+, node KSTREAM-SINK-0000000001, record in-0@0", str(caught.value.at))


def test_one_of_a_store_names_the_operator() -> None:
    builder = StreamsBuilder()
    builder.stream("in").group_by_key().aggregate(int, lambda key, value, total: total + 1, store="totals")

    with driver(builder) as under_test, pytest.raises(errors.ProcessingError) as caught:
        under_test.create_input_topic("in").pipe_input("a", "x")

    assert caught.value.message == "string() expected str, found int"
    assert "serdes.long()" in str(caught.value.hint)
    assert re.fullmatch(rf"{__file__}:\d+, node KSTREAM-AGGREGATE-0000000001, record in-0@0", str(caught.value.at))


def test_a_value_that_json_cannot_say_is_named_with_its_sink() -> None:
    builder = StreamsBuilder()
    builder.stream("in").map_values(lambda value: {1j}).to("out", value_serde=serdes.json())

    with driver(builder) as under_test, pytest.raises(errors.ProcessingError) as caught:
        under_test.create_input_topic("in").pipe_input("a", "x")

    assert caught.value.message.startswith(
        "could not serialize the value of a record for the topic 'out': json() cannot write a set:"
    )
    assert caught.value.detail == "found {1j}"
    assert str(caught.value.hint).startswith("JSON has dicts with text keys")
    assert re.fullmatch(
        rf"{__file__}:\d+, node KSTREAM-MAPVALUES-0000000001, node KSTREAM-SINK-0000000002, record in-0@0",
        str(caught.value.at),
    )


def test_a_test_that_pipes_what_its_serde_does_not_write_sees_its_own_line() -> None:
    builder = StreamsBuilder()
    builder.stream("in").to("out")

    with driver(builder) as under_test, pytest.raises(errors.WrongTypeError) as caught:
        under_test.create_input_topic("in").pipe_input("a", 1)

    assert caught.value.message == "string() expected str, found int"
    assert "serdes.long()" in str(caught.value.hint)
    assert caught.value.at == f"the value piped into the topic in, {__file__}:{line() - 4}"


# Functions that raise


def fails(value: str) -> int:
    return int(value)


def test_a_function_that_raises_is_shown_with_node_record_and_line() -> None:
    builder = StreamsBuilder()
    builder.stream("in").map_values(fails, name="parse").to("out", value_serde=serdes.long())

    with driver(builder) as under_test:
        numbers = under_test.create_input_topic("in")
        numbers.pipe_input("a", "1")
        with pytest.raises(errors.ProcessingError) as caught:
            numbers.pipe_input("a", "one")

    assert caught.value.message == "ValueError: invalid literal for int() with base 10: 'one'"
    assert str(caught.value.hint).startswith("Set processing.exception.handler to log_and_continue")
    assert caught.value.at == f"{__file__}:{inspect.getsourcelines(fails)[1] + 1}, node parse, record in-0@1"
    assert isinstance(caught.value.__cause__, ValueError)


def test_so_is_one_that_raises_in_a_punctuation_or_in_init() -> None:
    class Failing(Nothing):
        def init(self, context: Any) -> None:
            raise KeyError("no such thing")

    builder = StreamsBuilder()
    builder.stream("in").process(Failing, name="failing")

    with pytest.raises(errors.StreamsError) as caught:
        driver(builder)

    assert caught.value.message == "KeyError: 'no such thing'"
    assert caught.value.detail == "the processor could not be initialized"
    assert caught.value.at == f"{__file__}:{line() - 10}, node failing"


# Stores, topics, settings


class Asking(Nothing):
    def init(self, context: Any) -> None:
        context.store("countz")


def test_a_processor_that_asks_for_an_unknown_store_hears_which_it_has() -> None:
    builder = StreamsBuilder()
    builder.add_state_store(stores.key_value(stores.in_memory("counts")))
    builder.stream("in").process(Asking, stores=["counts"], name="asking")

    with pytest.raises(errors.StreamsError) as caught:
        driver(builder)

    assert "the processor asking has no access to the store 'countz': they are not connected" in caught.value.message
    assert caught.value.detail == "the processor could not be initialized; its stores are: counts"
    assert caught.value.hint == "Did you mean 'counts'?"
    assert str(caught.value.at).startswith(f"{__file__}:")
    assert str(caught.value.at).endswith(", node asking")


def test_one_without_stores_hears_how_to_connect_them() -> None:
    builder = StreamsBuilder()
    builder.stream("in").process(Asking)

    with pytest.raises(errors.StreamsError) as caught:
        driver(builder)

    assert caught.value.detail == "the processor could not be initialized; its stores are: none"
    assert "stores=[...] in process()" in str(caught.value.hint)


def test_a_store_that_is_named_but_never_added_is_refused_when_built() -> None:
    builder = StreamsBuilder()
    builder.stream("in").process(Nothing, stores=["counts"])

    with pytest.raises(errors.TopologyError) as caught:
        builder.build()

    assert caught.value.message == "the store 'counts' is not added yet"
    assert caught.value.hint == "Add it with add_state_store() first."
    assert caught.value.at == f"{__file__}:{line() - 7}"


GETTERS = [
    "store",
    "key_value_store",
    "timestamped_key_value_store",
    "versioned_key_value_store",
    "window_store",
    "timestamped_window_store",
    "session_store",
    "changelog",
]


@pytest.mark.parametrize("getter", GETTERS)
def test_the_driver_suggests_the_nearest_store(getter: str) -> None:
    builder = StreamsBuilder()
    builder.table("in", store=stores.in_memory("counts"))

    with driver(builder) as under_test, pytest.raises(errors.UnknownStoreError) as caught:
        getattr(under_test, getter)("count")

    assert caught.value.message == "there is no store called 'count'"
    assert caught.value.detail == "the stores are: counts"
    assert caught.value.hint == "Did you mean 'counts'?"
    assert caught.value.at == f"{__file__}:{line() - 5}"


def test_a_store_of_another_kind_says_how_to_ask_for_it() -> None:
    builder = StreamsBuilder()
    builder.table("in", store=stores.versioned("versions", 1000))

    with driver(builder) as under_test, pytest.raises(errors.ArgumentError) as caught:
        under_test.key_value_store("versions")

    assert caught.value.message == "the store 'versions' is of another kind: versioned"
    assert caught.value.hint == "Ask for it with driver.versioned_key_value_store('versions')."
    assert caught.value.at == f"{__file__}:{line() - 4}"


def test_restoring_an_unknown_store_is_the_same_error() -> None:
    with driver(StreamsBuilder()) as under_test, pytest.raises(errors.UnknownStoreError) as caught:
        under_test.restore("counts", [])

    assert caught.value.detail == "the stores are: none"


def test_an_unknown_topic_suggests_the_nearest() -> None:
    builder = StreamsBuilder()
    builder.stream("page-views").to("out")

    with driver(builder) as under_test:
        with pytest.raises(errors.UnknownTopicError) as caught:
            under_test.create_input_topic("page-view").pipe_input("a", "x")
        assert caught.value.message == "the topology does not read the topic 'page-view'"
        assert caught.value.detail == "it reads page-views"
        assert caught.value.hint == "Did you mean 'page-views'?"
        assert caught.value.at == f"{__file__}:{line() - 4}"

        under_test.create_input_topic("page-views").pipe_input("a", "x")
        with pytest.raises(errors.EmptyTopicError) as empty:
            under_test.read_record("outt")
        assert empty.value.message == "nothing was ever written to the topic 'outt'"
        assert empty.value.hint == "Did you mean 'out'?"
        assert empty.value.at == f"{__file__}:{line() - 3}"


def test_an_unknown_setting_suggests_the_nearest() -> None:
    with pytest.raises(errors.ConfigError) as caught:
        driver(StreamsBuilder(), num_stream_thread=2)

    assert caught.value.message == "unknown setting 'num.stream.thread'"
    assert caught.value.hint == "Did you mean num.stream.threads?"


# Timestamps


def test_a_record_cannot_have_a_negative_timestamp() -> None:
    with pytest.raises(errors.StreamsError) as caught:
        Record("a", 1, -1)

    assert caught.value.message == "malformed record: its timestamp is negative (-1)"
    assert caught.value.detail == "key 'a', value 1"
    assert caught.value.hint == "Timestamps are milliseconds since 1970; give the record one that is 0 or more."


def test_a_processor_that_makes_one_is_named() -> None:
    class Back(Processor):
        def process(self, record: Any) -> None:
            self.context.forward(record.with_timestamp(-5))

    builder = StreamsBuilder()
    builder.stream("in").process(Back, name="back")

    with driver(builder) as under_test, pytest.raises(errors.ProcessingError) as caught:
        under_test.create_input_topic("in").pipe_input("a", "x")

    assert caught.value.message == "malformed record: its timestamp is negative (-5)"
    assert caught.value.at == f"{__file__}:{line() - 9}, node back, record in-0@0"


def test_an_input_record_without_a_valid_timestamp_stops_the_task_by_default() -> None:
    builder = StreamsBuilder()
    builder.stream("in")

    with driver(builder) as under_test, pytest.raises(errors.StreamsError) as caught:
        under_test.pipe_record("in", b"a", b"x", timestamp=-1)

    assert caught.value.message == "the record in-0@0 has the invalid timestamp -1"
    assert "log_and_skip_on_invalid_timestamp" in str(caught.value.hint)
    assert re.fullmatch(rf"{__file__}:\d+, node KSTREAM-SOURCE-0000000000, record in-0@0", str(caught.value.at))


def test_a_negative_time_from_an_extractor_drops_the_record_and_counts_it() -> None:
    builder = StreamsBuilder()
    builder.stream("in", timestamp_extractor=lambda record, partition_time: -1).to("out")

    with driver(builder) as under_test:
        under_test.create_input_topic("in").pipe_input("a", "x")

        assert under_test.produced == []
        assert under_test.dropped_records_by_reason == {"the extracted timestamp is negative": 1}


@pytest.mark.parametrize(
    ("extractor", "message"),
    [
        (lambda record, partition_time: int(record.value), "ValueError: invalid literal"),
        (lambda record, partition_time: None, "the timestamp extractor gave None"),
    ],
)
def test_an_extractor_that_fails_or_gives_no_time_is_named_with_its_record(extractor: Any, message: str) -> None:
    builder = StreamsBuilder()
    builder.stream("in", timestamp_extractor=extractor, name="source")

    with driver(builder) as under_test, pytest.raises(errors.StreamsError) as caught:
        under_test.create_input_topic("in").pipe_input("a", "x")

    assert caught.value.message.startswith(message)
    assert str(caught.value.hint).startswith("An extractor is called as extractor(record, partition_time)")
    assert str(caught.value.at).endswith("node source, record in-0@0")


def test_an_extractor_that_takes_other_arguments_is_refused_where_it_is_given() -> None:
    told = r"stream\(\): timestamp_extractor is called with 2 argument\(s\), but takes \(record\)"
    with pytest.raises(errors.OperatorTypeError, match=told):
        StreamsBuilder().stream("in", timestamp_extractor=lambda record: 0)


def test_a_test_cannot_pipe_one() -> None:
    with pytest.raises(errors.ArgumentError) as caught:
        TestRecord("a", "x", timestamp=-1)

    assert caught.value.message == "the timestamp of a record cannot be negative (-1)"
    assert str(caught.value.hint).startswith("Timestamps are milliseconds since 1970")
    assert caught.value.at == f"{__file__}:{line() - 4}"

    builder = StreamsBuilder()
    builder.stream("in")
    with driver(builder) as under_test, pytest.raises(errors.ArgumentError) as caught:
        under_test.create_input_topic("in").pipe_input("a", "x", timestamp=-1)
    assert caught.value.at == f"{__file__}:{line() - 1}"


# Bytes that cannot be read


def numbers(**settings: Any) -> TopologyTestDriver:
    builder = StreamsBuilder()
    builder.stream("in", value_serde=serdes.long(), name="source").to("out")
    return driver(builder, **settings)


def test_undecodable_bytes_stop_the_task_by_default() -> None:
    with numbers() as under_test, pytest.raises(errors.StreamsError) as caught:
        under_test.pipe_record("in", b"a", b"four", timestamp=0)

    assert caught.value.message == "the value of a record could not be deserialized: long() expected 8 bytes, found 4"
    assert caught.value.detail == "bytes b'four'"
    assert str(caught.value.hint).startswith(
        "Was the topic written with another serde? Its source takes value_serde=."
        " Set deserialization.exception.handler to log_and_continue"
    )
    assert re.fullmatch(rf"{__file__}:\d+, node source, record in-0@0", str(caught.value.at))


def test_they_are_skipped_and_counted_under_log_and_continue(caplog: pytest.LogCaptureFixture) -> None:
    with numbers(deserialization_exception_handler="log_and_continue") as under_test:
        under_test.pipe_record("in", b"a", b"four", timestamp=0)
        under_test.pipe_record("in", b"a", bytes(8), timestamp=1)

        assert [record.value for record in under_test.produced] == [bytes(8)]
        assert under_test.dropped_records_by_reason == {"the record could not be deserialized": 1}
    assert (
        "deserialization of the value failed at node source of task 0_0, record in-0@0: long() expected" in caplog.text
    )


@pytest.mark.parametrize("handler", ["log_and_continue", "log_and_fail"])
def test_a_dead_letter_tells_what_went_wrong_and_where(handler: str) -> None:
    settings = {"deserialization_exception_handler": handler, "errors_dead_letter_queue_topic_name": "dead"}
    with numbers(**settings) as under_test:
        try:
            under_test.create_input_topic("in", value_serde=serdes.bytes()).pipe_input(
                "a", b"four", timestamp=7, headers=[("trace", b"1")]
            )
        except errors.StreamsError:
            assert handler == "log_and_fail"
        [letter] = [record for record in under_test.produced if record.topic == "dead"]

    assert (letter.key, letter.value, letter.timestamp) == (b"a", b"four", 7)
    told = dict(letter.headers)
    trace = told.pop("__streams.errors.stacktrace") or b""
    assert told == {
        "trace": b"1",
        "__streams.errors.exception": b"headrace.errors.SerializationError",
        "__streams.errors.message": b"long() expected 8 bytes, found 4",
        "__streams.errors.topic": b"in",
        "__streams.errors.partition": b"0",
        "__streams.errors.offset": b"0",
    }
    assert trace.startswith(b"Traceback")


def test_a_handler_of_ones_own_decides() -> None:
    seen: list[tuple[str | None, int, str | None]] = []

    def handler(context: handlers.ErrorHandlerContext, record: Any, error: Exception) -> handlers.Response:
        seen.append((context.topic, context.offset, context.node))
        return handlers.resume()

    with numbers(deserialization_exception_handler=handler) as under_test:
        under_test.pipe_record("in", b"a", b"four", timestamp=0)

    assert seen == [("in", 0, "source")]


def test_a_handler_that_does_not_answer_is_an_error_of_its_own() -> None:
    settings = {"deserialization_exception_handler": lambda context, record, error: None}

    with numbers(**settings) as under_test, pytest.raises(errors.StreamsError) as caught:
        under_test.pipe_record("in", b"a", b"four", timestamp=0)

    assert "the deserialization exception handler itself failed" in caught.value.message
    assert "must return a Response, not None" in str(caught.value)
    assert re.fullmatch(rf"{__file__}:\d+, node source, record in-0@0", str(caught.value.at))


# Names that would escape the state directory

ESCAPES = ["../elsewhere", "..", ".", "/etc", "a/b", "a\\b", "", "x\0y", "a" * 250]


@pytest.mark.parametrize("name", ESCAPES)
def test_an_application_id_cannot_leave_the_state_directory(name: str) -> None:
    with pytest.raises(errors.ConfigError) as caught:
        StreamsConfig({"application.id": name})

    assert caught.value.message.startswith(
        "application.id must be a name of 1 to 249 characters from a-z A-Z 0-9 . _ -"
    )
    assert str(caught.value.hint).startswith("It becomes part of topic names and a directory")


def by_name(name: str) -> None:
    StreamsBuilder().table("in", store=name)


def by_supplier(name: str) -> None:
    builder = StreamsBuilder()
    builder.table("in", store=stores.persistent(name))
    builder.build()


def by_kind(name: str) -> None:
    StreamsBuilder().stream("in").group_by_key().count(store=stores.IN_MEMORY(name))


def by_added_store(name: str) -> None:
    builder = StreamsBuilder()
    builder.add_state_store(stores.key_value(stores.persistent(name)))
    builder.build()


def by_topology(name: str) -> None:
    Topology().add_source("in", ["in"]).add_state_store(stores.window(stores.persistent_window(name, 10, 10)))


def by_join(name: str) -> None:
    builder = StreamsBuilder()
    left, right = builder.stream("left"), builder.stream("right")
    left.join(right, lambda a, b: a, JoinWindows(1), store_name=f"{name}/")
    builder.build()


def by_global_table(name: str) -> None:
    builder = StreamsBuilder()
    builder.global_table("in", store=stores.persistent(name))
    builder.build()


def by_processor(name: str) -> None:
    class WithStore(Nothing):
        stores = (stores.key_value(stores.persistent(name)),)

    Topology().add_source("source", ["in"]).add_processor("it", WithStore, parents="source")


@pytest.mark.parametrize("name", ESCAPES)
@pytest.mark.parametrize(
    "give", [by_name, by_supplier, by_kind, by_added_store, by_topology, by_join, by_global_table, by_processor]
)
def test_nor_can_a_store_whichever_way_it_gets_its_name(give: Any, name: str) -> None:
    with pytest.raises(errors.TopologyError, match=r"name .* is illegal: ") as caught:
        give(name)

    assert "a directory below state.dir" in str(caught.value.hint)
    assert str(caught.value.at).startswith(f"{__file__}:")


@pytest.mark.parametrize("name", ["../elsewhere", "a/b"])
def test_nor_can_a_suppression_or_a_repartition(name: str) -> None:
    suppressing = StreamsBuilder()
    limit = Suppressed.until_time_limit(1, BufferConfig.unbounded(), name=name)
    suppressing.table("in", store="rows").suppress(limit)
    repartitioning = StreamsBuilder()
    repartitioning.stream("in").repartition(name=name)

    for builder in (suppressing, repartitioning):
        with pytest.raises(errors.TopologyError, match="cannot be the name of a node") as caught:
            builder.build()
        assert caught.value.hint == "Use letters, digits, '.', '_' and '-'."
        assert str(caught.value.at).startswith(f"{__file__}:")


@pytest.mark.parametrize("name", ["../elsewhere", "a b", ""])
def test_nor_has_a_topic_such_a_name(name: str) -> None:
    builder = StreamsBuilder()
    builder.stream(name)

    with pytest.raises(errors.TopologyError, match=r"the topic name .* is illegal") as caught:
        builder.build()

    assert "choose a plain one" in str(caught.value.hint)
    assert caught.value.at == f"{__file__}:{line() - 6}"


PARTS: dict[str, tuple[Any, Any, str, str]] = {
    "a key that is read": ({"key_serde": "long"}, {}, "the key of a record could not be deserialized", "key_serde="),
    "a value that is read": ({"value_serde": "long"}, {}, "the value of a record could not", "value_serde="),
    "a key that is written": ({}, {"key_serde": "long"}, "the key serde of the topic 'out' does not fit", "str"),
    "a value that is written": ({}, {"value_serde": "long"}, "the value serde of the topic 'out' does", "str"),
}


@pytest.mark.parametrize("case", PARTS)
def test_a_driver_says_which_part_of_a_record_and_which_line_of_the_program(case: str) -> None:
    reading, writing, said, hint = PARTS[case]
    builder = StreamsBuilder()
    builder.stream("in", **reading).to("out", **writing)
    with TopologyTestDriver(builder.build()) as driver, pytest.raises(errors.StreamsError, match=said) as caught:
        driver.create_input_topic("in").pipe_input("a", "x")
    assert hint in str(caught.value.hint)
    assert str(caught.value.at).startswith(f"{__file__}:")
    assert "value" not in str(caught.value.detail)


def test_a_key_that_does_not_fit_its_store_is_told_as_one() -> None:
    builder = StreamsBuilder()
    builder.stream("in").group_by_key(key_serde="long").count(store=stores.in_memory("counts"))
    with TopologyTestDriver(builder.build()) as driver, pytest.raises(errors.ProcessingError) as caught:
        driver.create_input_topic("in").pipe_input("a", "x")
    assert "a key of the store counts" in str(caught.value.at)


@pytest.mark.parametrize("part", ["key", "value"])
def test_what_a_test_cannot_read_is_told_by_its_part(part: str) -> None:
    serde: dict[str, Any] = {f"{part}_serde": "long"}
    builder = StreamsBuilder()
    builder.stream("in").to("out")
    with TopologyTestDriver(builder.build()) as driver:
        driver.create_input_topic("in").pipe_input("a", "x")
        with pytest.raises(errors.SerializationError) as caught:
            driver.create_output_topic("out", **serde).read_record()
    assert f"the {part}_serde that the program writes with" in str(caught.value.hint)
    assert f"the {part} of a record of the topic out, {__file__}" in str(caught.value.at)
