"""Which topics an application reads and needs, how many partitions each has, and so how many tasks there are.

As in Kafka Streams (RepartitionTopics, ChangelogTopics); what an application cannot start with is an error here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from headrace.application.copartitioning import enforce_copartitioning
from headrace.application.task_id import TaskId
from headrace.commands import command
from headrace.errors import MissingSourceTopicError, TopologyError
from headrace.near_names import did_you_mean
from headrace.topology.nodes import SourceNode

if TYPE_CHECKING:
    from headrace.topology import TopologyPlan
    from headrace.topology.internal_topics import InternalTopic
    from headrace.topology.nodes import TopologyGraph
    from headrace.topology.subtopologies import Subtopology

_OF_THE_BROKER = frozenset({"__consumer_offsets", "__transaction_state"})


@dataclass(frozen=True, slots=True)
class PlannedTopic:
    """An internal topic as it must be. ``kind`` is ``repartition`` or ``changelog``."""

    name: str
    kind: str
    partitions: int
    config: Mapping[str, str] = field(hash=False)
    store: str | None = None
    """The store whose changelog this is."""
    subtopology: int = 0
    """Whose source a repartition topic is, or where the store of a changelog lives."""
    exists: bool = False


@dataclass(frozen=True, slots=True)
class TopicPlan:
    """The topics of an application with their partitions, and the tasks that follow from them."""

    sources: Mapping[str, tuple[str, ...]]
    """The topics each source node reads, those of patterns found among the existing ones. Without global sources."""
    partitions: Mapping[str, int]
    """The number of partitions of every topic that is read or internal."""
    tasks: Mapping[int, int]
    """The number of tasks of each sub-topology; global ones have none and are not here."""
    internal: tuple[PlannedTopic, ...]
    global_topics: tuple[str, ...]
    subtopology_of: Mapping[str, int]
    """Which sub-topology reads a topic."""

    @property
    def missing(self) -> tuple[PlannedTopic, ...]:
        return tuple(topic for topic in self.internal if not topic.exists)

    @property
    def changelogs(self) -> tuple[str, ...]:
        """The changelogs of the application's own, without source topics that serve as such."""
        return tuple(topic.name for topic in self.internal if topic.kind == "changelog")

    def task_ids(self) -> list[TaskId]:
        return [TaskId(subtopology, partition) for subtopology, n in self.tasks.items() for partition in range(n)]

    def partitions_of(self, task: TaskId) -> list[tuple[str, int]]:
        topics = (topic for topic, owner in self.subtopology_of.items() if owner == task.subtopology)
        return [(topic, task.partition) for topic in topics if task.partition < self.partitions[topic]]


def plan_topics(topology: TopologyPlan, existing: Mapping[str, int | None], address: str) -> TopicPlan:
    """Decide the partitions of all internal topics of a configured topology.

    ``existing`` has the number of partitions of every topic there is; None, or no entry, means that there is no such
    topic. A missing topic, or one whose partitions do not fit those of another, is an error. ``address`` is that of the
    broker, for what such an error recommends. Whether internal topics are as planned is left to ``check_existing``.
    """
    internal = [topic for topic in topology.internal_topics() if topic.kind != "source-changelog"]
    there = {topic: count for topic, count in existing.items() if count is not None}
    groups = [group for group in topology.subtopologies() if not group.is_global]
    sources = resolve_sources(topology, there)
    repartitions = {topic.name: topic for topic in internal if topic.kind == "repartition"}
    read = {group.id: _topics_read(group, sources) for group in groups}
    global_topics = _global_topics(topology)
    readers = {**{f"sub-topology {number}": topics for number, topics in read.items()}, "global stores": global_topics}
    _check_sources_exist(topology.graph, readers, {*there, *repartitions}, address)
    counts = {topic: there[topic] for topics in read.values() for topic in topics if topic not in repartitions}
    counts |= _repartition_counts(groups, read, repartitions, counts)
    counts = enforce_copartitioning(topology, counts, repartitions)
    tasks = {number: max((counts[topic] for topic in topics), default=0) for number, topics in read.items()}
    planned = tuple(_planned(topic, counts, tasks, there) for topic in internal if _is_needed(topic, tasks))
    return TopicPlan(
        sources=sources,
        partitions=counts | {topic.name: topic.partitions for topic in planned},
        tasks=tasks,
        internal=planned,
        global_topics=global_topics,
        subtopology_of={topic: number for number, topics in read.items() for topic in topics},
    )


def resolve_sources(topology: TopologyPlan, existing: Collection[str]) -> dict[str, tuple[str, ...]]:
    """The topics each source node reads, those of patterns found among the ``existing`` ones. No global sources."""
    graph = topology.graph
    internal = {topic.name for topic in topology.internal_topics() if topic.kind != "source-changelog"}
    groups = [group for group in topology.subtopologies() if not group.is_global]
    nodes = [graph.nodes[name] for group in groups for name in group.nodes]
    # Kafka would match the application's own changelogs and repartition topics too, and feed on its own state.
    candidates = sorted(set(existing) - internal - _OF_THE_BROKER)
    found: dict[str, tuple[str, ...]] = {}
    matched: dict[str, str] = {}
    for node in nodes:
        if not isinstance(node, SourceNode):
            continue
        topics = tuple(graph.full_topic(topic) for topic in node.topics)
        if node.pattern is not None:
            topics = tuple(topic for topic in candidates if node.pattern.fullmatch(topic))
            _check_matched_once(node, topics, matched)
        found[node.name] = topics
    return found


def _check_matched_once(node: SourceNode, topics: Iterable[str], matched: dict[str, str]) -> None:
    for topic in topics:
        other = matched.setdefault(topic, node.name)
        if other != node.name:
            message = f"the topic {topic!r} matches the patterns of more than one source"
            hint = "A topic can be read by one source only: narrow one of the patterns."
            raise TopologyError(message, detail=f"sources {other}, {node.name}", hint=hint, at=node.built_at)


def _topics_read(group: Subtopology, sources: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(topic for name in group.nodes for topic in sources.get(name, ())))


def _global_topics(topology: TopologyPlan) -> tuple[str, ...]:
    plan = topology.global_plan()
    return () if plan is None else tuple(plan.source_topics)


def _check_sources_exist(
    graph: TopologyGraph, readers: Mapping[str, Sequence[str]], known: Collection[str], address: str
) -> None:
    """No topic of the user's may be missing; all that are, are named at once."""
    missing = {reader: [topic for topic in topics if topic not in known] for reader, topics in readers.items()}
    names = sorted({topic for topics in missing.values() for topic in topics})
    if not names:
        return
    message = f"source topics are missing: {', '.join(names)}"
    raise MissingSourceTopicError(
        message,
        detail="; ".join(f"{reader}: {', '.join(topics)}" for reader, topics in missing.items() if topics),
        hint=_remedy(names, known, address),
        at=next((node.built_at for node in graph.sources() if names[0] in node.topics), None),
    )


def _remedy(missing: Sequence[str], known: Iterable[str], address: str) -> str:
    near = next((hint for topic in missing if (hint := did_you_mean(topic, sorted(known)))), None)
    start = "Create them" if near is None else f"{near} Or create what is missing"
    create = command(f"topics create {missing[0]} --partitions N", address)
    return f"{start} before the application starts: {create}"


def _repartition_counts(
    groups: Iterable[Subtopology],
    read: Mapping[int, Sequence[str]],
    repartitions: Mapping[str, InternalTopic],
    external: Mapping[str, int],
) -> dict[str, int]:
    """What the user asked for; else as many as the largest topic read by a sub-topology that writes the topic.

    Counts only grow and none grows beyond the largest there is, so this ends. Kafka stops at the first number it
    finds, which can depend on the order of a hash map where a topic has several sources; this is the largest it can
    find.
    """
    counts = {topic: internal.partitions or 0 for topic, internal in repartitions.items()}
    writers = {topic: [group.id for group in groups if topic in group.sink_topics] for topic in repartitions}
    grown = True
    while grown:
        grown = False
        for topic, internal in repartitions.items():
            if internal.partitions is not None:
                continue
            upstream = (source for number in writers[topic] for source in read[number])
            count = max((external.get(source) or counts.get(source, 0) for source in upstream), default=0)
            if count > counts[topic]:
                counts[topic], grown = count, True
    unknown = sorted(topic for topic, count in counts.items() if not count)
    if unknown:
        message = f"the number of partitions of {', '.join(unknown)} cannot be found"
        raise MissingSourceTopicError(
            message,
            detail="the sub-topologies that write them read no topic that exists",
            hint="Create the source topics: each pattern must match at least one.",
        )
    return counts


def _is_needed(topic: InternalTopic, tasks: Mapping[int, int]) -> bool:
    """A sub-topology whose patterns match nothing has no tasks, and needs no changelogs yet."""
    return topic.kind == "repartition" or tasks[topic.subtopology] > 0


def _planned(
    topic: InternalTopic, counts: Mapping[str, int], tasks: Mapping[int, int], there: Mapping[str, int]
) -> PlannedTopic:
    count = counts[topic.name] if topic.kind == "repartition" else tasks[topic.subtopology]
    return PlannedTopic(
        topic.name, topic.kind, count, topic.config, topic.store, topic.subtopology, topic.name in there
    )
