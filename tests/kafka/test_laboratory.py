"""That the brokers and the proxy of the tests do what tests rely on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from headrace.kafka_server import KafkaServer, Node
from tests.kafka.proxy import END_TXN, PRODUCE, Proxy

_SECONDS = 60.0
_ROOT = Path(__file__).parents[2]


def create(address: str, topic: str, partitions: int = 1, copies: int = 1) -> None:
    admin = AdminClient({"bootstrap.servers": address})
    admin.create_topics([NewTopic(topic, partitions, copies)])[topic].result(_SECONDS)


def send(address: str, topic: str, *values: str, **settings: Any) -> None:
    producer = Producer({"bootstrap.servers": address, "linger.ms": 0, **settings})
    errors = []
    for value in values:
        producer.produce(topic, value, on_delivery=lambda error, message: errors.append(error))
    assert producer.flush(_SECONDS) == 0
    assert errors == [None] * len(values)


def values_in(address: str, topic: str, count: int) -> list[str]:
    """``count`` values, and whatever came with them."""
    consumer = Consumer({"bootstrap.servers": address, "group.id": "unused", "isolation.level": "read_committed"})
    found: list[str] = []
    try:
        consumer.assign([TopicPartition(topic, 0, 0)])
        deadline = time.monotonic() + _SECONDS
        while len(found) < count and time.monotonic() < deadline:
            found += [message.value().decode() for message in consumer.consume(100, 0.5) if message.error() is None]
        found += [message.value().decode() for message in consumer.consume(100, 0.5) if message.error() is None]
    finally:
        consumer.close()
    return found


def test_the_shared_broker_takes_records_and_gives_them_back(kafka_address: str, kafka_name: str) -> None:
    create(kafka_address, kafka_name)
    send(kafka_address, kafka_name, "a", "b")
    assert values_in(kafka_address, kafka_name, 2) == ["a", "b"]


def test_a_lost_reply_to_the_end_of_a_transaction_was_done_all_the_same_and_a_cut_is_healed(
    kafka_behind_proxy: tuple[KafkaServer, Proxy],
) -> None:
    server, proxy = kafka_behind_proxy
    create(server.address, "topic")
    producer = Producer({"bootstrap.servers": proxy.address, "transactional.id": "t", "linger.ms": 0})
    producer.init_transactions(_SECONDS)
    producer.begin_transaction()
    producer.produce("topic", "a")
    producer.flush(_SECONDS)
    lost = proxy.lose_replies(END_TXN, closes=False)

    with pytest.raises(KafkaException):
        producer.commit_transaction(3.0)

    # The answer that is lost may come after the producer has given up.
    assert lost.wait(_SECONDS)
    assert values_in(server.address, "topic", 1) == ["a"]
    assert proxy.requests[END_TXN] >= 1
    assert proxy.requests[PRODUCE] >= 1

    proxy.cut()
    producer = Producer({"bootstrap.servers": proxy.address, "linger.ms": 0, "reconnect.backoff.max.ms": 200})
    producer.produce("topic", "b")
    assert producer.flush(1.0) == 1
    proxy.heal()
    assert producer.flush(_SECONDS) == 0
    assert values_in(server.address, "topic", 2) == ["a", "b"]


_KILLED = """
import os, time, pytest
def test_it(kafka_address):
    print("broker at", kafka_address, flush=True)
    open({note!r}, "w").write(kafka_address)
    time.sleep(120)
"""


def test_a_killed_run_leaves_no_broker_behind(kafka_address: str, tmp_path: Path) -> None:
    note = tmp_path / "note"
    test = _ROOT / "tests" / "kafka" / f"test_killed_{os.getpid()}.py"
    test.write_text(_KILLED.format(note=str(note)))
    try:
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            f"--basetemp={tmp_path}/run",
            str(test),
        ]
        run = subprocess.Popen(command, cwd=_ROOT, stdout=subprocess.DEVNULL, start_new_session=True)
        _wait_for(note.exists)
        address = note.read_text()
        assert address != kafka_address
        assert _listens(address)
        os.killpg(run.pid, signal.SIGKILL)
        run.wait(_SECONDS)
        _wait_for(lambda: not _listens(address))
        _wait_for(lambda: not list((tmp_path / "run" / "kafka").glob("broker-*/server.pid")))
    finally:
        test.unlink()


def _listens(address: str) -> bool:
    port = int(address.rpartition(":")[2])
    return KafkaServer(Path("unused"), Node(1, port, 0)).answers()


def _wait_for(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 2 * _SECONDS
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.2)
