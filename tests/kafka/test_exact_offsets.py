from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

from headrace.broker import open_broker
from headrace.broker.config import BrokerConfig
from headrace.broker.kafka import groups
from headrace.broker.kafka.clients import Clients
from headrace.broker.kafka.exact_offsets import committed_by, send_offsets
from headrace.broker.port import Broker, OffsetAndMetadata
from headrace.errors import BrokerUnreachableError
from tests.kafka.running import member, wait_for

_SECONDS = 60.0
_NOTE = "AgAAAAAAAGqx"


@pytest.fixture
def broker(kafka_address: str, kafka_name: str) -> Iterator[Broker]:
    with closing(open_broker(kafka_address)) as broker:
        broker.create_topic(kafka_name, 3)
        yield broker


@pytest.fixture
def producer(kafka_address: str, kafka_name: str) -> Producer:
    producer = Producer({"bootstrap.servers": kafka_address, "transactional.id": kafka_name})
    producer.init_transactions(_SECONDS)
    producer.begin_transaction()
    return producer


def test_metadata_is_sent_and_read_to_the_letter(
    broker: Broker, producer: Producer, kafka_address: str, kafka_name: str
) -> None:
    send_offsets(producer, kafka_name, [(kafka_name, 0, 3, _NOTE), (kafka_name, 1, 4, ""), (kafka_name, 2, 5, "ä")], 30)
    producer.commit_transaction(_SECONDS)
    # A commit is answered before it is everywhere: offsets that are the first of a group are not told until then.
    wait_for(lambda: len(broker.committed(kafka_name)) == 3)

    assert broker.committed(kafka_name) == {
        (kafka_name, 0): OffsetAndMetadata(3, _NOTE),
        (kafka_name, 1): OffsetAndMetadata(4, ""),
        (kafka_name, 2): OffsetAndMetadata(5, "ä"),
    }
    # confluent-kafka's own way to read takes what comes after it in memory along; ours does not, and again and again.
    consumer = Consumer({"bootstrap.servers": kafka_address, "group.id": kafka_name})
    try:
        found = {committed_by(consumer, [(kafka_name, 0)], _SECONDS)[kafka_name, 0] for _ in range(30)}
    finally:
        consumer.close()
    assert found == {(3, _NOTE)}


def test_a_zero_that_another_client_sent_is_no_part_of_it(
    broker: Broker, producer: Producer, kafka_address: str, kafka_name: str
) -> None:
    consumer = Consumer({"bootstrap.servers": kafka_address, "group.id": kafka_name})
    try:
        part = TopicPartition(kafka_name, 0, 3, _NOTE)
        producer.send_offsets_to_transaction([part], consumer.consumer_group_metadata(), _SECONDS)
        producer.commit_transaction(_SECONDS)
        wait_for(lambda: bool(broker.committed(kafka_name)))
        assert committed_by(consumer, [(kafka_name, 0)], _SECONDS) == {(kafka_name, 0): (3, _NOTE)}
    finally:
        consumer.close()


def test_an_aborted_transaction_leaves_nothing(broker: Broker, producer: Producer, kafka_name: str) -> None:
    send_offsets(producer, kafka_name, [(kafka_name, 0, 3, _NOTE)], _SECONDS)
    producer.abort_transaction(_SECONDS)
    assert broker.committed(kafka_name) == {}


def test_a_group_with_members_takes_none(
    broker: Broker, producer: Producer, kafka_address: str, kafka_name: str
) -> None:
    with member(kafka_address, kafka_name, kafka_name):
        with pytest.raises(KafkaException) as raised:
            send_offsets(producer, kafka_name, [(kafka_name, 0, 3, _NOTE)], _SECONDS)
        assert raised.value.args[0].code() == KafkaError.UNKNOWN_MEMBER_ID
        producer.abort_transaction(_SECONDS)

    producer.begin_transaction()
    send_offsets(producer, kafka_name, [(kafka_name, 0, 3, _NOTE)], _SECONDS)
    producer.commit_transaction(_SECONDS)
    wait_for(lambda: broker.committed(kafka_name) == {(kafka_name, 0): OffsetAndMetadata(3, _NOTE)})


def test_offsets_under_way_keep_only_those_waiting_who_need_the_end(
    broker: Broker, producer: Producer, kafka_address: str, kafka_name: str
) -> None:
    broker.commit_offsets(kafka_name, {(kafka_name, 0): OffsetAndMetadata(1, "")})
    send_offsets(producer, kafka_name, [(kafka_name, 0, 3, _NOTE)], _SECONDS)

    before = {(kafka_name, 0): OffsetAndMetadata(1, "")}
    # The transaction times out after 60 s.
    patient, hurried = (
        Clients(BrokerConfig(kafka_address, {"consumer.default.api.timeout.ms": limit_ms}))
        for limit_ms in (25_000, 5_000)
    )
    assert groups.committed(patient, kafka_name) == before
    with pytest.raises(BrokerUnreachableError):
        groups.committed(hurried, kafka_name, is_definite=True)

    with ThreadPoolExecutor() as pool:
        definite = pool.submit(groups.committed, Clients(broker.config), kafka_name, is_definite=True)
        producer.commit_transaction(_SECONDS)
        assert definite.result(_SECONDS) == {(kafka_name, 0): OffsetAndMetadata(3, _NOTE)}


def test_who_was_fenced_is_told(broker: Broker, producer: Producer, kafka_address: str, kafka_name: str) -> None:
    Producer({"bootstrap.servers": kafka_address, "transactional.id": kafka_name}).init_transactions(_SECONDS)

    with pytest.raises(KafkaException) as raised:
        send_offsets(producer, kafka_name, [(kafka_name, 0, 3, _NOTE)], _SECONDS)
    assert raised.value.args[0].fatal()
    assert broker.committed(kafka_name) == {}
