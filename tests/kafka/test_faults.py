"""Brokers that stop, die, are slow or fall silent: an application goes on, exactly.

``HEADRACE_FAULTS=long`` leaves brokers away for longer than any timeout of the clients, and tries bad networks.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from headrace import Streams, StreamsState
from headrace.errors import BrokerUnreachableError
from headrace.kafka_server import KafkaServer, free_port
from tests.kafka.conftest import BrokerFactory
from tests.kafka.proxy import Proxy
from tests.kafka.running import IS_LONG, CountingApp, long, running, wait_for

_AWAY_SECONDS = 70.0 if IS_LONG else 3.0


def test_a_broker_that_is_down_at_the_start_is_named(kafka_name: str, tmp_path: Path) -> None:
    address = f"127.0.0.1:{free_port()}"
    app = CountingApp(address, kafka_name, tmp_path).streams()

    with pytest.raises(BrokerUnreachableError, match=f"Kafka at {address} does not answer"):
        app.start()
    assert app.state is StreamsState.CREATED


def test_a_run_goes_on_after_its_broker_was_stopped_and_killed(
    kafka_broker_factory: BrokerFactory, kafka_name: str, tmp_path: Path
) -> None:
    server = kafka_broker_factory()
    app = CountingApp(server.address, kafka_name, tmp_path)
    app.make_topics()
    with running(app.streams()) as streams:
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


@pytest.fixture
def proxied(
    kafka_behind_proxy: tuple[KafkaServer, Proxy], kafka_name: str, tmp_path: Path
) -> Iterator[tuple[CountingApp, Streams, Proxy]]:
    """A run that has begun, and goes through a proxy; what is sent and looked at does not."""
    server, proxy = kafka_behind_proxy
    app = CountingApp(server.address, kafka_name, tmp_path)
    app.make_topics()
    app.send()
    with running(app.streams(bootstrap_servers=proxy.address)) as streams:
        app.wait_until_counted()
        yield app, streams, proxy


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
