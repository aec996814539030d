from __future__ import annotations

import json
from xml.etree import ElementTree

from headrace.processors.api import Processor
from headrace.topology import Topology
from tests.unit.topology.builders import FakeBuilder


def topology() -> Topology:
    return (
        Topology()
        .add_source("in", ["events"])
        .add_processor('a "b" <c>', Processor, "in")
        .add_state_store(FakeBuilder("seen"), 'a "b" <c>')
        .add_sink("out", "results", ['a "b" <c>', "in"])
        .add_global_store(FakeBuilder("G"), "g-in", "g", "fill", Processor)
    )


def test_mermaid_shows_topics_outside_and_nodes_inside() -> None:
    assert topology().to_mermaid().splitlines()[:10] == [
        "flowchart TD",
        '  subgraph s0["Sub-topology 0"]',
        '    b0[/"in"/]',
        '    b1["a &quot;b&quot; &lt;c&gt;"]',
        '    b2[\\"out"\\]',
        '    b3[("seen")]',
        "    b0 --> b1",
        "    b1 -.- b3",
        "    b1 --> b2",
        "    b0 --> b2",
    ]
    assert 'subgraph s1["Sub-topology 1 (global store)"]' in topology().to_mermaid()


def test_dot_escapes_names() -> None:
    dot = topology().to_dot()
    assert 'b1 [label="a \\"b\\" <c>", shape=box];' in dot
    assert 'label="Sub-topology 1 (global store)";' in dot
    assert dot.count("{") == dot.count("}")


def test_json_tells_all() -> None:
    first, second = json.loads(topology().to_json())["subtopologies"]
    assert second["global"]
    processor = first["nodes"][1]
    assert (processor["kind"], processor["parents"], processor["stores"]) == ("processor", ["in"], ["seen"])
    assert __file__ in processor["at"]


def test_a_notebook_shows_a_drawing_that_needs_nothing_else() -> None:
    html = topology()._repr_html_()
    root = ElementTree.fromstring(html)
    texts = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
    assert texts[:4] == ["in", "events", 'a "b" <c>', "\N{BULLET} seen"]
    assert "src=" not in html
    assert "href=" not in html


def test_a_notebook_shows_an_empty_topology_too() -> None:
    assert "empty" in Topology()._repr_html_()
