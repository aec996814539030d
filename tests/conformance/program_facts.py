"""What the program of a case says about how it can be compared: its sub-topologies, its clocks, how it may be cut."""

from __future__ import annotations

import json
from collections.abc import Iterable

from headrace.application.topics import TopicPlan
from headrace.topology import TopologyPlan
from headrace.topology.nodes import SinkNode
from tests.conformance.cutting import Cut
from tests.conformance.specs import Json

_CLOCK_READERS = ("context_info", "punctuate")
"""Processors that write the time of the wall clock into their output."""


def needs_wall_clock(case: Json) -> bool:
    """Whether the output depends on when the case runs, or on a clock that the case moves."""
    return (
        any("advance_wall_clock_ms" in step for step in case["inputs"])
        or any(f'"fn": "{name}"' in _program(case) for name in _CLOCK_READERS)
        or '"wallclock"' in _program(case)
        or '"wall_clock_time"' in _program(case)
    )


def reads_stream_time(case: Json) -> bool:
    """Whether the program sees the time of its task, which in the driver is that of all sub-topologies together."""
    return any(f'"{name}"' in _program(case) for name in ("context_info", "punctuate", "batcher", "schedule_on_value"))


def shows_offsets_of_patterns(case: Json) -> bool:
    """Whether offsets are seen of topics that a pattern finds, which the driver counts together."""
    return '"pattern"' in _program(case) and '"context_info"' in _program(case)


def starts_before_its_input(case: Json) -> bool:
    """Whether it matters that the tasks are there before the first record: schedules start, the end is the start."""
    return needs_wall_clock(case) or "reset" in _program(case)


def keeps_attributes(case: Json) -> bool:
    """Whether a processor remembers something in its own attributes, which are gone when its task is put down."""
    return any(f'"{name}"' in _program(case) for name in ("schedule_on_value", "cancel_after", "raise_at"))


def has_repartition(topics: TopicPlan) -> bool:
    """Whether tasks send to each other. Where none does, each has an order of its own that can be known."""
    return any(topic.kind == "repartition" for topic in topics.internal)


def sends_to_itself(topology: TopologyPlan, topics: TopicPlan) -> bool:
    """The same, or through topics of the user's."""
    return has_repartition(topics) or bool(sink_topics(topology) & source_topics(topology))


def buffer_changelogs(topology: TopologyPlan) -> set[str]:
    """The changelogs of buffers: they are written when the task commits, so they depend on the batches."""
    plans = [topology.task_plan(group.id) for group in topology.subtopologies() if not group.is_global]
    return {
        plan.store_to_changelog[name]
        for plan in plans
        for name, builder in plan.stores.items()
        if name in plan.store_to_changelog and "buffer" in str(getattr(builder, "kind", ""))
    }


def cut_for(case: Json, topology: TopologyPlan, topics: TopicPlan, partitions: int) -> Cut:
    """What a batch may hold so that there is one right order of it."""
    if keeps_attributes(case):
        return Cut.WHOLE
    flows = _Flows(topology, topics)
    if any(topic in flows.reached_from(topic) for topic in flows.inputs):
        return Cut.ONE_RECORD
    if sink_topics(topology) & set(topics.global_topics):
        return Cut.ONE_RECORD
    if len(topics.tasks) == 1 and not has_repartition(topics):
        if len(flows.inputs) == 1:
            return Cut.ANYTHING
        return Cut.ONE_TOPIC if _has_extractor(case) else Cut.BY_TIME
    if any(flows.meets_itself(topic) for topic in flows.inputs):
        return Cut.ONE_RECORD
    if partitions > 1 and any(flows.hops_from(topic) > 1 for topic in flows.inputs):
        return Cut.ONE_RECORD
    return Cut.ONE_PARTITION


class _Flows:
    """Which topics follow from which: through the nodes that read the one and the sinks that write the other."""

    def __init__(self, topology: TopologyPlan, topics: TopicPlan) -> None:
        self._topics = topics
        graph = topology.graph
        children: dict[str, list[str]] = {}
        for node in graph.nodes.values():
            for parent in node.parents:
                children.setdefault(parent, []).append(node.name)
        self._next: dict[str, set[str]] = {}
        for name, read in topics.sources.items():
            sinks = [graph.nodes[each] for each in _closure([name], children)]
            written = {graph.full_topic(s.topic) for s in sinks if isinstance(s, SinkNode) and s.topic is not None}
            for topic in read:
                self._next.setdefault(topic, set()).update(written & topics.subtopology_of.keys())
        internal = {topic.name for topic in topics.internal}
        self.inputs = [topic for topic in topics.subtopology_of if topic not in internal]

    def reached_from(self, topic: str) -> set[str]:
        """The topics that records of ``topic`` can lead to."""
        return set(_closure(self._next.get(topic, ()), self._next))

    def meets_itself(self, topic: str) -> bool:
        """Whether a task can get what follows from one record by two ways, in an order that nothing tells."""
        owners = [self._topics.subtopology_of[each] for each in {topic, *self.reached_from(topic)}]
        return len(owners) != len(set(owners))

    def hops_from(self, topic: str) -> int:
        """How many topics records go through one after another."""
        return max((1 + self.hops_from(each) for each in self._next.get(topic, ())), default=0)


def _closure(start: Iterable[str], edges: dict[str, list[str]] | dict[str, set[str]]) -> list[str]:
    found, waiting = dict.fromkeys(start), list(start)
    while waiting:
        for each in edges.get(waiting.pop(), ()):
            if each not in found:
                found[each] = None
                waiting.append(each)
    return list(found)


def _has_extractor(case: Json) -> bool:
    return "timestamp_extractor" in _program(case) or "default.timestamp.extractor" in case["config"]


def _program(case: Json) -> str:
    return json.dumps([case["topology"], case["config"]])


def source_topics(topology: TopologyPlan) -> set[str]:
    """The topics of the user's that the program reads by name."""
    graph = topology.graph
    plans = [topology.task_plan(), topology.global_plan()]
    return {topic for plan in plans if plan is not None for topic in plan.source_topics} - {
        graph.full_topic(topic) for topic in graph.internal_topics
    }


def global_topics(topology: TopologyPlan) -> set[str]:
    """The topics that are read into global stores."""
    plan = topology.global_plan()
    return set() if plan is None else set(plan.source_topics)


def sink_topics(topology: TopologyPlan) -> set[str]:
    """The topics of the user's that the program writes by name."""
    graph = topology.graph
    named = {node.topic for node in graph.nodes.values() if isinstance(node, SinkNode) and node.topic is not None}
    return named - set(graph.internal_topics)
