"""Foreign-key joins: nodes and topics between the tables, and where messages go."""

from __future__ import annotations

from typing import Any

import cloudpickle
import pytest

from headrace.dsl.builder import StreamsBuilder
from headrace.dsl.foreign_key import SinglePartition, to_primary_partition
from headrace.errors import ArgumentError
from headrace.serde.foreign_key import Response


def concat(left: Any, right: Any) -> str:
    return f"{left}{right}"


def test_a_name_spreads_over_all_nodes_topics_and_the_store() -> None:
    builder = StreamsBuilder()
    joined = builder.table("l").join(builder.table("r"), concat, foreign_key=str, name="fk")
    text = str(builder.build().describe())
    for name in (
        "fk-subscription-registration-processor",
        "fk-subscription-registration-sink (topic: fk-subscription-registration-topic)",
        "fk-subscription-registration-source (topics: [fk-subscription-registration-topic])",
        "fk-subscription-receive (stores: [fk-subscription-store])",
        "fk-subscription-join-foreign (stores: [r-STATE-STORE-0000000003])",
        "fk-foreign-join-subscription (stores: [fk-subscription-store])",
        "fk-subscription-response-sink (topic: fk-subscription-response-topic)",
        "fk-subscription-response-source (topics: [fk-subscription-response-topic])",
        "fk-subscription-response-resolver (stores: [l-STATE-STORE-0000000000])",
        "fk-result (stores: [])",
    ):
        assert name in text
    assert joined.queryable_store_name == "KTABLE-FK-JOIN-OUTPUT-STATE-STORE-0000000019"


def test_the_topology_of_a_foreign_key_join_can_be_pickled() -> None:
    builder = StreamsBuilder()
    builder.table("l").left_join(builder.table("r"), concat, foreign_key=lambda value: value[:1])
    topology = builder.build()
    assert str(cloudpickle.loads(cloudpickle.dumps(topology)).describe()) == str(topology.describe())


def test_responses_go_back_to_the_partition_that_asked() -> None:
    assert to_primary_partition("t", "k", Response(None, "v", 3), 8) == 3
    assert to_primary_partition("t", "k", Response(None, "v"), 8) is None


def test_a_partitioner_chooses_one_partition_by_the_key_alone() -> None:
    asked: list[Any] = []

    def partitioner(*arguments: Any) -> set[int]:
        asked.append(arguments)
        return {2}

    assert SinglePartition(partitioner)("t", "k", "v", 8) == 2
    assert asked == [("t", "k", None, 8)]
    assert SinglePartition(lambda *_: None)("t", "k", "v", 8) is None


@pytest.mark.parametrize("partitions", [set(), {0, 1}])
def test_a_partitioner_that_chooses_none_or_several_partitions_is_an_error(partitions: set[int]) -> None:
    with pytest.raises(ArgumentError, match="exactly one partition"):
        SinglePartition(lambda *_: partitions)("t", "k", "v", 8)
