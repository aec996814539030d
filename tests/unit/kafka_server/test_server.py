"""What a broker is given: ports that everybody else leaves free, and an id of its cluster."""

from __future__ import annotations

import socket
import uuid
from pathlib import Path

import pytest

from headrace.errors import SetupError
from headrace.kafka_server import free_port, server


def test_a_port_is_free_and_not_one_that_connections_are_given() -> None:
    port = free_port()
    with socket.socket() as listener:
        listener.bind((server.HOST, port))
    given = Path("/proc/sys/net/ipv4/ip_local_port_range")
    lowest = int(given.read_text().split()[0]) if given.exists() else 49_152
    assert port < lowest


def test_ports_in_use_are_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    first = second = free_port()
    while second == first:
        second = free_port()
    monkeypatch.setattr(server, "_PORTS", [first, second])
    with socket.socket() as listener:
        listener.bind((server.HOST, first))
        assert {free_port() for _ in range(5)} == {second}
    monkeypatch.setattr(server, "_PORTS", [])
    with pytest.raises(SetupError, match="no port of this machine is free"):
        free_port()


@pytest.mark.parametrize("first", range(0, 256, 4))
def test_no_id_of_a_cluster_begins_with_a_dash(monkeypatch: pytest.MonkeyPatch, first: int) -> None:
    monkeypatch.setattr(uuid, "uuid4", lambda: uuid.UUID(bytes=bytes([first, *range(15)])))
    cluster = server._new_cluster_id()
    assert len(cluster) == 22
    assert cluster[0].isalpha()
