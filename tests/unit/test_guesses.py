"""Names that people guess get an error with ours, and completion shows what is public."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

import headrace
from headrace import (
    BufferConfig,
    JoinWindows,
    KStream,
    Processor,
    SessionWindows,
    SlidingWindows,
    Streams,
    StreamsBuilder,
    Suppressed,
    TimeWindows,
    Topology,
    TopologyTestDriver,
    UnlimitedWindows,
    serdes,
    stores,
)
from headrace.errors import ProcessingError
from headrace.java_names import IN_CLASSES, IN_MODULES

STREAM = StreamsBuilder().stream("in")
TABLE = StreamsBuilder().table("in")


@pytest.mark.parametrize(
    ("owner", "name", "ours"),
    [
        (TimeWindows, "of_size_and_grace", "TimeWindows(size, grace=grace)"),
        (TimeWindows, "ofSizeWithNoGrace", "TimeWindows(size)"),
        (TimeWindows(10), "advance_by", "TimeWindows(size, advance=advance)"),
        (SlidingWindows, "of_time_difference_with_no_grace", "SlidingWindows(difference)"),
        (JoinWindows, "ofTimeDifferenceAndGrace", "JoinWindows(difference, grace=grace)"),
        (SessionWindows, "with_", "SessionWindows(gap)"),
        (UnlimitedWindows, "start_on", "UnlimitedWindows(start=start)"),
        (Suppressed, "BufferConfig", "from headrace import BufferConfig"),
        (Suppressed, "untilWindowCloses", "until_window_closes"),
        (BufferConfig, "maxRecords", "max_records"),
        (StreamsBuilder(), "addStateStore", "add_state_store"),
        (StreamsBuilder(), "globalTable", "global_table"),
        (STREAM, "mapValues", "map_values"),
        (STREAM, "through", "repartition()"),
        (STREAM, "group_by_keys", "group_by_key"),
        (STREAM.group_by_key(), "windowedBy", "windowed_by"),
        (STREAM.group_by_key().windowed_by(TimeWindows(10)), "suppress", "count().suppress"),
        (TABLE, "toStream", "to_stream"),
        (TABLE, "to", "to_stream().to(topic)"),
        (KStream, "flatMapValues", "flat_map_values"),
        (Topology(), "addSource", "add_source"),
        (TopologyTestDriver, "get_key_value_store", "key_value_store"),
        (TopologyTestDriver, "getWindowStore", "window_store"),
        (Streams, "setStateListener", "on_state_change(listener)"),
        (Streams, "cleanUp", "clean_up"),
        (headrace.topics(), "createTopics", "create(topic, partitions)"),
        (serdes, "from_functions", "serdes.of(dumps, loads)"),
        (serdes, "String", "string"),
        (serdes, "int", "serdes.long()"),
        (stores, "persistentKeyValueStore", "stores.persistent(name)"),
        (headrace, "KafkaStreams", "Streams"),
        (headrace, "StreamBuilder", "StreamsBuilder"),
    ],
)
def test_a_guessed_name_is_an_error_that_names_ours(owner: Any, name: str, ours: str) -> None:
    with pytest.raises(AttributeError) as caught:
        getattr(owner, name)
    assert f"has no attribute {name!r}" in str(caught.value)
    assert ours in str(caught.value)


def test_an_import_of_a_guessed_name_names_ours() -> None:
    with pytest.raises(ImportError, match=r"Here it is serdes\.Serde: from headrace import serdes"):
        exec("from headrace import Serde")
    with pytest.raises(ImportError, match=r"Here it is builder\.stream"):
        exec("from headrace import Consumed")
    with pytest.raises(ImportError, match=r"Here it is the keywords store="):
        exec("from headrace import Materialized")


def test_a_processor_that_asks_its_context_in_java_is_told() -> None:
    class Ask(Processor):
        def process(self, record: Any) -> None:
            self.context.getStateStore("seen")  # type: ignore[attr-defined]

    builder = StreamsBuilder()
    builder.stream("in").process(Ask).to("out")
    with (
        TopologyTestDriver(builder.build()) as driver,
        pytest.raises(ProcessingError, match=r"Here it is store\(name\)"),
    ):
        driver.create_input_topic("in").pipe_input("a", "x")


def test_what_is_not_near_anything_is_a_plain_attribute_error() -> None:
    assert not hasattr(STREAM, "qwertyuiop")
    assert not hasattr(headrace, "Serde")
    with pytest.raises(AttributeError, match=r"^KStream has no attribute '_private'$"):
        STREAM._private  # type: ignore[attr-defined]  # noqa: B018


def test_every_name_of_the_tables_leads_somewhere() -> None:
    modules = {"headrace": headrace, "headrace.serde": serdes, "headrace.state.stores": stores}
    for module, names in IN_MODULES.items():
        assert not {name for name in names if name in modules[module].__all__}
    known = {KStream, StreamsBuilder, Streams, Topology, TopologyTestDriver, TimeWindows, Suppressed}
    for cls in known:
        assert not {name for name in IN_CLASSES[cls.__name__] if name in vars(cls)}


def test_windows_travel_to_other_processes() -> None:
    for windows in (TimeWindows(10, advance=5, grace=1), SessionWindows(5), Suppressed.until_window_closes()):
        assert repr(pickle.loads(pickle.dumps(windows))) == repr(windows)


STREAM_NAMES = """
filter filter_not flat_map flat_map_values foreach group_by group_by_key join key_serde left_join map map_values merge
name outer_join peek print process process_values repartition repartition_required select_key split to
to_table value_serde
"""
TABLE_NAMES = """
filter filter_not group_by join key_serde left_join map_values name outer_join queryable_store_name suppress to_stream
transform_values value_serde
"""
TOPOLOGY_NAMES = """
add_global_store add_processor add_read_only_state_store add_sink add_source add_state_store
connect_processor_and_state_stores describe to_dot to_json to_mermaid
"""
GROUP = STREAM.group_by_key()


@pytest.mark.parametrize(
    ("thing", "names"),
    [
        (STREAM, STREAM_NAMES),
        (TABLE, TABLE_NAMES),
        (GROUP, "aggregate cogroup count key_serde name reduce repartition_required value_serde windowed_by"),
        (GROUP.windowed_by(SessionWindows(5)), "aggregate count emit_strategy key_serde name reduce value_serde"),
        (TABLE.group_by(lambda key, value: (key, value)), "aggregate count key_serde name reduce value_serde"),
        (StreamsBuilder(), "add_global_store add_state_store build global_table stream table"),
        (StreamsBuilder().global_table("in"), "queryable_store_name"),
        (Topology(), TOPOLOGY_NAMES),
    ],
    ids=lambda value: type(value).__name__,
)
def test_completion_shows_what_is_public(thing: Any, names: str) -> None:
    assert dir(thing) == names.split()


@pytest.mark.parametrize("module", [headrace, serdes, stores, headrace.query, headrace.testing, headrace.handlers])
def test_modules_show_their_public_names_only(module: Any) -> None:
    assert dir(module) == sorted(module.__all__)


def test_topics_and_stores_of_a_test_show_what_is_public_and_know_javas_names() -> None:
    builder = StreamsBuilder()
    builder.stream("in").group_by_key().count("counts").to_stream().to("out")
    with TopologyTestDriver(builder.build()) as driver:
        lines, out = driver.create_input_topic("in"), driver.create_output_topic("out")
        store = driver.key_value_store("counts")
        assert not [name for thing in (lines, out, store) for name in dir(thing) if name.startswith("_")]
        assert repr(store) == repr(driver.store("counts")) == "<timestamped kv store counts>"
        with pytest.raises(AttributeError, match=r"Here it is pipe_input\."):
            lines.pipeInput  # type: ignore[attr-defined]  # noqa: B018
        with pytest.raises(AttributeError, match=r"Here it is read_key_values_to_map\."):
            out.readKeyValuesToMap  # type: ignore[attr-defined]  # noqa: B018


def test_the_module_of_errors_shows_errors_only() -> None:
    assert {"ArgumentError", "HeadraceError"} <= set(dir(headrace.errors))
    assert "sys" not in dir(headrace.errors)


def test_reprs_say_what_a_thing_is() -> None:
    builder = StreamsBuilder()
    stream = builder.stream("views", value_serde=serdes.json())
    counts = stream.group_by_key().windowed_by(TimeWindows(10, advance=5, grace=1)).count("counts")
    counts.to_stream().to("out")
    topology = builder.build()
    assert repr(stream) == "<KStream KSTREAM-SOURCE-0000000000: keys by the default serde, values by serdes.json()>"
    rest = "store 'counts', keys by serdes.windowed(None, 10), values by serdes.long()"
    assert repr(counts) == f"<KTable KSTREAM-AGGREGATE-0000000001: {rest}>"
    assert repr(topology) == "<Topology: reads views; writes out; stores counts>"
    assert repr(builder) == "<StreamsBuilder: 4 operators, reads views>"
    assert repr(Topology()) == "<Topology: empty>"
    app = Streams(topology, {"application.id": "views", "bootstrap.servers": "embedded:data"})
    assert repr(app) == "<Streams views on embedded:data: CREATED>"
    with TopologyTestDriver(topology, {"application.id": "views"}) as driver:
        assert repr(driver) == "<TopologyTestDriver views: reads views>"
        assert repr(driver.store("counts")) == "<timestamped window store counts>"


@pytest.mark.parametrize(
    "text",
    [
        "TimeWindows(10)",
        "TimeWindows(10, advance=5, grace=1)",
        "SlidingWindows(10)",
        "SessionWindows(5, grace=2)",
        "UnlimitedWindows(start=7)",
        "JoinWindows(before=1, after=2, grace=3)",
        "serdes.string()",
        "serdes.integer()",
        "serdes.list(serdes.uuid())",
        "serdes.windowed(serdes.string(), 10)",
        "serdes.session_windowed()",
        "serdes.json()",
    ],
)
def test_reprs_of_windows_and_serdes_can_be_pasted(text: str) -> None:
    assert repr(eval(text)) == text
