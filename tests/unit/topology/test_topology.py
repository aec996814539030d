from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import cloudpickle
import pytest

from headrace import StreamsBuilder, stores
from headrace.config import StreamsConfig
from headrace.errors import ArgumentError, HeadraceError, IllegalStateError, TopologyError
from headrace.processors.api import Processor
from headrace.topology import Topology
from headrace.topology.subtopologies import copartition_groups
from tests.unit.topology.builders import FakeBuilder

CONFIG = StreamsConfig({"application.id": "app"})
NOT_CALLABLE: Any = Processor()


def simple() -> Topology:
    return Topology().add_source("in", ["events"]).add_processor("p", Processor, "in")


REFUSED: list[tuple[str, type[HeadraceError], str, Callable[[Topology], Any]]] = [
    ("name taken", TopologyError, "'p' is already added", lambda t: t.add_source("p", ["x"])),
    ("no topics", TopologyError, "no topics", lambda t: t.add_source("x", [])),
    ("topics and pattern", TopologyError, "both", lambda t: t.add_source("x", ["x"], pattern="y")),
    ("topic read twice", TopologyError, "already read", lambda t: t.add_source("x", ["events"])),
    ("topic twice in one", TopologyError, "already read", lambda t: t.add_source("x", ["x", "x"])),
    ("pattern over topic", TopologyError, "matches the topic", lambda t: t.add_source("x", pattern="e.*")),
    ("broken pattern", ArgumentError, "not a pattern", lambda t: t.add_source("x", pattern="(")),
    ("illegal topic", TopologyError, "illegal", lambda t: t.add_source("x", ["../up"])),
    ("illegal sink topic", TopologyError, "illegal", lambda t: t.add_sink("x", "a b", "p")),
    ("node like a path", TopologyError, "name of a node", lambda t: t.add_source("a/b", ["x"])),
    ("bad reset", ArgumentError, "offset reset", lambda t: t.add_source("x", ["x"], offset_reset="soon")),
    (
        "unknown parent",
        TopologyError,
        "'nobody' of 'x' is unknown",
        lambda t: t.add_processor("x", Processor, "nobody"),
    ),
    ("itself as parent", TopologyError, "itself", lambda t: t.add_processor("x", Processor, "x")),
    ("no parent", TopologyError, "no parent", lambda t: t.add_sink("x", "out", ())),
    ("no topic for a sink", ArgumentError, "needs a topic", lambda t: t.add_sink("x", NOT_CALLABLE, "p")),
    ("not a supplier", ArgumentError, "class or a function", lambda t: t.add_processor("x", NOT_CALLABLE, "p")),
    ("unknown store", TopologyError, "not added yet", lambda t: t.connect_processor_and_state_stores("p", "S")),
    ("no store", TopologyError, "no store", lambda t: t.connect_processor_and_state_stores("p")),
    ("store of a source", TopologyError, "cannot use", lambda t: t.connect_processor_and_state_stores("in", "S")),
    ("store of nobody", TopologyError, "not added yet", lambda t: t.add_state_store(FakeBuilder("S"), "nobody")),
    ("store beyond", TopologyError, "illegal", lambda t: t.add_state_store(FakeBuilder(".."))),
    ("store too long", TopologyError, "longer", lambda t: t.add_state_store(FakeBuilder("n" * 250))),
    ("no builder", ArgumentError, "not a store builder", lambda t: t.add_state_store("S")),
    (
        "global names",
        TopologyError,
        "different names",
        lambda t: t.add_global_store(FakeBuilder("G"), "g", "gt", "g", Processor),
    ),
    (
        "global topic",
        TopologyError,
        "already read",
        lambda t: t.add_global_store(FakeBuilder("G"), "g", "events", "h", Processor),
    ),
]


@pytest.mark.parametrize(("error", "text", "call"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_refuses_at_the_line_of_the_user(
    error: type[HeadraceError], text: str, call: Callable[[Topology], Any]
) -> None:
    topology = simple()
    with pytest.raises(error, match=re.escape(text)) as caught:
        call(topology)
    assert caught.value.at is not None
    assert __file__ in caught.value.at
    assert set(topology.graph.nodes) == {"in", "p"}


def test_refuses_a_supplier_that_gives_the_same_processor_twice() -> None:
    processor = Processor()
    with pytest.raises(ArgumentError, match="same processor"):
        simple().add_processor("x", lambda: processor, "p")


def test_refuses_a_sink_as_parent() -> None:
    topology = simple().add_sink("out", "results", "p")
    with pytest.raises(TopologyError, match="cannot be a parent"):
        topology.add_processor("x", Processor, "out")


def test_refuses_a_topic_that_matches_a_pattern() -> None:
    with pytest.raises(TopologyError, match="pattern of another source"):
        Topology().add_source("all", pattern="ev.*").add_source("in", ["events"])


def test_refuses_another_store_of_the_same_name_but_not_the_same_again() -> None:
    builder = FakeBuilder("S")
    topology = simple().add_state_store(builder, "p").add_state_store(builder)
    with pytest.raises(TopologyError, match="a different store"):
        topology.add_state_store(FakeBuilder("S"))


def test_refuses_to_connect_a_global_store() -> None:
    topology = simple().add_global_store(FakeBuilder("G"), "g-in", "g", "fill", Processor)
    with pytest.raises(TopologyError, match="open to all"):
        topology.connect_processor_and_state_stores("p", "G")
    with pytest.raises(TopologyError, match="global store has already"):
        topology.add_state_store(FakeBuilder("G"))


@pytest.mark.parametrize("reset", ["earliest", "LATEST", "none", timedelta(hours=1), "by_duration:PT1H", None])
def test_takes_every_kind_of_offset_reset(reset: Any) -> None:
    Topology().add_source("in", ["events"], offset_reset=reset)


def test_adds_the_stores_that_a_supplier_brings_along() -> None:
    class WithStore(Processor):
        stores = (FakeBuilder("own"),)

    topology = Topology().add_source("in", ["events"]).add_processor("p", WithStore, "in")
    planned = topology.configured(CONFIG)
    assert list(planned.task_plan().stores) == ["own"]


def test_a_plan_has_nodes_in_order_with_children_as_they_were_attached() -> None:
    topology = simple().add_processor("z", Processor, "p").add_processor("a", Processor, ["p", "p"])
    planned = topology.configured(CONFIG)
    plan = planned.task_plan()
    assert [node.name for node in plan.nodes] == ["in", "p", "z", "a"]
    assert plan.node("p").children == ("z", "a", "a")
    assert plan.source_topics == {"events": "in"}


def test_a_plan_of_one_sub_topology_leaves_the_others_out() -> None:
    topology = simple().add_source("other", ["more"]).add_state_store(FakeBuilder("S"), "p")
    planned = topology.configured(CONFIG)
    assert [node.name for node in planned.task_plan(1).nodes] == ["other"]
    assert planned.task_plan(1).stores == {}
    assert planned.task_plan(0).store_to_changelog == {"S": "app-S-changelog"}
    with pytest.raises(IllegalStateError, match="no sub-topology 2"):
        planned.task_plan(2)


def test_a_plan_finds_the_source_of_a_topic_by_pattern() -> None:
    topology = simple().add_source("all", pattern="log-.*").add_source("web", pattern=".*-web")
    planned = topology.configured(CONFIG)
    plan = planned.task_plan()
    assert (plan.source_of("events"), plan.source_of("log-a"), plan.source_of("x")) == ("in", "all", None)
    with pytest.raises(TopologyError, match="more than one source"):
        plan.source_of("log-web")


def test_global_stores_have_a_plan_of_their_own() -> None:
    topology = simple().add_global_store(FakeBuilder("G"), "g-in", "g", "fill", Processor)
    planned = topology.configured(CONFIG)
    plan = planned.global_plan()
    assert plan is not None
    assert plan.is_global
    assert [node.name for node in plan.nodes] == ["g-in", "fill"]
    assert list(plan.global_stores) == ["G"]
    assert plan.store_to_changelog == {"G": "g"}
    assert not plan.global_stores["G"].logging_enabled
    assert [node.name for node in planned.task_plan().nodes] == ["in", "p"]
    assert simple().configured(CONFIG).global_plan() is None


def test_a_read_only_store_has_its_source_topic_as_changelog() -> None:
    topology = simple().add_read_only_state_store(FakeBuilder("R"), "r-in", "r", "fill", Processor)
    planned = topology.configured(CONFIG)
    assert planned.task_plan().store_to_changelog == {"R": "r"}
    assert [(topic.name, topic.kind) for topic in planned.internal_topics()] == [("r", "source-changelog")]


def test_a_topology_can_be_configured_again() -> None:
    uncached, cached = (CONFIG.with_settings({"statestore.cache.max.bytes": size}) for size in (0, 1_000))
    builder = StreamsBuilder()
    builder.stream("in").group_by_key().count("counts")
    topology = builder.build().add_state_store(stores.key_value(stores.in_memory("own")).with_caching_enabled())
    before = {name: store.caching_enabled for name, store in topology.configured(uncached).graph.stores.items()}
    assert before == {"counts": False, "own": False}
    after = {name: store.caching_enabled for name, store in topology.configured(cached).graph.stores.items()}
    assert after == {"counts": True, "own": True}
    assert topology.graph.prefix == ""


def test_internal_topics_carry_the_prefix_once_configured() -> None:
    topology = simple()
    topology.add_internal_topic("by-name-repartition", 3)
    topology.add_sink("sink", "by-name-repartition", "p")
    topology.add_repartition_source("source", "by-name-repartition", key_serde=None, value_serde=None)
    assert "(topic: by-name-repartition)" in str(topology.describe())
    planned = topology.configured(CONFIG)
    plan = planned.task_plan()
    assert plan.topic_name("by-name-repartition") == "app-by-name-repartition"
    assert plan.topic_name("events") == "events"
    assert plan.repartition_topics == {"app-by-name-repartition"}
    assert planned.subtopologies()[1].source_topics == ("app-by-name-repartition",)
    other = topology.configured(CONFIG.with_settings({"__internal.override.topic.prefix__": "other"}))
    assert other.task_plan().source_topics["other-by-name-repartition"] == "source"


def test_joined_topics_are_copartitioned_with_all_their_partners() -> None:
    topology = Topology()
    for name in "abcd":
        topology.add_source(name, [f"topic-{name}"])
    topology.copartition_sources(["a", "b"])
    topology.copartition_sources(["c", "d"])
    topology.copartition_sources(["b", "c"])
    assert copartition_groups(topology.graph) == [{"topic-a", "topic-b", "topic-c", "topic-d"}]


def test_refuses_different_explicit_partition_counts() -> None:
    topology = Topology()
    for name, partitions in (("a", 2), ("b", 3)):
        topology.add_internal_topic(name, partitions)
        topology.add_repartition_source(f"{name}-in", name, key_serde=None, value_serde=None)
    topology.copartition_sources(["a-in", "b-in"])
    with pytest.raises(TopologyError, match="same number of partitions"):
        topology.validate_copartition()
    topology.add_internal_topic("b", None)
    topology.validate_copartition()


def test_refuses_generated_names_only_when_told_to() -> None:
    strict = Topology({"ensure.explicit.internal.resource.naming": True})
    for topology in (Topology(), strict):
        topology.note_implicit_names(store="S-1", changelog_topic="S-1-changelog")
    Topology().check_implicit_names()
    with pytest.raises(TopologyError, match="not named") as caught:
        strict.check_implicit_names()
    assert caught.value.detail == "changelog topic: S-1-changelog; state store: S-1"


def test_a_configured_wrapper_sees_every_processor() -> None:
    seen: list[str] = []

    class Wrapper:
        def wrap_processor_supplier(self, name: str, supplier: Any) -> Any:
            seen.append(name)
            return supplier

    Topology({"processor.wrapper.class": Wrapper}).add_source("in", ["x"]).add_processor("p", Processor, "in")
    assert seen == ["p"]


def test_survives_pickling() -> None:
    topology = simple().add_sink("out", lambda key, value, context: "x", "p").add_source("all", pattern="log-.*")
    copy = cloudpickle.loads(cloudpickle.dumps(topology))
    assert str(copy.describe()) == str(topology.describe())
    assert len(cloudpickle.loads(cloudpickle.dumps(copy.configured(CONFIG).task_plan())).nodes) == 4


def test_nodes_know_where_they_were_built() -> None:
    topology = simple()
    assert all(__file__ in str(node.built_at) for node in topology.graph.nodes.values())
    with topology.written_at("program.py:7"):
        topology.add_sink("out", "results", "p")
    assert topology.graph.nodes["out"].built_at == "program.py:7"
