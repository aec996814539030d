"""Topics: made, described, altered, deleted."""

from __future__ import annotations

import stat

import pytest

from headrace.broker.embedded import EmbeddedBroker
from headrace.broker.port import NewRecord, OffsetAndMetadata
from headrace.broker.topic_config import DEFAULTS
from headrace.errors import ArgumentError, ConfigError, TopicExistsError, UnknownTopicError
from tests.unit.broker.scene import BIG, files, put, values


def test_a_new_topic_is_empty(broker: EmbeddedBroker) -> None:
    broker.create_topic("clicks", partitions=2, config={"retention.ms": 5})
    found = broker.describe_topic("clicks")
    assert broker.topics() == {"clicks": 2}
    assert found.config == {**DEFAULTS, "retention.ms": "5"}
    assert [(p.partition, p.start_offset, p.next_offset, p.records, p.size) for p in found.partitions] == [
        (0, 0, 0, 0, 0),
        (1, 0, 0, 0, 0),
    ]
    assert found.size == 0
    assert found.created_ms == 1_000_000
    assert broker.topic_ids(["clicks", "unknown"]) == {"clicks": found.id}


def test_describes_offsets_and_size(broker: EmbeddedBroker) -> None:
    broker.create_topic("clicks", partitions=2)
    put(broker, "clicks", (b"a", b"1"), (b"b", b"2"), partition=1)
    empty, full = broker.describe_topic("clicks").partitions
    assert (empty.records, empty.next_offset) == (0, 0)
    assert (full.records, full.next_offset, full.segments) == (2, 2, 1)
    assert full.size is not None
    assert full.size > 0


def test_refuses_a_second_topic_of_the_same_name(broker: EmbeddedBroker) -> None:
    broker.create_topic("clicks")
    with pytest.raises(TopicExistsError, match="topic clicks exists already"):
        broker.create_topic("clicks")


@pytest.mark.parametrize("name", ["", ".", "..", "../up", "a/b", "a\0b", "ü", "x" * 250])
def test_refuses_a_name_that_could_leave_its_directory(broker: EmbeddedBroker, name: str) -> None:
    with pytest.raises(ArgumentError, match=r"the topic name .* is illegal"):
        broker.create_topic(name)


def test_the_longest_name_and_names_that_differ_in_case_only(broker: EmbeddedBroker) -> None:
    for name in ("x" * 249, "X" * 249):
        broker.create_topic(name)
        put(broker, name, *[(b"k", BIG)] * 20)
    assert len({path.parent for path in files(broker)}) == 2
    assert len({str(path.parent).lower() for path in files(broker)}) == 2


@pytest.mark.parametrize("partitions", [0, -1, True, 1.0, "2", 100_001])
def test_refuses_a_bad_number_of_partitions(broker: EmbeddedBroker, partitions: int) -> None:
    with pytest.raises(ArgumentError, match="partitions: it takes a whole number, 1 to 100,000"):
        broker.create_topic("clicks", partitions=partitions)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"cleanup.policy": "shred"}, "cleanup.policy must be 'delete', 'compact' or"),
        ({"retention.ms": "soon"}, "retention.ms must be a whole number"),
        ({"min.cleanable.dirty.ratio": 2}, "from 0 to 1"),
        ({"retention_ms": 1}, r"unknown topic setting 'retention_ms'\n  hint: Did you mean retention.ms"),
        ({"message.timestamp.type": "LogAppendTime"}, "CreateTime"),
    ],
)
def test_refuses_bad_settings(broker: EmbeddedBroker, config: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        broker.create_topic("clicks", config=config)
    assert broker.topics() == {}


def test_keeps_settings_of_kafka_that_mean_nothing_here(broker: EmbeddedBroker) -> None:
    broker.create_topic("clicks", config={"compression.type": "zstd"})
    assert broker.describe_topic("clicks").config["compression.type"] == "zstd"


def test_adds_partitions_and_changes_settings(broker: EmbeddedBroker) -> None:
    broker.create_topic("clicks", config={"retention.ms": 5, "segment.bytes": 100})
    broker.alter_topic("clicks", partitions=3, config={"retention.ms": None, "cleanup.policy": "compact"})
    found = broker.describe_topic("clicks")
    assert len(found.partitions) == 3
    assert found.config == {**DEFAULTS, "segment.bytes": "100", "cleanup.policy": "compact"}


def test_never_removes_partitions(broker: EmbeddedBroker) -> None:
    broker.create_topic("clicks", partitions=3)
    with pytest.raises(ArgumentError, match="topic clicks has 3 partitions: it cannot shrink to 2"):
        broker.alter_topic("clicks", partitions=2)


def test_a_deleted_topic_takes_its_files_and_offsets_along(broker: EmbeddedBroker) -> None:
    broker.create_topic("clicks")
    broker.create_topic("views")
    put(broker, "clicks", *[(b"k", BIG)] * 20)
    broker.commit_offsets("group", {("clicks", 0): OffsetAndMetadata(1), ("views", 0): OffsetAndMetadata(0)})
    assert files(broker)
    broker.delete_topic("clicks")
    assert broker.topics() == {"views": 1}
    assert broker.committed("group") == {("views", 0): OffsetAndMetadata(0)}
    assert list((broker.directory / "topics").iterdir()) == []


def test_a_topic_made_again_starts_empty(broker: EmbeddedBroker) -> None:
    broker.create_topic("clicks")
    put(broker, "clicks", (b"k", b"old"))
    broker.delete_topic("clicks")
    broker.create_topic("clicks")
    put(broker, "clicks", (b"k", b"new"))
    assert values(broker, "clicks") == [b"new"]


def test_an_unknown_topic_suggests_the_nearest(broker: EmbeddedBroker) -> None:
    broker.create_topic("clicks")
    for call in (broker.describe_topic, broker.delete_topic, broker.alter_topic):
        with pytest.raises(UnknownTopicError, match=r"there is no topic 'click'\n  hint: Did you mean 'clicks'"):
            call("click")
    with pytest.raises(UnknownTopicError, match=rf"hint: headrace topics list --broker {broker.address} shows"):
        broker.describe_topic("orders")
    with pytest.raises(UnknownTopicError, match="no topic"):
        broker.append([NewRecord("click", None, b"")])
    with pytest.raises(UnknownTopicError, match="no topic"):
        broker.end_offsets([("click", 0)])
    with pytest.raises(UnknownTopicError, match="topic clicks has no partition 1"):
        broker.end_offsets([("clicks", 1)])
    with pytest.raises(UnknownTopicError, match="topic clicks has no partition 1"):
        broker.read("clicks", 1, 0)


def test_only_the_owner_can_look_into_the_directory(broker: EmbeddedBroker) -> None:
    broker.create_topic("clicks")
    put(broker, "clicks", *[(b"k", BIG)] * 20)
    broker.maintain()
    everything = [broker.directory, *broker.directory.rglob("*")]
    assert len(everything) > 5
    for path in everything:
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path
