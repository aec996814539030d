"""Whatever the program, a batch visits its tasks in an order in which nothing is missed and nothing waits in vain."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from headrace import StreamsBuilder
from headrace.application.levels import LevelPlan, PlannedVisit, plan_levels
from headrace.application.topics import TopicPlan, plan_topics
from headrace.topology import TopologyPlan
from headrace.topology.nodes import SinkNode, SourceNode
from headrace.windows import JoinWindows
from tests.unit.application.programs import by_value, configured, first

STEPS = (
    "stream",
    "table",
    "rekey",
    "merge",
    "repartition",
    "count",
    "regroup",
    "stream table",
    "stream stream",
    "table table",
    "foreign key",
    "to stream",
    "to table",
)


@st.composite
def topologies(draw: st.DrawFn) -> tuple[TopologyPlan, set[str]]:
    """A topology of the DSL, and the topics of the user's that it reads."""
    topics: set[str] = set()
    steps = draw(st.lists(st.sampled_from(STEPS), max_size=12))

    def program(b: StreamsBuilder) -> None:
        streams, tables = [b.stream("first")], [b.table("second")]
        topics.update(("first", "second"))
        for number, step in enumerate(steps):
            one_stream, other_stream = draw(st.sampled_from(streams)), draw(st.sampled_from(streams))
            one_table, other_table = draw(st.sampled_from(tables)), draw(st.sampled_from(tables))
            made = _step(b, step, f"topic-{number}", (one_stream, other_stream), (one_table, other_table))
            if step in {"stream", "table"}:
                topics.add(f"topic-{number}")
            (streams if hasattr(made, "group_by_key") else tables).append(made)
        for number, stream in enumerate(streams):
            stream.to(f"out-{number}")

    optimization = draw(st.sampled_from(["none", "all"]))
    return configured(program, {"topology.optimization": optimization}), topics


def _step(b: StreamsBuilder, step: str, topic: str, streams: tuple[Any, Any], tables: tuple[Any, Any]) -> Any:
    stream, table = streams[0], tables[0]
    steps = {
        "stream": lambda: b.stream(topic),
        "table": lambda: b.table(topic),
        "rekey": lambda: stream.select_key(by_value),
        "merge": lambda: stream.merge(streams[1]),
        "repartition": stream.repartition,
        "count": lambda: stream.group_by(by_value).count(),
        "regroup": lambda: table.group_by(lambda key, value: (value, key)).count(),
        "stream table": lambda: stream.join(table, first),
        "stream stream": lambda: stream.join(streams[1], first, JoinWindows(10, grace=0)),
        "table table": lambda: table.join(tables[1], first),
        "foreign key": lambda: table.join(tables[1], first, foreign_key=lambda value: value),
        "to stream": table.to_stream,
        "to table": stream.to_table,
    }
    return steps[step]()


def planned(made: tuple[TopologyPlan, set[str]]) -> tuple[TopologyPlan, TopicPlan, LevelPlan]:
    topology, names = made
    topics = plan_topics(topology, dict.fromkeys(names, 2), "h:1")
    return topology, topics, plan_levels(topology, topics.sources)


def writers_of(topology: TopologyPlan) -> Iterator[tuple[str, str]]:
    """Source nodes and the repartition topics that their records can get to, found by walking up from the sinks."""
    graph = topology.graph
    for sink in graph.nodes.values():
        if isinstance(sink, SinkNode) and sink.topic in graph.internal_topics:
            waiting, seen = list(sink.parents), set(sink.parents)
            while waiting:
                node = graph.nodes[waiting.pop()]
                if isinstance(node, SourceNode):
                    yield node.name, graph.full_topic(sink.topic)
                waiting += [parent for parent in node.parents if parent not in seen]
                seen.update(node.parents)


def leads_to(plan: LevelPlan, start: PlannedVisit) -> set[tuple[int, int]]:
    """The visits that a visit feeds, directly or not, by sub-topology and level."""
    found: set[tuple[int, int]] = set()
    waiting = [start]
    for visit in waiting:
        for level in plan.levels[visit.level + 1 :]:
            for later in level:
                place = later.subtopology, later.level
                if place not in found and set(visit.writes) & set(later.topics):
                    found.add(place)
                    waiting.append(later)
    return found


@given(topologies())
def test_every_source_topic_is_read_exactly_once_per_batch(made: tuple[TopologyPlan, set[str]]) -> None:
    _, topics, plan = planned(made)
    read = sorted(topic for level in plan.levels for visit in level for topic in visit.topics)
    assert read == sorted(topics.subtopology_of)
    assert all(
        topics.subtopology_of[topic] == visit.subtopology and number == visit.level
        for number, level in enumerate(plan.levels)
        for visit in level
        for topic in visit.topics
    )


@given(topologies())
def test_what_a_visit_writes_is_read_at_a_later_level(made: tuple[TopologyPlan, set[str]]) -> None:
    topology, topics, plan = planned(made)
    visit_of = {source: visit for level in plan.levels for visit in level for source in visit.sources}
    found = set()
    for source, topic in writers_of(topology):
        found.add((source, topic))
        assert visit_of[source].level < plan.level_of(topic)
        assert topic in visit_of[source].writes
    assert {topic for _, topic in found} == {topic.name for topic in topics.internal if topic.kind == "repartition"}


@given(topologies())
def test_a_subtopology_is_visited_again_only_where_it_has_fed_itself(made: tuple[TopologyPlan, set[str]]) -> None:
    """So sources that do not depend on each other are read together, in the order of their times."""
    topology, _, plan = planned(made)
    for group in topology.subtopologies():
        visits = plan.visits_of(group.id)
        assert len({visit.level for visit in visits}) == len(visits)
        for earlier, later in combinations(visits, 2):
            assert (later.subtopology, later.level) in leads_to(plan, earlier)


@given(topologies())
def test_no_visit_is_later_than_what_it_waits_for(made: tuple[TopologyPlan, set[str]]) -> None:
    """Every level is needed: each visit reads something that was written right before it."""
    _, _, plan = planned(made)
    for before, level in zip(plan.levels, plan.levels[1:], strict=False):
        written = {topic for visit in before for topic in visit.writes}
        assert all(written & set(visit.topics) for visit in level)


@given(topologies())
def test_a_batch_is_planned_the_same_way_every_time(made: tuple[TopologyPlan, set[str]]) -> None:
    _, _, plan = planned(made)
    assert planned(made)[2] == plan
