from __future__ import annotations

from headrace.processors.api import Processor
from headrace.topology import Topology
from tests.unit.topology.builders import FakeBuilder


def by_first_letter(key: object, value: object, context: object) -> str:
    return "t"


def test_shows_an_empty_topology() -> None:
    assert str(Topology().describe()) == "Topologies:\n "


def test_there_may_be_many_more_paths_than_nodes() -> None:
    topology = Topology().add_source("0", ["events"])
    for number in range(0, 160, 2):
        topology.add_processor(f"{number + 1}", Processor, f"{number}")
        topology.add_processor(f"{number + 2}", Processor, [f"{number}", f"{number + 1}"])
    (part,) = topology.describe().subtopologies
    assert [node.name for node in part.nodes] == [f"{number}" for number in range(161)]


def test_lists_nodes_with_most_below_them_first() -> None:
    topology = (
        Topology()
        .add_source("in", ["events"])
        .add_processor("b", Processor, "in")
        .add_processor("a", Processor, "b")
        .add_sink("out", "results", ["a", "b"])
    )
    assert str(topology.describe()) == (
        "Topologies:\n"
        "   Sub-topology: 0\n"
        "    Source: in (topics: [events])\n"
        "      --> b\n"
        "    Processor: b (stores: [])\n"
        "      --> a, out\n"
        "      <-- in\n"
        "    Processor: a (stores: [])\n"
        "      --> out\n"
        "      <-- b\n"
        "    Sink: out (topic: results)\n"
        "      <-- b, a\n"
        "\n"
    )


def test_shows_global_stores_among_the_sub_topologies() -> None:
    topology = (
        Topology()
        .add_source("one", ["a"])
        .add_global_store(FakeBuilder("regions"), "regions-in", "regions-topic", "fill", Processor)
        .add_source("two", pattern="b.*")
        .add_sink("out", by_first_letter, "two")
    )
    assert str(topology.describe()) == (
        "Topologies:\n"
        "   Sub-topology: 0\n"
        "    Source: one (topics: [a])\n"
        "      --> none\n"
        "\n"
        "  Sub-topology: 1 for global store (will not generate tasks)\n"
        "    Source: regions-in (topics: [regions-topic])\n"
        "      --> fill\n"
        "    Processor: fill (stores: [regions])\n"
        "      --> none\n"
        "      <-- regions-in\n"
        "  Sub-topology: 2\n"
        "    Source: two (topics: b.*)\n"
        "      --> out\n"
        "    Sink: out (extractor class: by_first_letter)\n"
        "      <-- two\n"
        "\n"
    )


def test_a_shared_store_joins_two_sub_topologies() -> None:
    topology = Topology()
    for side in ("left", "right"):
        topology.add_source(f"{side}-in", [side]).add_processor(side, Processor, f"{side}-in")
    assert len(topology.describe().subtopologies) == 2
    topology.add_state_store(FakeBuilder("shared"), ["left", "right"])
    assert len(topology.describe().subtopologies) == 1
