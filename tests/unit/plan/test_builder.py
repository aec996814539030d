from __future__ import annotations

from typing import Any

import pytest

from headrace.errors import ConfigError, StreamsError, TopologyError
from headrace.plan.builder import GraphBuilder
from headrace.plan.graph import (
    Consumed,
    GraphNode,
    ProcessorGraphNode,
    RepartitionNode,
    Step,
    StreamSinkNode,
    StreamSourceNode,
    TableSuppressNode,
    VersionedSemanticsNode,
)
from headrace.plan.repartition import repartition_spec
from headrace.processors.api import Processor
from headrace.topology import Topology


class Graph:
    """A few words to write graphs with."""

    def __init__(self) -> None:
        self.builder = GraphBuilder(Topology())

    def source(self, name: str, *topics: str, reset: str | None = None) -> StreamSourceNode:
        node = StreamSourceNode(name, topics, None, Consumed(offset_reset=reset))
        self.builder.add_graph_node(self.builder.root, node)
        return node

    def processor(self, name: str, *parents: GraphNode, **flags: bool) -> ProcessorGraphNode:
        node = ProcessorGraphNode(name, Step(name, Processor), **flags)
        self.builder.add_graph_node(parents, node)
        return node

    def repartition(self, name: str, parent: GraphNode) -> RepartitionNode:
        node = RepartitionNode(repartition_spec(self.builder, name, None, None))
        self.builder.add_graph_node(parent, node)
        return node

    def sink(self, name: str, parent: GraphNode) -> StreamSinkNode:
        node = StreamSinkNode(name, f"topic-{name}", None, None, None)
        self.builder.add_graph_node(parent, node)
        return node

    def nodes(self, config: dict[str, Any] | None = None) -> dict[str, tuple[str, ...]]:
        return {name: node.parents for name, node in self.builder.build(config).graph.nodes.items()}


@pytest.fixture
def graph() -> Graph:
    return Graph()


def test_nodes_are_written_in_the_order_of_their_creation_parents_first(graph: Graph) -> None:
    one, two = graph.source("one", "a"), graph.source("two", "b")
    deep = graph.processor("deep", two)
    graph.processor("early", one)
    graph.processor("merge", one, deep)
    assert graph.nodes() == {
        "one": (),
        "two": (),
        "deep": ("two",),
        "early": ("one",),
        "merge": ("one", "deep"),
    }


def test_building_again_adds_what_is_new(graph: Graph) -> None:
    source = graph.source("in", "a")
    assert list(graph.nodes()) == ["in"]
    graph.processor("later", source)
    assert list(graph.nodes()) == ["in", "later"]


def test_sources_of_the_same_topics_become_one(graph: Graph) -> None:
    first, second = graph.source("first", "a", "b"), graph.source("second", "b", "a")
    graph.processor("p", first)
    graph.processor("q", second)
    assert graph.nodes() == {"first": (), "p": ("first",), "q": ("first",)}


def test_sources_that_overlap_are_refused(graph: Graph) -> None:
    graph.source("first", "a", "b")
    graph.source("second", "b")
    with pytest.raises(TopologyError, match="not all the same topics"):
        graph.nodes()


def test_sources_that_start_elsewhere_are_refused(graph: Graph) -> None:
    graph.source("first", "a", reset="earliest")
    graph.source("second", "a", reset="latest")
    with pytest.raises(TopologyError, match="offset reset"):
        graph.nodes()


def test_an_error_points_at_the_operator_not_at_the_build(graph: Graph) -> None:
    source = graph.source("same", "a")
    node = graph.processor("same", source)
    node.built_at = "program.py:3"
    with pytest.raises(TopologyError, match="already added") as caught:
        graph.nodes()
    assert caught.value.at == "program.py:3"


def two_repartitions(graph: Graph) -> None:
    key = graph.processor("key", graph.source("in", "a"), key_changing=True)
    first = graph.repartition("first", key)
    graph.processor("count", first)
    second = graph.repartition("second", graph.processor("filter", key))
    graph.processor("sum", second)


def test_repartitions_stay_as_they_are_unless_asked(graph: Graph) -> None:
    two_repartitions(graph)
    nodes = graph.nodes({"topology.optimization": "none"})
    assert nodes["first-repartition-filter"] == ("key",)
    assert nodes["second-repartition-filter"] == ("filter",)


def test_repartitions_below_one_key_changer_become_one(graph: Graph) -> None:
    two_repartitions(graph)
    nodes = graph.nodes({"topology.optimization": "merge.repartition.topics"})
    assert nodes == {
        "in": (),
        "key": ("in",),
        "first-repartition-filter": ("key",),
        "first-repartition-sink": ("first-repartition-filter",),
        "first-repartition-source": (),
        "count": ("first-repartition-source",),
        "filter": ("first-repartition-source",),
        "sum": ("filter",),
    }


def test_a_change_of_values_in_between_keeps_repartitions_apart(graph: Graph) -> None:
    key = graph.processor("key", graph.source("in", "a"), key_changing=True)
    graph.repartition("first", key)
    graph.repartition("second", graph.processor("values", key, value_changing=True))
    assert "second-repartition-filter" in graph.nodes({"topology.optimization": "all"})


def test_repartitions_that_share_a_path_to_their_key_changer_cannot_be_merged(graph: Graph) -> None:
    key = graph.processor("key", graph.source("in", "a"), key_changing=True)
    shared = graph.processor("filter", key)
    graph.processor("count", graph.repartition("first", shared))
    graph.processor("sum", graph.repartition("second", shared))
    with pytest.raises(StreamsError, match="cannot be merged"):
        graph.nodes({"topology.optimization": "all"})


def test_repartitions_below_a_merge_of_key_changers_become_one_below_the_merge(graph: Graph) -> None:
    source = graph.source("in", "a")
    one = graph.processor("one", source, key_changing=True)
    two = graph.processor("two", source, key_changing=True)
    merge = graph.processor("merge", one, two, merge=True)
    graph.processor("count", graph.repartition("first", merge))
    graph.processor("sum", graph.repartition("second", merge))
    nodes = graph.nodes({"topology.optimization": "all"})
    assert nodes["first-repartition-filter"] == ("merge",)
    assert nodes["sum"] == ("first-repartition-source",)


def test_repartitions_drop_keyless_records_unless_a_join_below_wants_them(graph: Graph) -> None:
    source = graph.source("in", "a")
    plain, wanted = graph.repartition("plain", source), graph.repartition("wanted", source)
    graph.sink("out", plain)
    graph.processor("left-join", wanted).relaxed_null_key_join = True
    graph.nodes()
    assert not plain.spec.filter_step.supplier.predicate(None, 1)
    assert wanted.spec.filter_step.supplier.predicate(None, 1)


def test_unknown_optimisations_are_refused(graph: Graph) -> None:
    with pytest.raises(ConfigError):
        graph.nodes({"topology.optimization": "all,none"})


class VersionAware(Processor):
    use_versioned_semantics = False


def test_operators_below_a_versioned_table_are_told(graph: Graph) -> None:
    versioned, plain = graph.source("versioned", "a"), graph.source("plain", "b")
    versioned.output_versioned, plain.output_versioned = True, False
    suppliers: dict[str, Any] = {"v": type("V", (VersionAware,), {}), "p": type("P", (VersionAware,), {})}
    for name, parent in (("v", graph.processor("x", versioned)), ("p", plain)):
        graph.builder.add_graph_node(parent, VersionedSemanticsNode(name, Step(name, suppliers[name])))
    graph.nodes()
    assert (suppliers["v"].use_versioned_semantics, suppliers["p"].use_versioned_semantics) == (True, False)


def many_paths(graph: Graph, node: GraphNode) -> GraphNode:
    """The end of a way of 600 nodes, with 2 ** 300 paths."""
    for number in range(300):
        node = graph.processor(f"join-{number}", node, graph.processor(f"by-way-{number}", node))
    return node


def test_a_versioned_table_is_found_at_the_end_of_many_paths(graph: Graph) -> None:
    versioned = graph.source("versioned", "a")
    versioned.output_versioned = True
    supplier: Any = type("V", (VersionAware,), {})
    graph.builder.add_graph_node(many_paths(graph, versioned), VersionedSemanticsNode("v", Step("v", supplier)))
    graph.nodes()
    assert supplier.use_versioned_semantics


def test_a_key_changer_is_found_behind_many_paths_that_have_none(graph: Graph) -> None:
    key = graph.processor("key", graph.source("other", "b"), key_changing=True)
    both = graph.processor("both", many_paths(graph, graph.source("in", "a")), key)
    graph.repartition("first", both)
    assert graph.nodes({"topology.optimization": "all"})["first-repartition-filter"] == ("key",)


def test_suppress_is_refused_below_a_versioned_table(graph: Graph) -> None:
    table = graph.source("table", "a")
    table.output_versioned = True
    graph.builder.add_graph_node(table, TableSuppressNode("suppress", Step("suppress", Processor)))
    with pytest.raises(TopologyError, match="versioned table"):
        graph.nodes()


def test_the_kind_of_store_comes_with_the_topology() -> None:
    assert GraphBuilder(Topology()).dsl_store is None
    assert GraphBuilder(Topology({"dsl.store.suppliers.class": "in_memory"})).dsl_store == "in_memory"
