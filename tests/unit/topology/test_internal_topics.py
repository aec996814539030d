from __future__ import annotations

import pytest

from headrace.errors import ArgumentError, TopologyError
from headrace.processors.api import Processor
from headrace.topology import Topology, TopologyPlan
from tests.unit.topology.builders import FakeBuilder

DAY = 24 * 60 * 60 * 1000


def settings(builder: FakeBuilder, config: dict[str, object] | None = None) -> dict[str, str]:
    topology = Topology().add_source("in", ["events"]).add_processor("p", Processor, "in")
    topology.add_state_store(builder, "p")
    (topic,) = topology.configured({"application.id": "app", **(config or {})}).internal_topics()
    assert (topic.name, topic.kind, topic.store) == ("app-S-changelog", "changelog", "S")
    return topic.config


def repartitioned(name: str, partitions: int | None) -> TopologyPlan:
    topology = Topology()
    topology.add_internal_topic(name, partitions)
    topology.add_repartition_source("in", name, key_serde=None, value_serde=None)
    return topology.configured({"application.id": "app"})


def test_a_changelog_is_compacted() -> None:
    assert settings(FakeBuilder("S")) == {"cleanup.policy": "compact", "message.timestamp.type": "CreateTime"}


def test_a_windowed_changelog_also_forgets() -> None:
    windowed = settings(FakeBuilder("S", is_window_store=True, retention_ms=5))
    assert windowed["cleanup.policy"] == "compact,delete"
    assert windowed["retention.ms"] == str(DAY + 5)


def test_retention_never_overflows() -> None:
    forever = settings(FakeBuilder("S", is_window_store=True, retention_ms=2**63 - 1))
    assert forever["retention.ms"] == str(2**63 - 1)


def test_a_versioned_changelog_is_compacted_later() -> None:
    versioned = settings(FakeBuilder("S", is_versioned_store=True, history_ms=10))
    assert versioned["cleanup.policy"] == "compact"
    assert versioned["min.compaction.lag.ms"] == str(DAY + 10)


def test_the_store_overrules_the_application_which_overrules_the_library() -> None:
    builder = FakeBuilder("S", is_window_store=True, retention_ms=5, log_config={"segment.bytes": "2"})
    found = settings(builder, {"topic.segment.bytes": 1, "topic.cleanup.policy": "delete", "topic.retention.ms": 3})
    assert (found["segment.bytes"], found["cleanup.policy"]) == ("2", "delete")
    assert found["retention.ms"] == str(DAY + 5), "only the store itself may set another retention"


def test_a_repartition_topic_keeps_its_records_until_they_are_deleted() -> None:
    (topic,) = repartitioned("r-repartition", 4).internal_topics()
    assert (topic.name, topic.kind, topic.partitions) == ("app-r-repartition", "repartition", 4)
    assert topic.config == {
        "cleanup.policy": "delete",
        "message.timestamp.type": "CreateTime",
        "retention.ms": "-1",
        "segment.bytes": "52428800",
    }


def test_an_illegal_name_is_only_found_when_the_topic_is_to_be_created() -> None:
    topology = repartitioned("no good-repartition", None)
    assert topology.task_plan().source_topics == {"app-no good-repartition": "in"}
    with pytest.raises(TopologyError, match="cannot be created"):
        topology.internal_topics()


def test_a_repartition_topic_needs_a_partition() -> None:
    with pytest.raises(ArgumentError, match="at least 1"):
        repartitioned("r-repartition", 0).internal_topics()


def test_unlogged_unused_and_global_stores_have_no_changelog() -> None:
    topology = Topology().add_source("in", ["events"]).add_processor("p", Processor, "in")
    topology.add_state_store(FakeBuilder("quiet", logging_enabled=False), "p").add_state_store(FakeBuilder("unused"))
    topology.add_global_store(FakeBuilder("G"), "g-in", "g", "fill", Processor)
    assert topology.configured({"application.id": "app"}).internal_topics() == []
