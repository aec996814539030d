from __future__ import annotations

import pytest

from headrace.errors import TopologyError
from headrace.plan import names
from headrace.plan.builder import GraphBuilder
from headrace.topology import Topology


@pytest.fixture
def builder() -> GraphBuilder:
    return GraphBuilder(Topology())


def test_numbers_are_shared_by_nodes_and_stores(builder: GraphBuilder) -> None:
    assert builder.new_processor_name(names.MAP) == "KSTREAM-MAP-0000000000"
    assert builder.new_store_name(names.AGGREGATE) == "KSTREAM-AGGREGATE-STATE-STORE-0000000001"
    assert builder.new_processor_name(names.SINK) == "KSTREAM-SINK-0000000002"


def test_a_given_name_still_uses_up_a_number(builder: GraphBuilder) -> None:
    assert names.name_or_generate("mine", builder, names.MAP) == "mine"
    assert names.suffixed_or_generate("mine", "-source", builder, names.SOURCE) == "mine-source"
    assert names.name_or_generate(None, builder, names.MAP) == "KSTREAM-MAP-0000000002"
    assert names.suffixed_or_generate(None, "-source", builder, names.SOURCE) == "KSTREAM-SOURCE-0000000003"


@pytest.mark.parametrize("name", ["", ".", "..", "x/y", "ü", "a:b", "no good", "n" * 250])
def test_refuses_illegal_names(name: str, builder: GraphBuilder) -> None:
    with pytest.raises(TopologyError, match="illegal") as caught:
        names.name_or_generate(name, builder, names.MAP)
    assert __file__ in str(caught.value.at)


def test_refuses_a_name_that_its_suffix_makes_too_long(builder: GraphBuilder) -> None:
    names.check_name("n" * 249)
    with pytest.raises(TopologyError, match="longer than 249"):
        names.suffixed_or_generate("n" * 249, "-source", builder, names.SOURCE)


def test_generated_store_names_are_noted_when_the_caller_says_so() -> None:
    topology = Topology({"ensure.explicit.internal.resource.naming": True})
    builder = GraphBuilder(topology)
    builder.new_store_name(names.AGGREGATE)
    topology.check_implicit_names()
    builder.new_store_name(names.AGGREGATE, logged=False)
    with pytest.raises(TopologyError) as caught:
        topology.check_implicit_names()
    assert caught.value.detail == "state store: KSTREAM-AGGREGATE-STATE-STORE-0000000001"
