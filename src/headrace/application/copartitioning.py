"""Topics that are joined must have the same number of partitions: repartition topics follow, others are checked.

The rules of Kafka's CopartitionedTopicsEnforcer, with one difference. Kafka looks only if the topology has a
repartition topic at all; two source topics that are joined directly and do not fit give wrong results without a word.
Here they are always checked: nothing that worked is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from headrace.errors import TopologyError
from headrace.topology.subtopologies import copartitioned_topics

if TYPE_CHECKING:
    from headrace.topology import TopologyPlan
    from headrace.topology.internal_topics import InternalTopic
    from headrace.topology.nodes import TopologyGraph


def enforce_copartitioning(
    topology: TopologyPlan, counts: Mapping[str, int], repartitions: Mapping[str, InternalTopic]
) -> dict[str, int]:
    """The counts, with those of repartition topics changed to what their joins need."""
    enforced = dict(counts)
    for group in topology.copartition_groups():
        topics = sorted(group)
        external = {topic: counts[topic] for topic in topics if topic not in repartitions}
        internal = [repartitions[topic] for topic in topics if topic in repartitions]
        asked = {topic.name: topic.partitions for topic in internal if topic.partitions is not None}
        needed = _needed(topology.graph, external, asked, [counts[topic.name] for topic in internal])
        for topic in internal:
            enforced[topic.name] = needed
    return enforced


def _needed(graph: TopologyGraph, external: Mapping[str, int], asked: Mapping[str, int], found: Iterable[int]) -> int:
    """The number for the whole group: that of the topics that are there, else the one asked for, else the largest."""
    if len(set(external.values())) > 1:
        message = f"topics that are joined have different numbers of partitions: {_named(external)}"
        raise _refused(graph, message, external, _one_side(external))
    if external:
        needed = next(iter(external.values()))
        wrong = {topic: count for topic, count in asked.items() if count != needed}
        if wrong:
            message = f"repartition topics do not fit the topics they are joined with: {_named(wrong)}"
            hint = f"Ask for partitions={needed} in repartition(), or for none: it is found then."
            raise _refused(graph, f"{message}; {_named(external)}", {**external, **wrong}, hint)
        return needed
    if len(set(asked.values())) > 1:
        message = f"repartition topics that are joined have different numbers of partitions: {_named(asked)}"
        raise _refused(graph, message, asked, "Ask for the same partitions= in both, or in only one of them.")
    return next(iter(asked.values()), None) or max(found)


def _named(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{topic}: {count}" for topic, count in counts.items())


def _one_side(counts: Mapping[str, int]) -> str:
    least, most = min(counts.values()), max(counts.values())
    ways = (
        f"stream.repartition(partitions={most if count < most else least}) for {topic}"
        for topic, count in counts.items()
    )
    table = "A table is repartitioned while it is a stream: builder.stream(topic).repartition(...).to_table()."
    return f"Repartition one side first: {', or '.join(ways)}. {table}"


def _refused(graph: TopologyGraph, message: str, counts: Mapping[str, int], hint: str) -> TopologyError:
    detail = "A join reads the same partition of both sides in one task."
    lines = dict.fromkeys(filter(None, _demanded_at(graph, counts)))
    return TopologyError(message, detail=detail, hint=hint, at=", ".join(lines) or None)


def _demanded_at(graph: TopologyGraph, counts: Mapping[str, int]) -> list[str | None]:
    """The lines of the joins that do not fit; of all that are about the topics, where only all together do not."""
    demands = [
        (demand.built_at, {counts[topic] for topic in copartitioned_topics(graph, demand) & counts.keys()})
        for demand in graph.copartitioned
    ]
    return [at for at, found in demands if len(found) > 1] or [at for at, found in demands if found]
