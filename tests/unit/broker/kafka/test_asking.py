"""Questions to a cluster that is not ready for them yet, or says nothing."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import OFFSET_INVALID, KafkaError, KafkaException, Producer

from headrace.broker.config import BrokerConfig
from headrace.broker.kafka import exact_offsets, groups, offsets
from headrace.broker.kafka.clients import Clients
from headrace.errors import BrokerUnreachableError

_TIMED_OUT = KafkaError(KafkaError._TIMED_OUT)


@pytest.mark.parametrize("code", [KafkaError.UNKNOWN_LEADER_EPOCH, KafkaError.FENCED_LEADER_EPOCH])
def test_a_leader_that_does_not_know_its_partition_yet_is_asked_again(code: int) -> None:
    refused: Future[int] = Future()
    refused.set_exception(KafkaException(KafkaError(code)))
    answered: Future[int] = Future()
    answered.set_result(7)
    futures = [answered, refused]
    assert Clients(BrokerConfig("127.0.0.1:1")).ask("ask for offsets", futures.pop) == 7


class _SilentAdmin:
    """What librdkafka answers for brokers that said nothing in time: no error, and nothing else either."""

    def list_offsets(self, asked: dict[Any, Any], **_: Any) -> dict[Any, Future[Any]]:
        return {place: _answer(SimpleNamespace(offset=OFFSET_INVALID)) for place in asked}

    def list_consumer_groups(self, **_: Any) -> Future[Any]:
        return _answer(SimpleNamespace(valid=[], errors=[_TIMED_OUT]))

    def poll(self, _: float) -> None:
        """Nothing is heard."""


def _answer(found: Any) -> Future[Any]:
    future: Future[Any] = Future()
    future.set_result(found)
    return future


@pytest.mark.parametrize(
    "ask",
    [
        lambda clients: offsets.starts(clients, [("t", 0)]),
        lambda clients: offsets.ends(clients, [("t", 0)]),
        lambda clients: offsets.for_times(clients, {("t", 0): 0}),
        lambda clients: groups.check_empty(clients, "g"),
    ],
    ids=["the start", "the end", "a time", "members of a group"],
)
def test_what_a_silent_broker_did_not_tell_is_not_taken_for_an_answer(
    ask: Callable[[Clients], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    clients = Clients(BrokerConfig("127.0.0.1:1"))
    monkeypatch.setattr(clients, "_admin", _SilentAdmin())
    with pytest.raises(BrokerUnreachableError, match=r"Kafka at 127\.0\.0\.1:1 does not answer"):
        ask(clients)


def test_offsets_that_librdkafka_never_sends_are_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    never = threading.Event()
    monkeypatch.setattr(exact_offsets, "_send_offsets", lambda *_: never.wait())
    monkeypatch.setattr(exact_offsets, "_MORE_SECONDS", 0.01)
    with pytest.raises(KafkaException, match="the offsets of app were not taken") as said:
        exact_offsets.send_offsets(Producer({}), "app", [("in", 0, 1, "")], 0.01)
    never.set()
    assert said.value.args[0].code() == KafkaError._TIMED_OUT
