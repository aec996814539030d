"""Traps of names, numbers and the build (30, 32 to 37, 56, 57, 59)."""

from __future__ import annotations

from typing import Any

import pytest

from headrace import Processor, StreamsBuilder, Suppressed, TimeWindows, Topology, errors, serdes
from headrace.topology.subtopologies import copartition_groups
from tests.traps.scene import scene, watch


def node_names(builder: StreamsBuilder) -> list[str]:
    return list(builder.build().graph.nodes)


class Forward(Processor):
    def process(self, record: Any) -> None:
        self.context.forward(record)


def test_trap_30_a_named_operator_uses_up_a_number_all_the_same() -> None:
    builder = StreamsBuilder()
    builder.stream("in", name="source").filter(lambda key, value: True, name="some").peek(lambda key, value: None)

    assert node_names(builder) == ["source", "some", "KSTREAM-PEEK-0000000002"]


def test_trap_30_named_processors_and_suppressions_use_up_none() -> None:
    builder = StreamsBuilder()
    stream = builder.stream("in").process(Forward, name="one").process_values(Forward, name="two")
    stream.peek(lambda key, value: None)
    assert node_names(builder)[-1] == "KSTREAM-PEEK-0000000001"

    builder = StreamsBuilder()
    table = builder.stream("in").group_by_key().windowed_by(TimeWindows(10)).count(name="count", store="counts")
    table.suppress(Suppressed.until_window_closes(name="final")).to_stream()
    assert node_names(builder)[-1] == "KTABLE-TOSTREAM-0000000002"


def test_trap_30_a_count_with_serdes_alone_uses_up_two_for_its_store() -> None:
    def last_name(**keywords: Any) -> str:
        builder = StreamsBuilder()
        builder.stream("in").group_by_key().count(**keywords)
        return node_names(builder)[-1]

    assert last_name(store="counts") == "KSTREAM-AGGREGATE-0000000001"
    assert last_name() == "KSTREAM-AGGREGATE-0000000002"
    assert last_name(key_serde=serdes.string()) == "KSTREAM-AGGREGATE-0000000003"


def test_trap_32_a_repartition_takes_generated_node_names_only_if_its_own_looks_generated() -> None:
    def repartition_nodes(name: str | None) -> list[str]:
        builder = StreamsBuilder()
        builder.stream("in").select_key(lambda key, value: value).repartition(name=name)
        return node_names(builder)[2:]

    generated = ["KSTREAM-FILTER-0000000004", "KSTREAM-SINK-0000000003", "KSTREAM-SOURCE-0000000005"]
    assert sorted(repartition_nodes(None)) == generated
    assert sorted(repartition_nodes("mine")) == [
        "mine-repartition-filter",
        "mine-repartition-sink",
        "mine-repartition-source",
    ]
    # A name of the user that looks like one is taken for one (and uses no number of its own).
    by_user = ["KSTREAM-FILTER-0000000003", "KSTREAM-SINK-0000000002", "KSTREAM-SOURCE-0000000004"]
    assert sorted(repartition_nodes("KSTREAM-MINE-0000000042")) == by_user


def test_trap_33_the_arrows_of_describe_depend_on_the_order_of_a_java_hash_map() -> None:
    topology = Topology().add_source("in", ["events"])
    for name in ("a", "b", "c"):
        topology.add_processor(name, Forward, parents="in")
        topology.add_processor(f"{name}-child", Forward, parents=name)

    # Larger sub-trees come first, as large as they were when a hash map happened to reach them: b already had its
    # child by then, a and c had not.
    assert "Source: in (topics: [events])\n      --> b, a, c\n" in str(topology.describe())


def test_trap_34_a_global_store_takes_the_number_of_a_sub_topology() -> None:
    builder = StreamsBuilder()
    builder.stream("first").foreach(lambda key, value: None)
    builder.global_table("everywhere")
    builder.stream("second").foreach(lambda key, value: None)

    description = str(builder.build().describe())

    assert [line.strip() for line in description.splitlines() if "Sub-topology" in line] == [
        "Sub-topology: 0",
        "Sub-topology: 1 for global store (will not generate tasks)",
        "Sub-topology: 2",
    ]


def test_trap_35_a_join_without_a_repartition_is_not_checked_when_built() -> None:
    # At run time Kafka looks at partition counts only where a repartition topic has to be created: the engine's.
    builder = StreamsBuilder()
    builder.stream("orders").join(builder.table("users"), lambda order, user: order)

    assert copartition_groups(builder.build().graph) == [frozenset({"orders", "users"})]


def test_trap_36_optimizations_are_ignored_unless_build_is_given_the_settings() -> None:
    def changelogs(build_with: dict[str, Any] | None) -> set[str]:
        builder = StreamsBuilder()
        builder.table("in", store="rows")
        with scene(builder.build(build_with), {"topology.optimization": "all"}) as s:
            s.pipe("in", "a", "1", at=0)
            return s.driver.produced_topic_names

    assert changelogs(None) == {"app-rows-changelog"}
    assert changelogs({"topology.optimization": "all"}) == set()  # the source topic is the changelog


def test_trap_37_the_first_stream_of_a_topic_decides_its_serdes() -> None:
    builder = StreamsBuilder()
    first = watch(builder.stream("in", value_serde=serdes.long()))
    second = watch(builder.stream("in", value_serde=serdes.bytes()))

    with scene(builder) as s:
        s.pipe("in", "a", 1, at=0, value_serde=serdes.long())

    assert first == second == [("a", 1, 0)]


def test_trap_56_a_mapped_value_has_no_serde_of_its_own() -> None:
    builder = StreamsBuilder()
    stream = builder.stream("in", value_serde=serdes.long())
    stream.filter(lambda key, value: True).to("filtered")
    stream.map_values(lambda value: value + 1).to("mapped")

    with scene(builder) as s:
        with pytest.raises(errors.StreamsError, match="does not fit the value") as caught:
            s.pipe("in", "a", 1, at=0, value_serde=serdes.long())
        assert [record.topic for record in s.driver.produced] == ["filtered"]
    assert "KSTREAM-SINK-0000000004" in str(caught.value.at)


def test_trap_57_process_asks_for_a_repartition_even_if_it_leaves_the_key_alone() -> None:
    def repartitions(view: Any) -> bool:
        view.group_by_key().count()
        return any(topic.kind == "repartition" for topic in _internal_topics(builder))

    builder = StreamsBuilder()
    assert repartitions(builder.stream("in").process(Forward))
    builder = StreamsBuilder()
    assert not repartitions(builder.stream("in").process_values(Forward))


def _internal_topics(builder: StreamsBuilder) -> Any:
    return builder.build().configured({"application.id": "app"}).internal_topics()


def test_trap_59_suppressed_and_cogrouped_tables_take_no_part_in_co_partitioning() -> None:
    builder = StreamsBuilder()
    other = builder.table("other")
    builder.table("in").join(other, lambda left, right: left)
    assert copartition_groups(builder.build().graph) == [frozenset({"in", "other"})]

    builder = StreamsBuilder()
    other = builder.table("other")
    grouped = builder.stream("in").group_by_key()
    grouped.cogroup(lambda key, value, total: total).aggregate(lambda: "").join(other, lambda left, right: left)
    assert frozenset({"in", "other"}) not in copartition_groups(builder.build().graph)
