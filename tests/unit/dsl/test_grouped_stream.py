from __future__ import annotations

import cloudpickle
import pytest

from headrace import serde as serdes
from headrace.dsl.builder import StreamsBuilder
from headrace.dsl.grouped_stream import KGroupedStream
from headrace.errors import ArgumentError, OperatorTypeError, TopologyError
from headrace.windows import EmitStrategy, SessionWindows, SlidingWindows, TimeWindows, UnlimitedWindows


def grouped(builder: StreamsBuilder, topic: str = "in") -> KGroupedStream:
    return builder.stream(topic).group_by_key()


def described(builder: StreamsBuilder) -> str:
    return str(builder.build().describe())


def test_count_names_store_then_node() -> None:
    builder = StreamsBuilder()
    table = grouped(builder).count()
    assert table.queryable_store_name is None
    assert described(builder) == (
        "Topologies:\n"
        "   Sub-topology: 0\n"
        "    Source: KSTREAM-SOURCE-0000000000 (topics: [in])\n"
        "      --> KSTREAM-AGGREGATE-0000000002\n"
        "    Processor: KSTREAM-AGGREGATE-0000000002 (stores: [KSTREAM-AGGREGATE-STATE-STORE-0000000001])\n"
        "      --> none\n"
        "      <-- KSTREAM-SOURCE-0000000000\n\n"
    )


def test_count_with_a_nameless_store_skips_a_number() -> None:
    builder = StreamsBuilder()
    grouped(builder).count(store=True)
    assert "KSTREAM-AGGREGATE-STATE-STORE-0000000002" in described(builder)


def test_sliding_windows_skip_no_number() -> None:
    builder = StreamsBuilder()
    grouped(builder).windowed_by(SlidingWindows(10)).count(store=True)
    assert "KSTREAM-AGGREGATE-STATE-STORE-0000000001" in described(builder)


def test_the_name_of_the_store_may_come_first() -> None:
    table = grouped(StreamsBuilder()).count("counts", name="counting")
    assert (table.queryable_store_name, table.name) == ("counts", "counting")


def test_tables_take_the_serdes_of_the_stream() -> None:
    stream = StreamsBuilder().stream("in", key_serde=serdes.integer(), value_serde=serdes.double())
    group = stream.group_by_key()
    assert group.count().key_serde is stream.key_serde
    assert group.reduce(lambda a, b: a).value_serde is stream.value_serde
    assert group.aggregate(int, lambda k, v, a: a).value_serde is None
    assert grouped(StreamsBuilder()).windowed_by(TimeWindows(10)).count().key_serde == serdes.windowed(None, 10)
    assert group.windowed_by(TimeWindows(10)).count().key_serde == serdes.windowed(serdes.integer(), 10)


def test_a_changed_key_is_repartitioned_under_the_name_of_the_store() -> None:
    builder = StreamsBuilder()
    builder.stream("in").group_by(lambda k, v: v).count(store="words")
    assert "words-repartition-source (topics: [words-repartition])" in described(builder)


def test_aggregations_of_a_named_group_share_its_repartition() -> None:
    builder = StreamsBuilder()
    group = builder.stream("in").group_by(lambda k, v: v, name="g")
    group.count(store="a")
    group.windowed_by(TimeWindows(10)).count(store="b")
    assert described(builder).count("Source: g-repartition-source") == 1


def test_aggregations_of_a_nameless_group_have_a_repartition_each() -> None:
    builder = StreamsBuilder()
    group = builder.stream("in").group_by(lambda k, v: v)
    group.count(store="a")
    group.count(store="b")
    text = described(builder)
    assert "a-repartition-source" in text and "b-repartition-source" in text


def test_an_unlimited_window_cannot_emit_on_close() -> None:
    view = grouped(StreamsBuilder()).windowed_by(UnlimitedWindows())
    with pytest.raises(ArgumentError, match="never closes"):
        view.emit_strategy(EmitStrategy.on_window_close())


def test_refuses_what_are_no_windows_and_what_is_no_strategy() -> None:
    group = grouped(StreamsBuilder())
    with pytest.raises(OperatorTypeError, match="windowed_by"):
        group.windowed_by(10)  # type: ignore[call-overload]
    with pytest.raises(OperatorTypeError, match="EmitStrategy"):
        group.windowed_by(TimeWindows(10)).emit_strategy("on_window_close")  # type: ignore[arg-type]


def test_refuses_functions_that_take_other_arguments() -> None:
    group = grouped(StreamsBuilder())
    with pytest.raises(OperatorTypeError, match="reducer"):
        group.reduce(lambda a: a)  # type: ignore[arg-type, misc]
    with pytest.raises(OperatorTypeError, match="aggregator"):
        group.aggregate(lambda: 0, lambda k, v: v)  # type: ignore[arg-type, misc]
    with pytest.raises(OperatorTypeError, match="merger"):
        group.windowed_by(SessionWindows(10)).aggregate(lambda: 0, lambda k, v, a: a, None)  # type: ignore[arg-type]


def test_refuses_names_that_are_not_legal_and_negative_retention() -> None:
    group = grouped(StreamsBuilder())
    with pytest.raises(TopologyError):
        group.count(store="no good")
    with pytest.raises(TopologyError):
        group.count(name="no/good")
    with pytest.raises(ArgumentError, match="retention"):
        group.count(retention=-1)


def test_the_topology_can_be_pickled() -> None:
    builder = StreamsBuilder()
    group = grouped(builder)
    group.count(store="a")
    group.windowed_by(TimeWindows(10)).emit_strategy(EmitStrategy.on_window_close()).reduce(lambda a, b: b, "b")
    group.windowed_by(SessionWindows(10)).reduce(lambda a, b: b, "c")
    group.windowed_by(SlidingWindows(10)).count("d")
    group.cogroup(lambda k, v, a: a).windowed_by(SessionWindows(10)).aggregate(str, lambda k, a, b: a, "e")
    topology = builder.build()
    copy = cloudpickle.loads(cloudpickle.dumps(topology))
    assert str(copy.describe()) == str(topology.describe())
