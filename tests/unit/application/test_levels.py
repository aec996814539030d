from __future__ import annotations

from collections.abc import Mapping

import pytest

from headrace import StreamsBuilder
from headrace.application.levels import LevelPlan, plan_levels
from headrace.application.topics import plan_topics
from headrace.errors import TopologyError
from headrace.processors.api import Processor
from headrace.topology import Topology, TopologyPlan
from tests.unit.application.programs import (
    Program,
    by_value,
    configured,
    first,
    foreign_key_join,
    stream_table_join,
    word_count,
)


def levels_of(topology: TopologyPlan, existing: Mapping[str, int]) -> LevelPlan:
    return plan_levels(topology, plan_topics(topology, existing, "h:1").sources)


def read(program: Program, *topics: str) -> list[list[tuple[int, set[str]]]]:
    """What is read at each level: the sub-topology and its topics, short."""
    plan = levels_of(configured(program), dict.fromkeys(topics, 2))
    return [[(visit.subtopology, set(map(_short, visit.topics))) for visit in level] for level in plan.levels]


def _short(topic: str) -> str:
    return topic.removeprefix("app-").removesuffix("-repartition").removesuffix("-topic")


def test_one_subtopology_is_one_level() -> None:
    assert read(stream_table_join, "clicks", "users") == [[(0, {"clicks", "users"})]]


def test_what_is_repartitioned_is_read_a_level_later() -> None:
    assert read(word_count, "lines") == [[(0, {"lines"})], [(1, {"words"})]]


def test_independent_parts_share_levels() -> None:
    def program(b: StreamsBuilder) -> None:
        word_count(b)
        b.stream("other").to("copy")

    assert read(program, "lines", "other") == [[(0, {"lines"}), (2, {"other"})], [(1, {"words"})]]


def test_a_topic_that_is_joined_with_a_repartitioned_one_is_read_with_it() -> None:
    def program(b: StreamsBuilder) -> None:
        b.stream("clicks").select_key(by_value, name="by").join(b.table("users"), first, name="j").to("out")

    assert read(program, "clicks", "users") == [[(0, {"clicks"})], [(1, {"j", "users"})]]


def test_a_foreign_key_join_visits_the_left_side_twice() -> None:
    assert read(foreign_key_join, "orders", "users") == [
        [(0, {"orders"})],
        [(1, {"users", "fk-subscription-registration"})],
        [(0, {"fk-subscription-response"})],
    ]


def test_a_foreign_key_join_of_a_table_with_itself_visits_it_three_times() -> None:
    def program(b: StreamsBuilder) -> None:
        people = b.table("people")
        people.join(people, first, foreign_key=lambda person: person, name="fk").to_stream().to("out")

    assert read(program, "people") == [
        [(0, {"people"})],
        [(0, {"fk-subscription-registration"})],
        [(0, {"fk-subscription-response"})],
    ]


def test_a_stream_is_read_with_the_table_it_is_joined_with() -> None:
    def program(b: StreamsBuilder) -> None:
        orders, users = b.table("orders", store="orders"), b.table("users", store="users")
        orders.join(users, first, foreign_key=lambda order: order, name="fk").to_stream().to("out")
        b.stream("clicks").join(orders, first).to("out-2")

    assert read(program, "orders", "users", "clicks") == [
        [(0, {"orders", "clicks"})],
        [(1, {"users", "fk-subscription-registration"})],
        [(0, {"fk-subscription-response"})],
    ]


def test_a_stream_that_meets_both_ends_of_a_way_is_read_with_the_earlier_one() -> None:
    """The join with the orders must not see orders that are later than the click."""

    def program(b: StreamsBuilder) -> None:
        orders, users = b.table("orders", store="orders"), b.table("users", store="users")
        joined = orders.join(users, first, foreign_key=lambda order: order, name="fk")
        clicks = b.stream("clicks")
        clicks.join(orders, first).to("out")
        clicks.join(joined, first).to("out-2")

    assert read(program, "orders", "users", "clicks")[0] == [(0, {"orders", "clicks"})]


def test_a_stream_that_meets_only_what_comes_back_is_read_with_that() -> None:
    def program(b: StreamsBuilder) -> None:
        orders, users = b.table("orders", store="orders"), b.table("users", store="users")
        joined = orders.join(users, first, foreign_key=lambda order: order, name="fk", store="joined")
        b.stream("clicks").join(joined, first).to("out")

    assert read(program, "orders", "users", "clicks") == [
        [(0, {"orders"})],
        [(1, {"users", "fk-subscription-registration"})],
        [(0, {"fk-subscription-response", "clicks"})],
    ]


def test_two_subtopologies_that_wait_for_each_other_are_taken_apart() -> None:
    """Each stream is joined with the counts of the other: reading both pairs together is not possible."""

    def program(b: StreamsBuilder) -> None:
        a, c = b.stream("a"), b.stream("c")
        counts_of_a = a.group_by(by_value, name="of-a").count("as")
        counts_of_c = c.group_by(by_value, name="of-c").count("cs")
        a.join(counts_of_c, first).to("out")
        c.join(counts_of_a, first).to("out-2")

    assert read(program, "a", "c") == [[(1, {"c"})], [(0, {"a", "of-c"})], [(1, {"of-a"})]]


@pytest.mark.parametrize("length", [0, 1, 2, 7])
def test_a_chain_has_one_level_more_than_repartition_topics(length: int) -> None:
    def program(b: StreamsBuilder) -> None:
        stream = b.stream("in")
        for number in range(length):
            stream = stream.repartition(name=f"r{number}")
        stream.to("out")

    assert read(program, "in") == [[(0, {"in"})], *([(n + 1, {f"r{n}"})] for n in range(length))]


def test_a_visit_names_the_nodes_it_can_reach_and_the_topics_it_can_write() -> None:
    plan = levels_of(configured(foreign_key_join), {"orders": 2, "users": 2})
    (there,), (_,), (back,) = plan.levels
    assert (there.level, back.level, there.subtopology, back.subtopology) == (0, 2, 0, 0)
    assert there.writes == ("app-fk-subscription-registration-topic",)
    assert back.writes == ()
    assert "fk-subscription-response-resolver" in back.nodes - there.nodes
    assert "fk-subscription-registration-processor" in there.nodes - back.nodes
    assert plan.visits_of(0) == (there, back)
    assert plan.level_of("users") == 1


def test_a_topic_of_the_users_that_comes_back_is_read_in_the_next_batch() -> None:
    topology = Topology().add_source("in", ["loop", "start"]).add_sink("again", "loop", "in")
    ((visit,),) = levels_of(topology.configured(configured(word_count).config), {"loop": 1, "start": 1}).levels
    assert visit.topics == ("loop", "start")


def test_a_repartition_topic_that_feeds_itself_is_refused() -> None:
    topology = Topology()
    topology.add_internal_topic("loop", 1)
    topology.add_source("in", ["start"]).add_source("back", ["loop"])
    topology.add_processor("p", Processor, ["in", "back"]).add_sink("again", "loop", "p")
    with pytest.raises(TopologyError, match="a repartition topic feeds itself") as error:
        levels_of(topology.configured(configured(word_count).config), {"start": 1})
    assert "come back to them: back" in str(error.value)
    assert "next batch" in str(error.value)


def test_global_tables_are_not_visited() -> None:
    def program(b: StreamsBuilder) -> None:
        b.stream("clicks").join(b.global_table("rates"), by_value, first).to("out")

    assert read(program, "clicks", "rates") == [[(0, {"clicks"})]]
