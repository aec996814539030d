"""What a topology is made of: frozen nodes, and the graph that holds them together."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, TypeAlias


@dataclass(frozen=True, slots=True)
class SourceNode:
    """Reads topics, or those that match a pattern."""

    name: str
    topics: tuple[str, ...] = ()
    pattern: re.Pattern[str] | None = None
    key_serde: Any = None
    value_serde: Any = None
    timestamp_extractor: Any = None
    offset_reset: Any = None
    built_at: str | None = None

    @property
    def parents(self) -> tuple[str, ...]:
        return ()


@dataclass(frozen=True, slots=True)
class ProcessorNode:
    """Runs a processor of its supplier for each record of its parents."""

    name: str
    parents: tuple[str, ...]
    supplier: Any
    built_at: str | None = None


@dataclass(frozen=True, slots=True)
class SinkNode:
    """Writes to ``topic``, or to the one that ``extractor`` names for each record."""

    name: str
    parents: tuple[str, ...]
    topic: str | None = None
    extractor: Any = None
    key_serde: Any = None
    value_serde: Any = None
    partitioner: Any = None
    built_at: str | None = None


Node: TypeAlias = SourceNode | ProcessorNode | SinkNode


@dataclass(slots=True)
class Copartition:
    """A demand: the topics of these source nodes must have the same number of partitions."""

    sources: set[str]
    built_at: str | None
    """Where it was demanded: the line of a join."""


@dataclass
class TopologyGraph:
    """The data of a topology; dicts keep the order in which things were added.

    Topic names in here are bare: internal topics get the application's prefix from ``full_topic``.
    """

    nodes: dict[str, Node] = field(default_factory=dict)
    stores: dict[str, Any] = field(default_factory=dict)
    """Store builders by store name."""
    global_stores: dict[str, Any] = field(default_factory=dict)
    stores_of: dict[str, dict[str, None]] = field(default_factory=dict)
    """The stores each processor is connected to."""
    users_of: dict[str, dict[str, None]] = field(default_factory=dict)
    """The processors connected to each store that is not global."""
    internal_topics: dict[str, int | None] = field(default_factory=dict)
    """Repartition topics and their explicit number of partitions, if any."""
    global_topics: set[str] = field(default_factory=set)
    source_changelogs: dict[str, str] = field(default_factory=dict)
    """Stores whose changelog is a source topic."""
    reprocess_on_restore: dict[str, bool] = field(default_factory=dict)
    """Global stores, and whether restoring runs their processor again."""
    copartitioned: list[Copartition] = field(default_factory=list)
    prefix: str = ""
    """What internal topic names start with in an application; empty in a topology that is not configured."""

    def full_topic(self, topic: str) -> str:
        """``topic``, with the application's prefix, if there is one and the topic is internal."""
        return self._prefixed(topic) if topic in self.internal_topics else topic

    def sources(self) -> Iterable[SourceNode]:
        return (node for node in self.nodes.values() if isinstance(node, SourceNode))

    def is_global_source(self, name: str) -> bool:
        node = self.nodes[name]
        return isinstance(node, SourceNode) and len(node.topics) == 1 and node.topics[0] in self.global_topics

    def changelog_of(self, store: str) -> str | None:
        """The full name of the store's changelog; None where it has none."""
        if store in self.source_changelogs:
            return self.source_changelogs[store]
        builder = self.stores.get(store)
        if builder is None or not builder.logging_enabled or not self.users_of.get(store):
            return None
        return self._prefixed(f"{store}-changelog")

    def _prefixed(self, name: str) -> str:
        return f"{self.prefix}-{name}" if self.prefix else name
