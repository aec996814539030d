"""The topics a topology needs beside those of the user: repartition topics and changelogs, and their settings."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from headrace.errors import ArgumentError, TopologyError
from headrace.names import problem_with
from headrace.topology.nodes import SourceNode, TopologyGraph
from headrace.topology.subtopologies import node_groups

if TYPE_CHECKING:
    from headrace.config import StreamsConfig

_MAX_LONG = 2**63 - 1
_VERSIONED_COMPACTION_LAG_MS = 24 * 60 * 60 * 1000
"""How much longer than the history of its store a versioned changelog stays uncompacted."""


@dataclass(frozen=True, slots=True)
class InternalTopic:
    """A topic that Headrace creates, or (``source-changelog``) a source topic that serves as changelog."""

    name: str
    kind: str
    """``repartition``, ``changelog`` or ``source-changelog``."""
    partitions: int | None = None
    """The number the user asked for, if any."""
    config: dict[str, str] = field(default_factory=dict)
    store: str | None = None
    """The store whose changelog this is."""
    subtopology: int = 0
    """Whose source a repartition topic is, or where the store of a changelog lives."""


def internal_topics(graph: TopologyGraph, config: StreamsConfig) -> list[InternalTopic]:
    """All internal topics, sub-topology by sub-topology. Fails where a name is not legal for a topic."""
    topics: dict[str, InternalTopic] = {}
    for number, names in enumerate(node_groups(graph)):
        sources = _source_topics(graph, names)
        if not sources and not _has_pattern(graph, names):
            continue
        for topic in (
            *_repartitions(graph, config, sources, number),
            *_changelogs(graph, config, names, sources, number),
        ):
            topics.setdefault(topic.name, topic)
    return list(topics.values())


def _source_topics(graph: TopologyGraph, names: Iterable[str]) -> list[str]:
    nodes = (graph.nodes[name] for name in names)
    topics = (topic for node in nodes if isinstance(node, SourceNode) for topic in node.topics)
    return [topic for topic in topics if topic not in graph.global_topics]


def _has_pattern(graph: TopologyGraph, names: Iterable[str]) -> bool:
    nodes = (graph.nodes[name] for name in names)
    return any(isinstance(node, SourceNode) and node.pattern is not None for node in nodes)


def _repartitions(
    graph: TopologyGraph, config: StreamsConfig, sources: Iterable[str], subtopology: int
) -> Iterable[InternalTopic]:
    for topic in sources:
        if topic in graph.internal_topics:
            partitions = graph.internal_topics[topic]
            name = _checked(graph.full_topic(topic), partitions)
            yield InternalTopic(name, "repartition", partitions, _repartition_config(config), subtopology=subtopology)


def _changelogs(
    graph: TopologyGraph, config: StreamsConfig, names: Iterable[str], sources: list[str], subtopology: int
) -> Iterable[InternalTopic]:
    stores = dict.fromkeys(store for name in names for store in graph.stores_of.get(name, ()))
    for store in stores:
        topic = graph.changelog_of(store)
        if topic is None or store not in graph.stores:
            continue
        kind = "source-changelog" if topic in sources else "changelog"
        settings = _changelog_config(config, graph.stores[store])
        yield InternalTopic(_checked(topic), kind, config=settings, store=store, subtopology=subtopology)


def _checked(name: str, partitions: int | None = None) -> str:
    problem = problem_with(name)
    if problem is not None:
        message = f"the internal topic {name!r} cannot be created: {problem}"
        raise TopologyError(message, hint="Give the operator or its store a legal name.")
    if partitions is not None and partitions < 1:
        message = f"the repartition topic {name!r} must have at least 1 partition, not {partitions}"
        raise ArgumentError(message)
    return name


def _repartition_config(config: StreamsConfig) -> dict[str, str]:
    return {
        "message.timestamp.type": "CreateTime",
        "cleanup.policy": "delete",
        "segment.bytes": "52428800",
        "retention.ms": "-1",
        **_user_defaults(config),
    }


def _changelog_config(config: StreamsConfig, builder: Any) -> dict[str, str]:
    """Kafka Streams' own settings, then those of ``topic.``, then the store's."""
    given = {name: str(value) for name, value in builder.log_config.items()}
    base = {"message.timestamp.type": "CreateTime", "cleanup.policy": "compact"}
    if builder.is_versioned_store:
        lag = _sum(builder.history_ms, _VERSIONED_COMPACTION_LAG_MS)
        return {**base, **_user_defaults(config), "min.compaction.lag.ms": lag, **given}
    if builder.is_window_store:
        base["cleanup.policy"] = "compact,delete"
        retention = _sum(builder.retention_ms, int(config["windowstore.changelog.additional.retention.ms"]))
        return {**base, **_user_defaults(config), "retention.ms": retention, **given}
    return {**base, **_user_defaults(config), **given}


def _sum(duration_ms: int, more_ms: int) -> str:
    return str(min(duration_ms + more_ms, _MAX_LONG))


def _user_defaults(config: StreamsConfig) -> dict[str, str]:
    return {name: str(value) for name, value in config.with_prefix("topic.").items()}
