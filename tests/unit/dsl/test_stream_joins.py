"""Joins of streams: the names of their nodes and stores, and what they refuse."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import cloudpickle
import pytest

from headrace import serde as serdes
from headrace.dsl.builder import StreamsBuilder
from headrace.errors import ArgumentError, OperatorTypeError, StreamsError
from headrace.state import stores
from headrace.testing import TopologyTestDriver
from headrace.windows import JoinWindows

WINDOWS = JoinWindows(10, grace=5)


def plus(left: Any, right: Any) -> str:
    return f"{left}+{right}"


def processors(builder: StreamsBuilder) -> dict[str, set[str]]:
    """The stores of each processor."""
    found = re.findall(r"Processor: (\S+) \(stores: \[(.*?)\]\)", str(builder.build().describe()))
    return {name: set(filter(None, stores.split(", "))) for name, stores in found}


def test_an_inner_join_has_a_window_store_per_side() -> None:
    builder = StreamsBuilder()
    builder.stream("l").join(builder.stream("r"), plus, WINDOWS)
    assert processors(builder) == {
        "KSTREAM-WINDOWED-0000000002": {"KSTREAM-JOINTHIS-0000000004-store"},
        "KSTREAM-WINDOWED-0000000003": {"KSTREAM-JOINOTHER-0000000005-store"},
        "KSTREAM-JOINTHIS-0000000004": {"KSTREAM-JOINOTHER-0000000005-store"},
        "KSTREAM-JOINOTHER-0000000005": {"KSTREAM-JOINTHIS-0000000004-store"},
        "KSTREAM-MERGE-0000000006": set(),
    }


def test_outer_joins_share_a_store_of_waiting_records() -> None:
    builder = StreamsBuilder()
    builder.stream("l").outer_join(builder.stream("r"), plus, WINDOWS, name="J", store_name="S")
    assert processors(builder) == {
        "J-this-windowed": {"S-outer-this-join-store"},
        "J-other-windowed": {"S-outer-other-join-store"},
        "J-outer-this-join": {"S-outer-other-join-store", "S-outer-shared-join-store"},
        "J-outer-other-join": {"S-outer-shared-join-store", "S-outer-this-join-store"},
        "J-merge": set(),
    }


def test_a_left_join_calls_its_store_of_waiting_records_after_the_left_side() -> None:
    builder = StreamsBuilder()
    builder.stream("l").left_join(builder.stream("r"), plus, windows=WINDOWS)
    assert "KSTREAM-OUTERSHARED-0000000004-store" in processors(builder)["KSTREAM-JOINTHIS-0000000004"]


def test_an_eager_outer_join_keeps_no_waiting_records_and_sends_those_without_a_partner_at_once() -> None:
    builder = StreamsBuilder()
    eager = JoinWindows(10, eager=True)
    left, right = builder.stream("l"), builder.stream("r")
    left.outer_join(right, plus, eager, name="J", store_name="S").to("out")
    topology = builder.build()
    assert "S-outer-shared-join-store" not in str(topology.describe())
    with TopologyTestDriver(topology) as driver:
        lefts, rights = driver.create_input_topic("l"), driver.create_input_topic("r")
        for topic, key, value, time in (
            (lefts, "a", "1", 0),
            (rights, "a", "2", 5),
            (rights, None, "3", 5),
            (lefts, "a", None, 6),
            (rights, "a", "4", 11),
        ):
            topic.pipe_input(key, value, timestamp=time)
        assert driver.create_output_topic("out").read_key_values_to_list() == [
            ("a", "1+None"),
            ("a", "1+2"),
            (None, "None+3"),
            ("a", "None+4"),
        ]


def test_eager_windows_take_late_records_for_a_day_unless_told_otherwise() -> None:
    assert JoinWindows(10, eager=True).grace_ms == timedelta(days=1) / timedelta(milliseconds=1)
    assert JoinWindows(10, eager=True, grace=7).grace_ms == 7
    assert repr(JoinWindows(10, eager=True, grace=7)) == "JoinWindows(before=10, after=10, grace=7, eager=True)"


def test_an_optimised_self_join_is_one_node_with_one_store() -> None:
    builder = StreamsBuilder()
    stream = builder.stream("l")
    stream.join(stream, plus, WINDOWS)
    text = str(builder.build({"topology.optimization": "all"}).describe())
    assert re.findall(r"Processor: (\S+)", text) == ["KSTREAM-WINDOWED-0000000001", "KSTREAM-MERGE-0000000005"]


def test_as_in_kafka_the_serdes_of_a_join_are_given_or_the_defaults_never_those_of_the_streams() -> None:
    builder = StreamsBuilder()
    left = builder.stream("l", key_serde=serdes.long(), value_serde=serdes.json())
    right = builder.stream("r", key_serde=serdes.long(), value_serde=serdes.bytes())
    joined = left.join(right, plus, WINDOWS)
    assert joined.key_serde is None
    assert joined.value_serde is None


def window_supplier(name: str, retention: int = 25, size: int = 20, *, duplicates: bool = True) -> Any:
    return stores.in_memory_window(name, retention, size, duplicates)


@pytest.mark.parametrize(
    ("this", "other"),
    [
        (window_supplier("a"), window_supplier("a")),
        (window_supplier("a", retention=100), window_supplier("b")),
        (window_supplier("a"), window_supplier("b", size=10)),
        (window_supplier("a", duplicates=False), window_supplier("b")),
    ],
)
def test_suppliers_must_fit_the_windows_and_differ_in_name(this: Any, other: Any) -> None:
    builder = StreamsBuilder()
    with pytest.raises(StreamsError):
        builder.stream("l").join(builder.stream("r"), plus, WINDOWS, this_store=this, other_store=other)


def test_a_join_of_streams_needs_windows() -> None:
    builder = StreamsBuilder()
    with pytest.raises(OperatorTypeError, match="windows"):
        builder.stream("l").join(builder.stream("r"), plus)  # type: ignore[call-overload]
    with pytest.raises(OperatorTypeError, match="windows must be JoinWindows"):
        builder.stream("l").join(builder.stream("r"), plus, None)  # type: ignore[call-overload]


def test_only_streams_can_be_joined_from_both_sides() -> None:
    builder = StreamsBuilder()
    with pytest.raises(OperatorTypeError, match="joins with a KStream"):
        builder.stream("l").outer_join(builder.table("t"), plus, WINDOWS)  # type: ignore[call-overload]


def test_a_stream_table_join_is_connected_to_the_tables_store() -> None:
    builder = StreamsBuilder()
    builder.stream("l").join(builder.table("t", store="T"), plus, name="J")
    assert processors(builder)["J"] == {"T"}


def test_a_grace_period_brings_a_buffer_and_needs_a_versioned_table() -> None:
    builder = StreamsBuilder()
    table = builder.table("t", store=stores.versioned("T", timedelta(hours=1)))
    builder.stream("l").join(table, plus, grace=timedelta(seconds=1), name="J")
    assert processors(builder)["J"] == {"J-Buffer", "T"}
    with pytest.raises(ArgumentError, match="must be versioned"):
        builder.stream("x").join(builder.table("u"), plus, grace=1)


def test_a_global_table_is_joined_by_a_selected_key_without_repartition() -> None:
    builder = StreamsBuilder()
    regions = builder.global_table("regions")
    stream = builder.stream("in").select_key(plus)
    joined = stream.join(regions, plus, plus)
    assert joined.name == "KSTREAM-LEFTJOIN-0000000005"
    assert joined.repartition_required


@pytest.mark.parametrize("arguments", [(None, plus), (plus, None), (plus,), (lambda key: key, plus)])
def test_a_global_join_needs_a_selector_and_a_joiner(arguments: Any) -> None:
    builder = StreamsBuilder()
    with pytest.raises(OperatorTypeError):
        builder.stream("in").join(builder.global_table("g"), *arguments)


def test_the_joiner_must_take_the_key_when_it_is_to_get_it() -> None:
    builder = StreamsBuilder()
    with pytest.raises(OperatorTypeError, match="called with 3"):
        builder.stream("l").join(builder.stream("r"), plus, WINDOWS, with_key=True)  # type: ignore[call-overload]


def test_a_topology_of_joins_can_be_pickled() -> None:
    builder = StreamsBuilder()
    left, right = builder.stream("l"), builder.stream("r")
    left.outer_join(right, lambda a, b: (a, b), WINDOWS).join(builder.table("t"), plus).to("out")
    topology = builder.build()
    assert str(cloudpickle.loads(cloudpickle.dumps(topology)).describe()) == str(topology.describe())


@pytest.mark.parametrize("method", ["join", "left_join", "outer_join"])
def test_two_streams_are_joined_in_windows(method: str) -> None:
    builder = StreamsBuilder()
    with pytest.raises(OperatorTypeError, match="missing a required argument: 'windows'") as caught:
        getattr(builder.stream("a"), method)(builder.stream("b"), lambda left, right: left)
    assert f"{method}(other, joiner, JoinWindows(timedelta(minutes=5)))" in str(caught.value.hint)
    assert __file__ in str(caught.value.at)
