"""Brokers that stop, die, are slow or come and go: an application goes on, exactly.

``HEADRACE_FAULTS=long`` leaves brokers away for longer than any timeout of the clients, and tries bad networks.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient

from headrace import Streams, StreamsState
from headrace.broker import open_broker
from headrace.broker.config import BrokerConfig
from headrace.broker.port import NewRecord
from headrace.errors import BrokerUnreachableError, LeaseHeldError
from headrace.kafka_server import KafkaServer
from tests.kafka.conftest import BrokerFactory
from tests.kafka.proxy import END_TXN, PRODUCE, TXN_OFFSET_COMMIT, Proxy
from tests.kafka.running import IS_LONG, CountingApp, long, member, running, wait_for
from tests.kafka.servers import Cluster, end, new_node, own_port, small_server

_AWAY_SECONDS = 70.0 if IS_LONG else 3.0
_HURRIED = {f"{kind}_default_api_timeout_ms": 8_000 for kind in ("admin", "consumer")}
"""So that it is soon noticed that nobody answers."""


def test_a_broker_that_is_down_at_the_start_is_named(kafka_name: str, tmp_path: Path) -> None:
    address = f"127.0.0.1:{own_port()}"
    app = CountingApp(address, kafka_name, tmp_path).streams(**_HURRIED)

    with pytest.raises(BrokerUnreachableError, match=f"Kafka at {address} does not answer"):
        app.start()
    assert app.state is StreamsState.CREATED


def test_a_run_goes_on_after_its_broker_was_stopped_and_killed(
    kafka_broker_factory: BrokerFactory, kafka_name: str, tmp_path: Path
) -> None:
    server = kafka_broker_factory()
    app = CountingApp(server.address, kafka_name, tmp_path)
    app.make_topics()
    app.send()
    # What a new broker makes of its own when it is asked for the first time may take longer than the hurried one waits.
    with app.streams() as patient:
        patient.run_until_idle()
    with running(app.streams(**_HURRIED)) as streams:
        app.send()
        app.wait_until_counted()
        for end in (server.stop, server.kill):
            end()
            wait_for(lambda: streams.waiting_for is not None)
            assert f"Kafka at {server.address} does not answer" in str(streams.waiting_for)
            time.sleep(_AWAY_SECONDS)
            server.start()
            app.send()
            app.wait_until_counted()
            wait_for(lambda: streams.state is StreamsState.RUNNING)
            assert streams.waiting_for is None


@long
def test_one_broker_of_three_may_die(
    kafka_cluster_factory: Callable[..., Cluster], kafka_name: str, tmp_path: Path
) -> None:
    cluster = kafka_cluster_factory()
    app = CountingApp(cluster.address, kafka_name, tmp_path)
    app.make_topics()
    with running(app.streams(**_HURRIED)):
        for server in cluster.servers:
            app.send()
            server.kill()
            app.send()
            app.wait_until_counted()
            server.start()
            app.send()
            app.wait_until_counted()
    cluster.servers[0].kill()
    # Until the others have noticed, it is asked in vain: that takes longer than 8 s.
    with running(app.streams()):
        app.send()
        app.wait_until_counted()


@pytest.fixture
def joined(kafka_broker_factory: BrokerFactory, kafka_name: str, tmp_path: Path) -> Iterator[tuple[CountingApp, str]]:
    """An application that has run, whose cluster has got another broker since: one at an address that nobody hears."""
    server = kafka_broker_factory()
    app = CountingApp(server.address, kafka_name, tmp_path)
    app.make_topics()
    app.send()
    with running(app.streams()) as streams:
        streams.run_until_idle()
    node, deaf = new_node(2), f"127.0.0.1:{own_port()}"
    settings = {
        "process.roles": "broker",
        "listeners": f"PLAINTEXT://127.0.0.1:{node.port}",
        "advertised.listeners": f"PLAINTEXT://{deaf}",
    }
    admin = AdminClient({"bootstrap.servers": server.address})
    cluster = admin.list_topics(timeout=10).cluster_id
    other = small_server(tmp_path / "other", node, [server.node], settings, cluster_id=cluster)
    try:
        other.start()
        wait_for(lambda: len(admin.list_topics(timeout=10).brokers) == 2)
        yield app, deaf
    finally:
        end(other)


@long
def test_a_broker_that_only_we_cannot_reach_is_in_nobodys_way(joined: tuple[CountingApp, str]) -> None:
    app, deaf = joined
    # Which broker is named as the controller is drawn each time.
    for _ in range(5):
        app.send()
        with running(app.streams(bootstrap_servers=f"{deaf},{app.address}")) as streams:
            streams.run_until_idle()
        app.wait_until_counted()
        with (
            member(app.address, app.name, f"{app.name}-in"),
            pytest.raises(LeaseHeldError, match="its consumer group has members"),
        ):
            app.streams().start()


@long
def test_a_partition_whose_leader_we_cannot_reach_has_that_broker_named(joined: tuple[CountingApp, str]) -> None:
    app, deaf = joined
    topic = f"{app.name}-new"
    config = BrokerConfig(app.address, {"admin.default.api.timeout.ms": 3_000})
    with closing(open_broker(config)) as broker:
        broker.create_topic(topic, 2)
        with pytest.raises(BrokerUnreachableError, match=f"The cluster says that a broker is at {deaf}"):
            broker.describe_topic(topic)


@pytest.fixture
def proxied(
    kafka_behind_proxy: tuple[KafkaServer, Proxy], kafka_name: str, tmp_path: Path
) -> Iterator[tuple[CountingApp, Streams, Proxy]]:
    """A run that has begun, and goes through a proxy; what is sent and looked at does not."""
    server, proxy = kafka_behind_proxy
    app = CountingApp(server.address, kafka_name, tmp_path)
    app.make_topics()
    app.send()
    with running(app.streams(bootstrap_servers=proxy.address, **_HURRIED)) as streams:
        app.wait_until_counted()
        yield app, streams, proxy


@long
def test_a_broker_that_comes_and_goes_is_no_reason_to_end_or_to_burn(
    proxied: tuple[CountingApp, Streams, Proxy],
) -> None:
    app, streams, proxy = proxied
    before, began = time.process_time(), time.monotonic()
    for _ in range(8):
        proxy.cut()
        time.sleep(2)
        proxy.heal()
        app.send()
        time.sleep(2)
    assert time.process_time() - before < 0.7 * (time.monotonic() - began)
    app.wait_until_counted()
    wait_for(lambda: streams.state is StreamsState.RUNNING)


@long
def test_a_slow_broker_only_takes_time(proxied: tuple[CountingApp, Streams, Proxy]) -> None:
    app, streams, proxy = proxied
    proxy.delay_seconds, proxy.bytes_per_second = 0.5, 50_000
    app.send(400)
    app.wait_until_counted()
    assert streams.waiting_for is None


@long
def test_a_broker_whose_connections_fall_silent_is_waited_for(proxied: tuple[CountingApp, Streams, Proxy]) -> None:
    app, streams, proxy = proxied
    for _ in range(2):
        proxy.stand_still()
        app.send()
        wait_for(lambda: streams.waiting_for is not None, lambda: streams.failure)
        assert f"Kafka at {proxy.address} does not answer" in str(streams.waiting_for)
        proxy.heal()
        app.wait_until_counted()
        wait_for(lambda: streams.state is StreamsState.RUNNING)
        assert streams.waiting_for is None


@long
@pytest.mark.parametrize("closes", [True, False], ids=["and the connection", "and nothing follows"])
@pytest.mark.parametrize("request_kind", [PRODUCE, TXN_OFFSET_COMMIT, END_TXN], ids=["records", "offsets", "the end"])
def test_what_the_broker_did_and_nobody_heard_of_is_done_once(
    proxied: tuple[CountingApp, Streams, Proxy], request_kind: int, closes: bool
) -> None:
    app, _, proxy = proxied
    for _ in range(3):
        lost = proxy.lose_replies(request_kind, closes=closes)
        app.send()
        assert lost.wait(60)
        app.wait_until_counted()


@long
def test_records_whose_acknowledgement_is_lost_are_appended_once(
    kafka_behind_proxy: tuple[KafkaServer, Proxy], kafka_name: str
) -> None:
    server, proxy = kafka_behind_proxy
    with closing(open_broker(server.address)) as direct, closing(open_broker(proxy.address)) as broker:
        direct.create_topic(kafka_name, 1)
        broker.append([NewRecord(kafka_name, b"k", b"0")])
        for number in range(1, 6):
            lost = proxy.lose_replies(PRODUCE)
            broker.append([NewRecord(kafka_name, b"k", b"%d" % number)])
            assert lost.is_set()
        found = [record[5] for records in direct.read(kafka_name, 0, 0) for record in records]
    assert found == [b"%d" % number for number in range(6)]
