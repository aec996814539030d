"""Brokers that stop, die and come back: an application goes on, exactly.

``HEADRACE_FAULTS=long`` leaves brokers away for longer than any timeout of the clients.
"""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from headrace import StreamsState
from headrace.errors import BrokerUnreachableError
from headrace.kafka_server import free_port
from tests.kafka.conftest import BrokerFactory
from tests.kafka.running import IS_LONG, CountingApp, running, wait_for

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
