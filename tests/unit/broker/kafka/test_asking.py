"""Questions to a cluster that is not ready for them yet, or says nothing."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import OFFSET_INVALID, KafkaError, KafkaException, Producer, TopicPartition

from headrace.broker.config import BrokerConfig
from headrace.broker.kafka import exact_offsets, groups, offsets, topics
from headrace.broker.kafka.clients import Clients
from headrace.errors import BrokerUnreachableError, TopicExistsError

_TIMED_OUT = KafkaError(KafkaError._TIMED_OUT)


@pytest.mark.parametrize("code", [KafkaError.UNKNOWN_LEADER_EPOCH, KafkaError.FENCED_LEADER_EPOCH])
def test_a_leader_that_does_not_know_its_partition_yet_is_asked_again(
    code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused: Future[int] = Future()
    refused.set_exception(KafkaException(KafkaError(code)))
    answered: Future[int] = Future()
    answered.set_result(7)
    futures, clients = [answered, refused], Clients(BrokerConfig("127.0.0.1:1"))
    monkeypatch.setattr(clients, "_admin", _SilentAdmin())
    assert clients.look("ask for offsets", lambda seconds: clients.answer(futures.pop(), seconds)) == 7


class _SilentAdmin:
    """What librdkafka answers for brokers that said nothing in time: no error, and nothing else either."""

    def list_offsets(self, asked: dict[Any, Any], **_: Any) -> dict[Any, Future[Any]]:
        return {place: _answer(SimpleNamespace(offset=OFFSET_INVALID)) for place in asked}

    def list_consumer_groups(self, **_: Any) -> Future[Any]:
        return _answer(SimpleNamespace(valid=[], errors=[_TIMED_OUT]))

    def describe_consumer_groups(self, names: list[str], **_: Any) -> dict[str, Future[Any]]:
        future: Future[Any] = Future()
        future.set_exception(KafkaException(_TIMED_OUT))
        return {names[0]: future}

    def list_topics(self, **_: Any) -> None:
        """Others answer."""

    def poll(self, _: float) -> None:
        """Nothing is heard."""


class _MovedAdmin(_SilentAdmin):
    """The leader has died. Another one is chosen when it was asked for twice."""

    def __init__(self) -> None:
        self.asked = 0

    def list_topics(self, **_: Any) -> None:
        self.asked += 1

    def list_offsets(self, asked: dict[Any, Any], **options: Any) -> dict[Any, Future[Any]]:
        if self.asked < 2:
            return {**super().list_offsets(asked), TopicPartition("t", 0): _answer(SimpleNamespace(offset=7))}
        assert list(asked) == [TopicPartition("t", 1)]
        return {place: _answer(SimpleNamespace(offset=8)) for place in asked}

    def list_consumer_groups(self, **options: Any) -> Future[Any]:
        return super().list_consumer_groups() if self.asked < 2 else _answer(SimpleNamespace(valid=[], errors=[]))


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
    monkeypatch.setattr(clients, "timeout", 0.2)
    with pytest.raises(BrokerUnreachableError, match=r"Kafka at 127\.0\.0\.1:1 does not answer"):
        ask(clients)


def test_when_a_leader_is_gone_the_next_one_is_found_and_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    clients = Clients(BrokerConfig("127.0.0.1:1"))
    monkeypatch.setattr(clients, "_admin", _MovedAdmin())
    assert offsets.ends(clients, [("t", 0), ("t", 1)]) == {("t", 0): 7, ("t", 1): 8}
    monkeypatch.setattr(clients, "_admin", _MovedAdmin())
    assert groups.names(clients) == []
    assert clients.outages == 0


class _DrawingAdmin(_SilentAdmin):
    """The cluster names a broker as its controller that we cannot reach, until it is asked for the third time."""

    def __init__(self) -> None:
        self.draws = 0
        self.waiting: list[Future[Any]] = []

    def list_topics(self, **_: Any) -> None:
        self.draws += 1
        if self.draws == 3:
            self.waiting[0].set_result(SimpleNamespace(topic_id="id"))
        raise KafkaException(_TIMED_OUT)

    def describe_topics(self, topics: Any, **_: Any) -> dict[str, Future[Any]]:
        self.waiting.append(Future())
        return {topics.topic_names[0]: self.waiting[-1]}


def test_what_waits_for_a_broker_that_we_cannot_reach_has_the_cluster_name_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clients, admin = Clients(BrokerConfig("127.0.0.1:1")), _DrawingAdmin()
    monkeypatch.setattr(clients, "_admin", admin)
    assert topics.ids(clients, ["t"]) == {"t": "id"}
    assert len(admin.waiting) == 1


@pytest.mark.parametrize(
    ("broker", "hint"),
    [
        ("here:1/2", "Start the broker, or correct bootstrap.servers."),
        ("ssl://there:1/2", "The cluster says that a broker is at there:1."),
        ("GroupCoordinator: there:1", "The cluster says that a broker is at there:1."),
        ("127.0.0.1", "Start the broker, or correct bootstrap.servers."),
    ],
)
def test_a_broker_is_named_that_only_the_cluster_knows(broker: str, hint: str) -> None:
    clients = Clients(BrokerConfig("other:1,here:1"))
    clients.on_error(KafkaError(KafkaError._TRANSPORT, f"{broker}: Connect to ipv4#127.0.0.1:1 failed: refused"))
    assert (clients.silent("read").hint or "").startswith(hint)


def test_a_group_that_is_not_there_has_no_members(monkeypatch: pytest.MonkeyPatch) -> None:
    clients, unknown = Clients(BrokerConfig("127.0.0.1:1")), Future[Any]()
    unknown.set_exception(KafkaException(KafkaError(KafkaError.GROUP_ID_NOT_FOUND)))
    monkeypatch.setattr(clients, "_admin", SimpleNamespace(describe_consumer_groups=lambda names, **_: {"g": unknown}))
    groups.check_empty(clients, "g")


def test_a_broker_that_leaves_the_cluster_while_it_is_asked_is_no_refusal() -> None:
    clients = Clients(BrokerConfig("127.0.0.1:1"))
    failures = [KafkaError._DESTROY_BROKER] * 9  # That comes at once, and a new leader takes its time.

    def ask(_: float) -> int:
        if failures:
            raise KafkaException(KafkaError(failures.pop()))
        return 7

    assert clients.patiently(ask) == 7


class _ControllerlessAdmin(_SilentAdmin):
    """The controller has died: what is asked of it fails with ``codes``, one after the other."""

    def __init__(self, *codes: int) -> None:
        self._codes = list(codes)
        self.topics = {"t": SimpleNamespace(error=None, partitions=[0])}

    def list_topics(self, **_: Any) -> Any:
        return SimpleNamespace(topics=self.topics)

    def create_topics(self, new: list[Any], **_: Any) -> dict[str, Future[Any]]:
        return {new[0].topic: self._answer()}

    def delete_topics(self, names: list[str], **_: Any) -> dict[str, Future[Any]]:
        self.topics.clear()
        return {names[0]: self._answer()}

    def create_partitions(self, new: list[Any], **_: Any) -> dict[str, Future[Any]]:
        self.topics["t"].partitions = [0, 1]
        return {"t": self._answer()}

    def delete_consumer_groups(self, names: list[str], **_: Any) -> dict[str, Future[Any]]:
        return {names[0]: self._answer()}

    def _answer(self) -> Future[Any]:
        future: Future[Any] = Future()
        if self._codes:
            future.set_exception(KafkaException(KafkaError(self._codes.pop(0))))
        else:
            future.set_result(None)
        return future


_CHANGES: dict[str, tuple[Callable[[Clients], None], int]] = {
    "create": (lambda clients: topics.create(clients, "t", 1, None), KafkaError.TOPIC_ALREADY_EXISTS),
    "delete": (lambda clients: topics.delete(clients, "t"), KafkaError.UNKNOWN_TOPIC_OR_PART),
    "alter": (lambda clients: topics.alter(clients, "t", 2, None), KafkaError.INVALID_PARTITIONS),
    "group": (lambda clients: groups.delete(clients, "g"), KafkaError.GROUP_ID_NOT_FOUND),
}


@pytest.mark.parametrize("name", _CHANGES)
@pytest.mark.parametrize("is_done", [False, True])
def test_a_change_is_asked_for_again_where_the_controller_has_died(
    name: str, is_done: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    change, done = _CHANGES[name]
    lost = KafkaError._TIMED_OUT, KafkaError._DESTROY_BROKER
    clients = Clients(BrokerConfig("127.0.0.1:1"))
    monkeypatch.setattr(clients, "_admin", _ControllerlessAdmin(*lost, *([done] if is_done else [])))
    change(clients)
    assert clients.outages == 0


def test_a_topic_that_is_there_is_told_where_nothing_was_asked_before(monkeypatch: pytest.MonkeyPatch) -> None:
    clients = Clients(BrokerConfig("127.0.0.1:1"))
    monkeypatch.setattr(clients, "_admin", _ControllerlessAdmin(KafkaError.TOPIC_ALREADY_EXISTS))
    with pytest.raises(TopicExistsError):
        topics.create(clients, "t", 1, None)


def test_offsets_that_librdkafka_never_sends_are_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    never = threading.Event()
    monkeypatch.setattr(exact_offsets, "_send_offsets", lambda *_: never.wait())
    monkeypatch.setattr(exact_offsets, "_MORE_SECONDS", 0.01)
    with pytest.raises(KafkaException, match="the offsets of app were not taken") as said:
        exact_offsets.send_offsets(Producer({}), "app", [("in", 0, 1, "")], 0.01)
    never.set()
    assert said.value.args[0].code() == KafkaError._TIMED_OUT
