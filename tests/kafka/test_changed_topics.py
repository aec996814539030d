"""Topics that change under an application on Kafka: each a clear error, and nothing is skipped in silence."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient

from headrace import Streams
from headrace.broker import open_broker
from headrace.broker.port import Broker
from headrace.errors import InternalTopicError, MissingSourceTopicError, OffsetError, UpgradeError
from tests.kafka.running import SECONDS, CountingApp, long, wait_for


@pytest.fixture
def broker(kafka_address: str) -> Iterator[Broker]:
    with closing(open_broker(kafka_address)) as broker:
        yield broker


@pytest.fixture
def app(kafka_address: str, kafka_name: str, tmp_path: Path) -> CountingApp:
    app = CountingApp(kafka_address, kafka_name, tmp_path)
    app.make_topics()
    app.send()
    return app


def run(app: CountingApp) -> None:
    with app.streams() as streams:
        streams.run_until_idle()


def ended_by(streams: Streams) -> BaseException:
    wait_for(lambda: streams.failure is not None, lambda: streams.state)
    assert streams.failure is not None
    return streams.failure


def test_a_source_topic_that_is_deleted_ends_the_run(app: CountingApp, broker: Broker) -> None:
    with app.streams() as streams:
        streams.run_until_idle()
        broker.delete_topic(f"{app.name}-in")
        error = ended_by(streams)

    assert isinstance(error, MissingSourceTopicError)
    assert f"{app.name}-in" in error.message
    assert "headrace topics create" in str(error.hint)


def test_partitions_that_are_added_to_a_counted_topic_end_the_run(app: CountingApp, broker: Broker) -> None:
    with app.streams(metadata_max_age_ms=500) as streams:
        streams.run_until_idle()
        broker.alter_topic(f"{app.name}-in", partitions=3)
        error = ended_by(streams)

    assert isinstance(error, UpgradeError)
    assert error.message.startswith("counts cannot go on with the state")
    assert "it had 2 partitions and would have 3" in error.message


def test_records_that_retention_removed_unread_are_told(app: CountingApp, broker: Broker, kafka_address: str) -> None:
    run(app)
    app.send(80)
    ends = broker.end_offsets([(f"{app.name}-in", 0)])
    admin = AdminClient({"bootstrap.servers": kafka_address})
    place = TopicPartition(f"{app.name}-in", 0, ends[f"{app.name}-in", 0] - 1)
    admin.delete_records([place])[place].result(SECONDS)

    with pytest.raises(OffsetError, match="were deleted before they were read") as raised:
        run(app)
    assert "auto.offset.reset" in str(raised.value.hint)


def test_an_internal_topic_with_another_number_of_partitions_is_refused(app: CountingApp, broker: Broker) -> None:
    broker.create_topic(f"{app.name}-counts-changelog", 5, {"cleanup.policy": "compact"})

    with pytest.raises(InternalTopicError) as raised:
        run(app)
    assert f"{app.name}-counts-changelog has 5 partitions, 2 are needed" in str(raised.value.detail)


@long
def test_a_source_topic_that_is_made_anew_ends_a_run_and_is_read_as_a_whole_by_the_next(
    app: CountingApp, broker: Broker
) -> None:
    with app.streams() as streams:
        streams.run_until_idle()
        broker.delete_topic(f"{app.name}-in")
        broker.create_topic(f"{app.name}-in", 2)
        app.send()
        error = ended_by(streams)
    assert isinstance(error, MissingSourceTopicError | OffsetError)
    assert f"{app.name}-in" in str(error)

    # The cluster forgets what a group had read of a topic that is deleted.
    run(app)
    app.wait_until_counted()
