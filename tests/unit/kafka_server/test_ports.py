"""Ports of brokers: free, and left free by everybody else until the broker is up, and while it is down."""

from __future__ import annotations

import socket
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
