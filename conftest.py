"""What examples in docstrings may use without importing it: the public names, ``timedelta``, and ``run``.

``run(builder, (key, value), ...)`` pipes records through the program and gives what it wrote to the topic ``out``. A
record may end with its timestamp, which is 0 otherwise; where a program reads several topics it begins with one. Values
are JSON unless the program says otherwise.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

import headrace
from headrace import StreamsBuilder, Topology, TopologyTestDriver, serdes, testing
from headrace.topology.nodes import SinkNode

_CONFIG = {"default.value.serde": serdes.json(), "dsl.store.suppliers.class": "in_memory"}


def run(program: StreamsBuilder | Topology, *records: tuple[Any, ...]) -> list[tuple[Any, Any]]:
    """The records written to ``out``, as ``(key, value)``."""
    topology = program.build() if isinstance(program, StreamsBuilder) else program
    topics = _topics_read(topology)
    with TopologyTestDriver(topology, _CONFIG) as driver:
        out = driver.create_output_topic("out", *_serdes_of_sink(topology, "out"))
        for record in records:
            topic, *pair_and_time = record if len(topics) > 1 else (*topics, *record)
            driver.create_input_topic(topic, start=0).pipe_input(*pair_and_time)
        return out.read_key_values_to_list()


def _topics_read(topology: Topology) -> list[str]:
    read = [topic for source in topology.graph.sources() for topic in source.topics]
    return [topic for topic in read if topic not in topology.graph.internal_topics]


def _serdes_of_sink(topology: Topology, topic: str) -> tuple[Any, Any]:
    nodes = topology.graph.nodes.values()
    sink = next((node for node in nodes if isinstance(node, SinkNode) and node.topic == topic), None)
    return (None, None) if sink is None else (sink.key_serde, sink.value_serde)


@pytest.fixture(autouse=True, scope="session")
def _names_in_examples(doctest_namespace: dict[str, Any]) -> None:
    doctest_namespace.update({name: getattr(headrace, name) for name in headrace.__all__})
    doctest_namespace.update({name: getattr(testing, name) for name in testing.__all__})
    doctest_namespace.update(timedelta=timedelta, run=run)
