from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pytest

from headrace import StreamsBuilder
from headrace.application.existing_topics import check_existing
from headrace.application.task_id import TaskId
from headrace.application.topics import TopicPlan, plan_topics
from headrace.errors import InternalTopicError, MissingSourceTopicError, TopologyError
from headrace.processors.api import Processor
from headrace.state import stores
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

COUNTS, WORDS = "app-counts-changelog", "app-words-repartition"


def plan(program: Program, existing: Mapping[str, int | None], configs: Any = None) -> TopicPlan:
    return checked(configured(program), existing, configs)


def checked(topology: TopologyPlan, existing: Mapping[str, int | None], configs: Any = None) -> TopicPlan:
    planned = plan_topics(topology, existing, "embedded:data")
    there = {topic: count for topic, count in existing.items() if count is not None}
    check_existing(planned.internal, there, configs or {}, address="embedded:data")
    return planned


def internal(planned: TopicPlan) -> dict[str, int]:
    return {topic.name: topic.partitions for topic in planned.internal}


def test_a_repartition_topic_has_as_many_partitions_as_what_feeds_it_and_a_changelog_one_per_task() -> None:
    planned = plan(word_count, {"lines": 6, "other": 9})
    assert internal(planned) == {"app-words-repartition": 6, "app-counts-changelog": 6}
    assert planned.tasks == {0: 6, 1: 6}
    assert planned.task_ids()[5:7] == [TaskId(0, 5), TaskId(1, 0)]
    assert planned.partitions_of(TaskId(1, 2)) == [("app-words-repartition", 2)]


def test_what_exists_already_need_not_be_created() -> None:
    planned = plan(word_count, {"lines": 2, "app-counts-changelog": 2})
    assert [topic.name for topic in planned.missing] == ["app-words-repartition"]
    assert {topic.name: topic.exists for topic in planned.internal}["app-counts-changelog"]


def test_an_explicit_number_wins() -> None:
    def program(b: StreamsBuilder) -> None:
        b.stream("lines").repartition(name="wide", partitions=8).group_by_key().count("counts")

    planned = plan(program, {"lines": 2})
    assert internal(planned) == {"app-wide-repartition": 8, "app-counts-changelog": 8}
    assert planned.tasks == {0: 2, 1: 8}


def test_the_largest_of_several_sources_counts_and_goes_on_downstream() -> None:
    def program(b: StreamsBuilder) -> None:
        merged = b.stream("a").merge(b.stream("b"))
        counted = merged.group_by(by_value, name="one").count("first").to_stream()
        counted.merge(b.stream("c")).group_by(by_value, name="two").count("second")

    planned = plan(program, {"a": 2, "b": 5, "c": 3})
    assert internal(planned) == {
        "app-one-repartition": 5,
        "app-first-changelog": 5,
        "app-two-repartition": 5,
        "app-second-changelog": 5,
    }


def test_a_repartition_topic_takes_the_number_of_the_topic_it_is_joined_with() -> None:
    def program(b: StreamsBuilder) -> None:
        b.stream("clicks").select_key(by_value).join(b.table("users", store="users"), first).to("out")

    planned = plan(program, {"clicks": 12, "users": 4})
    assert planned.tasks == {0: 12, 1: 4}
    assert set(internal(planned).values()) == {4}


def test_repartition_topics_that_are_joined_take_the_largest_number_or_the_one_asked_for() -> None:
    def joined(partitions: int | None) -> Program:
        def program(b: StreamsBuilder) -> None:
            left = b.stream("a").group_by(by_value, name="left").count("l")
            right = b.stream("b").repartition(name="right", partitions=partitions).to_table(store="r")
            left.join(right, first)

        return program

    largest = internal(plan(joined(None), {"a": 2, "b": 5}))
    assert (largest["app-left-repartition"], largest["app-right-repartition"]) == (5, 5)
    asked = internal(plan(joined(3), {"a": 2, "b": 5}))
    assert (asked["app-left-repartition"], asked["app-right-repartition"], asked["app-l-changelog"]) == (3, 3, 3)


def test_the_topics_of_a_foreign_key_join_follow_the_table_they_lead_to() -> None:
    planned = plan(foreign_key_join, {"orders": 3, "users": 5})
    counts = internal(planned)
    assert counts["app-fk-subscription-registration-topic"] == 5
    assert counts["app-fk-subscription-response-topic"] == 3
    assert counts["app-fk-subscription-store-changelog"] == 5
    assert planned.tasks == {0: 3, 1: 5}


def test_a_source_topic_that_serves_as_changelog_is_not_created() -> None:
    topology = configured(lambda b: b.table("users", store="users"), {"topology.optimization": "all"})
    assert plan_topics(topology, {"users": 4}, "embedded:data").internal == ()


def test_global_tables_have_topics_but_no_tasks() -> None:
    planned = plan(lambda b: b.global_table("rates", store="rates"), {"rates": 3})
    assert (planned.tasks, planned.global_topics, planned.internal) == ({}, ("rates",), ())


# Patterns


def counted_by_pattern(b: StreamsBuilder) -> None:
    b.stream(re.compile("app-.*")).group_by_key().count("counts")


def test_a_pattern_reads_the_topics_there_are_but_never_the_applications_own() -> None:
    planned = plan(counted_by_pattern, {"app-web": 2, "app-mobile": 3, "web": 9, "app-counts-changelog": 3})
    assert planned.sources == {"KSTREAM-SOURCE-0000000000": ("app-mobile", "app-web")}
    assert planned.tasks == {0: 3}
    assert internal(planned) == {"app-counts-changelog": 3}


def test_a_pattern_that_matches_nothing_has_no_tasks_and_no_changelog_yet() -> None:
    planned = plan(counted_by_pattern, {"web": 9})
    assert (planned.tasks, planned.internal) == ({0: 0}, ())


def test_a_repartition_topic_fed_by_a_pattern_that_matches_nothing_is_an_error() -> None:
    def program(b: StreamsBuilder) -> None:
        b.stream(re.compile("log-.*")).group_by(by_value, name="words").count("counts")

    with pytest.raises(MissingSourceTopicError, match="partitions of app-words-repartition cannot be found") as error:
        plan(program, {})
    assert "each pattern must match" in str(error.value)


def test_two_patterns_cannot_read_the_same_topic() -> None:
    def program(b: StreamsBuilder) -> None:
        b.stream(re.compile("log-.*")).to("a")
        b.stream(re.compile(".*-web")).to("b")

    with pytest.raises(TopologyError, match="'log-web' matches the patterns of more than one source"):
        plan(program, {"log-web": 1})


# What an application cannot start with


@pytest.mark.parametrize("existing", [{"users": 4}, {"users": 4, "clicks": None}])
def test_a_missing_source_topic_is_an_error(existing: dict[str, int | None]) -> None:
    with pytest.raises(MissingSourceTopicError, match="source topics are missing: clicks") as error:
        plan(stream_table_join, existing)
    assert "detail: sub-topology 0: clicks" in str(error.value)
    assert "headrace topics create clicks" in str(error.value)
    assert "programs.py" in (error.value.at or "")


def test_a_misspelt_source_topic_is_shown_its_near_name() -> None:
    with pytest.raises(MissingSourceTopicError) as error:
        plan(stream_table_join, {"users": 4, "click": 4})
    assert str(error.value.hint).startswith("Did you mean 'click'? Or create what is missing before")
    assert "headrace topics create clicks" in str(error.value.hint)


def test_a_missing_topic_of_a_global_table_is_an_error() -> None:
    with pytest.raises(MissingSourceTopicError, match="missing: rates"):
        plan(lambda b: b.global_table("rates", store="rates"), {})


def test_source_topics_that_are_joined_must_fit_even_without_a_repartition_topic() -> None:
    with pytest.raises(TopologyError, match=r"different numbers of partitions: clicks: 12, users: 8") as error:
        plan(stream_table_join, {"clicks": 12, "users": 8})
    assert "stream.repartition(partitions=8) for clicks, or stream.repartition(partitions=12) for users" in str(
        error.value
    )
    assert "builder.stream(topic).repartition(...).to_table()" in str(error.value)
    assert "programs.py" in (error.value.at or "")


def test_of_several_joins_the_one_that_does_not_fit_is_named() -> None:
    def program(b: StreamsBuilder) -> None:
        clicks = b.stream("clicks")
        users = b.table("users", store="users")
        prices = b.table("prices", store="prices")
        known = clicks.join(users, first)
        known.join(prices, first)

    with pytest.raises(TopologyError, match=r"clicks: 4, prices: 3, users: 4") as error:
        plan(program, {"clicks": 4, "users": 4, "prices": 3})
    assert error.value.at == f"{__file__}:{program.__code__.co_firstlineno + 5}"


def test_an_explicit_number_must_fit_the_topic_it_is_joined_with() -> None:
    def program(b: StreamsBuilder) -> None:
        clicks = b.stream("clicks").repartition(name="wide", partitions=8)
        clicks.join(b.table("users", store="users"), first)

    with pytest.raises(TopologyError, match=r"app-wide-repartition: 8; users: 4") as error:
        plan(program, {"clicks": 2, "users": 4})
    assert "partitions=4" in (error.value.hint or "")


def test_explicit_numbers_that_are_joined_must_agree() -> None:
    topology = Topology()
    for name, partitions in (("left", 2), ("right", 3)):
        topology.add_internal_topic(name, partitions)
        topology.add_repartition_source(f"{name}-source", name, key_serde=None, value_serde=None)
    topology.copartition_sources(["left-source", "right-source"])
    with pytest.raises(TopologyError, match=r"repartition topics that are joined .* app-left: 2, app-right: 3"):
        plan_topics(topology.configured(configured(word_count).config), {}, "embedded:data")


def test_an_internal_topic_with_another_number_of_partitions_is_an_error() -> None:
    with pytest.raises(InternalTopicError, match="wrong number of partitions: app-counts-changelog") as error:
        plan(word_count, {"lines": 4, "app-counts-changelog": 2})
    assert "app-counts-changelog has 2 partitions, 4 are needed" in str(error.value)
    assert "headrace reset " in str(error.value)


@pytest.mark.parametrize(
    ("topic", "config", "problem", "alter"),
    [
        (COUNTS, {"cleanup.policy": "delete"}, "must not contain delete", "cleanup.policy=compact"),
        (COUNTS, {"cleanup.policy": "compact, delete"}, "must not contain delete", "cleanup.policy=compact"),
        (WORDS, {"cleanup.policy": "compact"}, "must not contain compact", "cleanup.policy=delete"),
        (
            WORDS,
            {"cleanup.policy": "delete", "retention.ms": "5"},
            "retention.ms is 5, it must be -1",
            "retention.ms=-1",
        ),
        (WORDS, {"cleanup.policy": "delete", "retention.bytes": "5"}, "retention.bytes is 5", "retention.bytes=-1"),
    ],
)
def test_settings_of_internal_topics_that_lose_records_are_an_error(
    topic: str, config: dict[str, str], problem: str, alter: str
) -> None:
    with pytest.raises(InternalTopicError, match=f"lose records: {topic}") as error:
        plan(word_count, {"lines": 2, topic: 2}, {topic: config})
    assert problem in (error.value.detail or "")
    assert f"headrace topics alter {topic} --config {alter}" in (error.value.hint or "")


@pytest.mark.parametrize(
    ("topic", "config"),
    [
        ("app-counts-changelog", {"cleanup.policy": "compact", "retention.ms": "5"}),
        ("app-words-repartition", {"cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "-1"}),
        ("app-words-repartition", {}),
    ],
)
def test_settings_of_internal_topics_that_keep_records_are_fine(topic: str, config: dict[str, str]) -> None:
    assert plan(word_count, {"lines": 2, topic: 2}, {topic: config}).tasks == {0: 2, 1: 2}


def with_store(builder: Any) -> TopologyPlan:
    topology = Topology().add_source("in", ["events"]).add_processor("p", Processor, "in")
    return topology.add_state_store(builder, "p").configured(configured(word_count).config)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("retention.ms", "86400000", "it must be at least 86460000"),
        ("retention.ms", "86460000", None),
        ("retention.ms", "-1", None),
    ],
)
def test_a_windowed_changelog_must_keep_what_its_store_keeps(name: str, value: str, message: str | None) -> None:
    topology = with_store(stores.window(stores.persistent_window("w", retention=60_000, size=10)))
    existing = {"events": 1, "app-w-changelog": 1}
    configs = {"app-w-changelog": {"cleanup.policy": "compact,delete", name: value}}
    if message is None:
        checked(topology, existing, configs)
    else:
        with pytest.raises(InternalTopicError, match=message):
            checked(topology, existing, configs)


def test_a_versioned_changelog_must_not_be_compacted_too_early() -> None:
    topology = with_store(stores.versioned_key_value(stores.versioned("v", 60_000)))
    configs = {"app-v-changelog": {"cleanup.policy": "compact", "min.compaction.lag.ms": "0"}}
    with pytest.raises(InternalTopicError, match=r"min.compaction.lag.ms is 0, it must be at least 86460000"):
        checked(topology, {"events": 1, "app-v-changelog": 1}, configs)
