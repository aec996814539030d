"""What ``headrace kafka`` does without a broker; with one, see ``tests/kafka/test_command.py``."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from tests.unit.cli.conftest import Headrace


def test_nothing_runs_in_a_fresh_directory(headrace: Headrace, tmp_path: Path) -> None:
    ran = headrace.runs("kafka", "status")
    assert (ran.code, ran.out) == (3, f"no Kafka runs in {tmp_path}/headrace-kafka\n")
    assert headrace("kafka", "stop", "--json").data == {"directory": f"{tmp_path}/headrace-kafka", "stopped": False}
    assert not (tmp_path / "headrace-kafka").exists()


@pytest.mark.parametrize("left", ["{pid} 9092\n", "999999999 9092\n", "", "what\n", "-1 9092\n"])
def test_what_a_killed_broker_left_is_no_broker(headrace: Headrace, tmp_path: Path, left: str) -> None:
    note = tmp_path / "headrace-kafka" / "server.pid"
    note.parent.mkdir()
    # The number of a process that lives, and is another one.
    note.write_text(left.format(pid=os.getpid()))

    assert headrace.runs("kafka", "status").code == 3
    headrace("kafka", "stop")
    assert not note.exists()


def test_a_port_that_is_in_use_is_refused(headrace: Headrace) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = str(server.getsockname()[1])
        said = headrace.fails("kafka", "start", "--port", port, code=4)

    assert f"port {port} of 127.0.0.1 cannot be used" in said
    assert "--port N" in said


def test_without_java_the_message_says_what_needs_it(
    headrace: Headrace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nowhere"))
    said = headrace.fails("kafka", "start", code=1)

    assert "JAVA_HOME names no Java" in said and "Kafka needs Java 17." in said
    assert not (tmp_path / "headrace-kafka").exists()
    monkeypatch.delenv("JAVA_HOME")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "hint: Kafka needs Java 17 or newer" in headrace.fails("kafka", "start", code=1)
