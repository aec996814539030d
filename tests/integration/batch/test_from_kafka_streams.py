"""An application that Kafka Streams ran before: what that leaves on a broker is made by hand here.

With the real Kafka Streams: ``tests/kafka/test_interop.py``.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from headrace import Streams, StreamsBuilder, Topology, serdes
from headrace.broker import open_broker
from headrace.broker.port import Broker, NewRecord, OffsetAndMetadata
from headrace.errors import InternalTopicError
from headrace.partitioning import default_partition
from headrace.task import commit_metadata

CHANGELOG, REPARTITION = "app-counts-changelog", "app-counts-repartition"
LONG = serdes.long()


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    with closing(open_broker(f"embedded:{tmp_path / 'data'}", fsync="never")) as broker:
        broker.create_topic("lines", 2)
        broker.create_topic("out", 2)
        yield broker


def words() -> Topology:
    builder = StreamsBuilder()
    (
        builder.stream("lines")
        .flat_map_values(lambda line: line.split())
        .group_by(lambda key, word: word)
        .count("counts")
        .to_stream()
        .to("out", value_serde=serdes.long())
    )
    return builder.build()


def send(broker: Broker, *lines: str) -> None:
    broker.append([NewRecord("lines", None, line.encode(), partition=n % 2) for n, line in enumerate(lines)])


def run(broker: Broker, tmp_path: Path) -> None:
    config = {"application.id": "app", "bootstrap.servers": broker.address, "state.dir": tmp_path / "state"}
    with Streams(words(), config, engine="local") as app:
        app.run_until_idle()


def counts(broker: Broker) -> dict[str, int]:
    """The last count of each word, and a check that none was written twice."""
    found: dict[str, int] = {}
    for number in range(2):
        for records in broker.read("out", number, 0):
            for _, _, _, _, key, value, _ in records:
                assert key is not None
                assert value is not None
                count = LONG.deserialize("out", value)
                assert count is not None
                assert count > found.get(key.decode(), 0)
                found[key.decode()] = count
    return found


def java_counted(broker: Broker, **words: int) -> None:
    """Kafka Streams counted these: its changelog says so, and its output."""
    for topic in (CHANGELOG, "out"):
        broker.append(
            [
                NewRecord(topic, word.encode(), LONG.serialize(topic, count), partition=place(word))
                for word, count in words.items()
            ]
        )


def place(word: str) -> int:
    return default_partition(word.encode(), 2)


def java_committed(broker: Broker, topic: str, *offsets: int) -> None:
    found = {(topic, n): OffsetAndMetadata(at, commit_metadata.encode(7, {})) for n, at in enumerate(offsets)}
    broker.commit_offsets("app", found)


def test_its_offsets_its_stores_and_what_it_left_unread_are_gone_on_from(broker: Broker, tmp_path: Path) -> None:
    broker.create_topic(CHANGELOG, 2, {"cleanup.policy": "compact"})
    broker.create_topic(REPARTITION, 2, {"cleanup.policy": "delete", "retention.ms": "-1"})
    send(broker, "a b", "a")
    java_counted(broker, a=2, b=1)
    java_committed(broker, "lines", 1, 1)
    broker.append([NewRecord(REPARTITION, b"a", b"a", partition=place("a")) for _ in range(4)])
    java_committed(broker, REPARTITION, 2 if place("a") == 0 else 0, 2 if place("a") == 1 else 0)
    send(broker, "a b", "c")

    run(broker, tmp_path)

    # Two of "a" in the repartition topic were unread, and one more came.
    assert counts(broker) == {"a": 5, "b": 2, "c": 1}
    committed = broker.committed("app")
    assert committed["lines", 0].offset == 2
    assert committed[REPARTITION, place("a")].offset == 4
    run(broker, tmp_path)
    assert counts(broker) == {"a": 5, "b": 2, "c": 1}


def test_what_it_counted_between_two_runs_counts(broker: Broker, tmp_path: Path) -> None:
    send(broker, "a b", "a")
    run(broker, tmp_path)
    assert counts(broker) == {"a": 2, "b": 1}
    send(broker, "a", "a")
    java_counted(broker, a=4)
    java_committed(broker, "lines", 2, 2)
    send(broker, "a", "b")

    run(broker, tmp_path)

    assert counts(broker) == {"a": 5, "b": 2}


def test_it_may_also_have_run_when_nothing_was_to_be_read_before(broker: Broker, tmp_path: Path) -> None:
    run(broker, tmp_path)
    send(broker, "a", "a")
    java_counted(broker, a=2)
    java_committed(broker, "lines", 1, 1)
    send(broker, "a")

    run(broker, tmp_path)

    assert counts(broker) == {"a": 3}


def test_a_position_that_was_set_by_hand_leaves_the_state_as_it_is(broker: Broker, tmp_path: Path) -> None:
    send(broker, "a b", "a")
    run(broker, tmp_path)
    broker.commit_offsets("app", {("lines", 0): OffsetAndMetadata(0)})

    run(broker, tmp_path)

    assert counts(broker) == {"a": 3, "b": 2}


def test_changelogs_without_commits_are_still_refused(broker: Broker, tmp_path: Path) -> None:
    send(broker, "a")
    run(broker, tmp_path)
    broker.delete_application("app")
    shutil.rmtree(tmp_path / "state")
    broker.commit_offsets("app", {("lines", 0): OffsetAndMetadata(1)})

    with pytest.raises(InternalTopicError, match="has committed nothing"):
        run(broker, tmp_path)
