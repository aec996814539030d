"""What is said of topics that a cluster does not have."""

from __future__ import annotations

from concurrent.futures import Future
from types import SimpleNamespace

import pytest
from confluent_kafka import KafkaError, KafkaException

from headrace.broker.config import BrokerConfig
from headrace.broker.kafka import metadata
from headrace.broker.kafka.clients import Clients


def test_a_topic_that_is_not_there_is_made_where_it_was_looked_for() -> None:
    error = metadata.unknown("orders", "broker:9092")
    assert str(error) == (
        "there is no topic orders\n  hint: Create it: headrace topics create orders --broker broker:9092"
    )


def test_a_topic_that_was_just_made_is_waited_for_where_another_broker_is_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clients = Clients(BrokerConfig("127.0.0.1:1"))
    found = SimpleNamespace(partitions=[0], error=None)
    answers = [SimpleNamespace(topics={}), SimpleNamespace(topics={"made": found})]
    monkeypatch.setattr(metadata, "_asked", lambda _: answers.pop(0))
    clients.note_made("made")
    assert metadata.counts(clients) == {"made": 1}

    answers.append(SimpleNamespace(topics={}))
    clients.note_deleted("made")
    assert metadata.counts(clients) == {}


def test_what_does_not_know_a_new_topic_yet_is_asked_again() -> None:
    clients = Clients(BrokerConfig("127.0.0.1:1"))
    clients.note_made("made")
    answered: Future[int] = Future()
    answered.set_result(7)
    refused: Future[int] = Future()
    refused.set_exception(KafkaException(KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART)))
    futures = [answered, refused]
    assert clients.look("describe the topic made", lambda seconds: clients.answer(futures.pop(), seconds)) == 7
