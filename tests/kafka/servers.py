"""Brokers of tests: small, quick to start, and gone when the process that started them is gone."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

import pytest

from headrace.errors import SetupError, UnsupportedError
from headrace.kafka_server import KAFKA_JARS, KafkaServer, Node, fetched, free_port
from headrace.kafka_server.server import HOST

REQUIRE_VARIABLE = "HEADRACE_REQUIRE_KAFKA"
_LEASH = Path(__file__).with_name("leash.py")

QUICK = {
    "offsets.topic.num.partitions": "2",
    "transaction.state.log.num.partitions": "2",
    "group.min.session.timeout.ms": "1000",
    "log.cleaner.dedupe.buffer.size": "4194304",
    "num.network.threads": "2",
    "num.io.threads": "4",
    "log.flush.interval.messages": "9223372036854775807",
    # So that the room of a broker is not claimed at once: tests make many topics.
    "log.index.size.max.bytes": "65536",
    # A day until the broker looks for records to remove, instead of half a minute: those of most tests are of 1970.
    # The cleaner removes them, too, every 15 seconds, where a topic is compacted as well: changelogs of windows are.
    "log.initial.task.delay.ms": "86400000",
    "log.cleaner.backoff.ms": "86400000",
}


def require_kafka() -> None:
    """Skip the test, with the reason, where no Kafka can be had; fail it where one is demanded."""
    try:
        fetched(KAFKA_JARS)
    except (SetupError, UnsupportedError) as error:
        reason = f"no Kafka: {error}"
        if os.environ.get(REQUIRE_VARIABLE):
            pytest.fail(f"{reason}\n{REQUIRE_VARIABLE} is set")
        pytest.skip(reason)


def leash() -> list[str]:
    """What a command begins with to end with this process."""
    return [sys.executable, "-I", "-S", str(_LEASH), str(os.getpid())]


def own_port() -> int:
    """A port for a broker that no other process of the tests is given, though the broker takes its time to start.

    This process is bound to it as long as it lives. On Linux others can listen there all the same if both say so, as
    Java does.
    """
    while True:
        port, kept = free_port(), socket.socket()
        try:
            kept.bind((HOST, port))
        except OSError:
            kept.close()
            continue
        if sys.platform == "linux":
            kept.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            kept.detach()
        else:
            kept.close()
        return port


def new_node(number: int = 1) -> Node:
    return Node(number, own_port(), own_port())


def small_server(
    directory: Path,
    node: Node | None = None,
    voters: Sequence[Node] = (),
    settings: Mapping[str, str] | None = None,
    format_options: Sequence[str] = (),
    cluster_id: str = "",
) -> KafkaServer:
    return KafkaServer(
        directory,
        node or new_node(),
        voters=voters,
        settings={**QUICK, **(settings or {})},
        heap="320m",
        cluster_id=cluster_id,
        format_options=format_options,
        jvm_options=("-XX:TieredStopAtLevel=1", "-Xshare:auto", "-Xss512k"),
        prefix=leash(),
    )


@dataclass
class Cluster:
    """Several brokers, each of which keeps what the others have."""

    servers: list[KafkaServer] = field(default_factory=list)

    @property
    def address(self) -> str:
        """All of them, for ``bootstrap.servers``."""
        return ",".join(server.address for server in self.servers)

    def start(self) -> None:
        """A node alone does not come up: they are started together, and then waited for."""
        for server in self.servers:
            server.launch()
        for server in self.servers:
            server.wait_until_it_answers()

    def __enter__(self) -> Cluster:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        with ExitStack() as stack:
            for server in self.servers:
                stack.callback(server.kill)


def small_cluster(directory: Path, count: int = 3, settings: Mapping[str, str] | None = None) -> Cluster:
    nodes = [new_node(number) for number in range(1, count + 1)]
    return Cluster(
        [
            small_server(directory / str(node.id), node, nodes, settings, cluster_id="headraceTestCluster000")
            for node in nodes
        ]
    )


def end(server: KafkaServer) -> None:
    """However it is."""
    with suppress(ProcessLookupError):
        server.kill()
