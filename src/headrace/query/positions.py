"""How far the committed state of an application has come in what it reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from headrace.state.position import Position
from headrace.topology.nodes import SinkNode

if TYPE_CHECKING:
    from headrace.application.layout import Application
    from headrace.broker.port import OffsetAndMetadata, TopicPartition


def input_position(
    application: Application,
    subtopology: int,
    partition: int,
    committed: Mapping[TopicPartition, OffsetAndMetadata],
) -> Position:
    """The last offsets that a store of that task reflects.

    A batch commits all its tasks together. So what comes through a repartition topic reflects all partitions that are
    read before it.
    """
    position = Position()
    before = _writers(application, subtopology)
    for (topic, number), read in committed.items():
        owner = application.topics.subtopology_of.get(topic)
        is_own = owner == subtopology and number == partition
        if read.offset > 0 and (is_own or owner in before):
            position.with_component(topic, number, read.offset - 1)
    return position


def _writers(application: Application, subtopology: int) -> frozenset[int]:
    """The sub-topologies whose records reach that one through repartition topics."""
    readers = application.topics.subtopology_of
    sends = {
        (group.id, target)
        for group in application.topology.subtopologies()
        if not group.is_global
        for topic in _written(application, group.nodes)
        if (target := readers.get(topic)) is not None
    }
    found: set[int] = set()
    new = {subtopology}
    while new:
        new = {writer for writer, target in sends if target in new} - found
        found |= new
    return frozenset(found)


def _written(application: Application, names: Iterable[str]) -> Iterator[str]:
    graph = application.topology.graph
    for name in names:
        node = graph.nodes[name]
        if isinstance(node, SinkNode) and node.topic in graph.internal_topics:
            yield graph.full_topic(str(node.topic))
