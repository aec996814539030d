"""Kafka for tests: one broker that a whole run shares, brokers and clusters of a test's own, a proxy before one.

``kafka_address`` is the shared broker. Its topics, groups and applications are everybody's: begin their names with
``kafka_name``. ``HEADRACE_TEST_KAFKA=host:port`` takes a broker that runs already. What kills, stops or reconfigures a
broker makes its own with ``kafka_broker_factory``.
"""

from __future__ import annotations

import itertools
import os
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Protocol

import pytest

from headrace.kafka_server import KafkaServer
from tests.kafka.proxy import Proxy
from tests.kafka.servers import Cluster, end, new_node, require_kafka, small_cluster, small_server
from tests.kafka.shared_broker import shared_broker

BROKER_VARIABLE = "HEADRACE_TEST_KAFKA"


class BrokerFactory(Protocol):
    """Starts a broker of the test's own; it is ended with the test. ``settings`` are those of server.properties."""

    def __call__(
        self, settings: Mapping[str, str] | None = None, *, format_options: Sequence[str] = (), start: bool = True
    ) -> KafkaServer: ...


@pytest.fixture(scope="session")
def kafka_address(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Iterator[str]:
    """``host:port`` of the broker that all processes of this run share; one that runs already, where it is named."""
    given = os.environ.get(BROKER_VARIABLE)
    if given:
        yield given
        return
    require_kafka()
    own = tmp_path_factory.getbasetemp()
    with shared_broker((own if worker_id == "master" else own.parent) / "kafka") as address:
        yield address


@pytest.fixture
def kafka_name() -> str:
    """The beginning of names that no other test uses."""
    return f"t{uuid.uuid4().hex[:10]}"


@pytest.fixture
def kafka_broker_factory(tmp_path: Path) -> Iterator[BrokerFactory]:
    require_kafka()
    numbers = itertools.count()
    with ExitStack() as stack:

        def make(
            settings: Mapping[str, str] | None = None, *, format_options: Sequence[str] = (), start: bool = True
        ) -> KafkaServer:
            directory = tmp_path / f"broker-{next(numbers)}"
            server = small_server(directory, settings=settings, format_options=format_options)
            stack.callback(end, server)
            if start:
                server.start()
            return server

        yield make


@pytest.fixture
def kafka_cluster_factory(tmp_path: Path) -> Iterator[Callable[..., Cluster]]:
    """``kafka_cluster_factory(count=3, settings=...)``: brokers that replicate, started."""
    require_kafka()
    with ExitStack() as stack:

        def make(count: int = 3, settings: Mapping[str, str] | None = None) -> Cluster:
            cluster = stack.enter_context(small_cluster(tmp_path / "cluster", count, settings))
            cluster.start()
            return cluster

        yield make


@pytest.fixture
def kafka_behind_proxy(tmp_path: Path) -> Iterator[tuple[KafkaServer, Proxy]]:
    """A broker whose clients go through a proxy if they begin at ``proxy.address``; ``server.address`` is beside it."""
    require_kafka()
    node = new_node()
    with Proxy() as proxy:
        proxy.target = new_node().port
        listeners = {
            "listeners": f"PLAINTEXT://{_at(node.port)},PROXIED://{_at(proxy.target)},"
            f"CONTROLLER://{_at(node.controller_port)}",
            "advertised.listeners": f"PLAINTEXT://{_at(node.port)},PROXIED://{proxy.address}",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,PROXIED:PLAINTEXT,CONTROLLER:PLAINTEXT",
        }
        server = small_server(tmp_path / "behind-proxy", node, settings=listeners)
        try:
            server.start()
            yield server, proxy
        finally:
            end(server)


def _at(port: int) -> str:
    return f"127.0.0.1:{port}"
