"""What the log says while somebody waits for a cluster that does not answer."""

from __future__ import annotations

import threading
import time
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from headrace.broker.config import BrokerConfig
from headrace.broker.kafka import silence
from headrace.broker.kafka.clients import Clients
from headrace.errors import BrokerUnreachableError

_GONE = KafkaException(KafkaError(KafkaError._TRANSPORT, "refused"))


class _Admin:
    def __init__(self) -> None:
        self.is_gone = False
        self.asked = 0

    def list_topics(self, **_: Any) -> Any:
        self.asked += 1
        if self.is_gone:
            raise _GONE
        return SimpleNamespace(topics={})

    def poll(self, _: float) -> None:
        """Nothing is heard."""


@pytest.fixture
def admin() -> _Admin:
    return _Admin()


@pytest.fixture
def clients(admin: _Admin, monkeypatch: pytest.MonkeyPatch) -> Clients:
    monkeypatch.setattr(silence, "SECONDS", 0.0)
    made = Clients(BrokerConfig("here:1"))
    monkeypatch.setattr(made, "_admin", admin)
    return made


def _wait_until(is_so: Any) -> None:
    deadline = time.monotonic() + 30
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def _is_any_looking() -> bool:
    return any(isinstance(thread, threading.Timer) for thread in threading.enumerate())


def test_a_silent_cluster_is_told_once_while_it_is_waited_for_and_when_it_answers_again(
    clients: Clients, admin: _Admin, caplog: pytest.LogCaptureFixture
) -> None:
    admin.is_gone = True
    silent = "Kafka at here:1 has not answered for 0 s: waiting up to 60 s (refused (_TRANSPORT))"
    with pytest.raises(BrokerUnreachableError), clients.told("ask"), clients.waiting():
        _wait_until(lambda: caplog.messages == [silent])
        raise _GONE
    with pytest.raises(KafkaException), clients.waiting():
        _wait_until(lambda: admin.asked > 1 and not _is_any_looking())
        raise _GONE
    # A transaction that comes later, though no question failed for good, begins a session of its own.
    assert clients.outages == 3
    admin.is_gone = False
    for _ in range(2):
        clients.patiently(lambda seconds: admin.list_topics())
    assert caplog.messages == [silent, "Kafka at here:1 answers again"]


def test_what_takes_long_is_no_silence(clients: Clients, admin: _Admin, caplog: pytest.LogCaptureFixture) -> None:
    with clients.waiting():
        _wait_until(lambda: admin.asked > 0)
    assert not caplog.messages
