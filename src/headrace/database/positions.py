"""From where a new query reads: what says "from now on" is fixed when the statement is executed, not when it starts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from headrace.broker.port import Log, OffsetAndMetadata
from headrace.topology import Topology

Starts: TypeAlias = Mapping[str, list[int]]
"""Offsets of partitions by their topics."""


def starts_from_now(log: Log, topology: Topology) -> Starts:
    """The ends of the topics that the topology is to read from their ends."""
    graph, existing = topology.graph, log.topics()
    topics = {
        topic
        for node in graph.sources()
        if node.offset_reset == "latest"
        for topic in node.topics
        if topic in existing and topic not in graph.internal_topics
    }
    return {topic: _ends(log, topic, existing[topic]) for topic in sorted(topics)}


def commit_starts(log: Log, application: str, starts: Starts) -> None:
    """Let the application begin there, unless it began before."""
    if starts and not log.committed(application):
        offsets = {
            (topic, number): OffsetAndMetadata(offset)
            for topic, listed in starts.items()
            for number, offset in enumerate(listed)
        }
        log.commit_offsets(application, offsets)


def _ends(log: Log, topic: str, partitions: int) -> list[int]:
    found = log.end_offsets([(topic, number) for number in range(partitions)])
    return [found[topic, number] for number in range(partitions)]
