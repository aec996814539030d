"""``headrace run --local`` as a process of its own, on a machine without Java: it is ended and killed, and goes on."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from headrace.broker.port import Broker
from tests.integration.batch.programs import final_counts
from tests.integration.streams.conftest import send

PROGRAM = """
from headrace import StreamsBuilder, serdes

builder = StreamsBuilder()
words = builder.stream("lines").flat_map_values(str.split).group_by(lambda key, word: word)
words.count("store").to_stream().to("counts", value_serde=serdes.long())
config = {"application.id": "app", "state.dir": "state", "max.records.per.batch": 20}
"""
RUN = [sys.executable, "-c", "from headrace.cli import main; main()", "run", "--local", "app.py", "--json"]


@pytest.fixture
def directory(tmp_path: Path, broker: Broker) -> Path:
    (tmp_path / "app.py").write_text(PROGRAM)
    broker.create_topic("lines", 2)
    return tmp_path


@contextmanager
def running(directory: Path, *options: str) -> Iterator[subprocess.Popen[str]]:
    environment = {**os.environ, "JAVA_HOME": "/nowhere", "HEADRACE_BROKER": f"embedded:{directory / 'data'}"}
    with subprocess.Popen(
        [*RUN, *options], cwd=directory, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def told(process: subprocess.Popen[str], name: str) -> dict[str, Any]:
    """The next thing that it tells of this kind."""
    assert process.stdout is not None
    for line in process.stdout:
        found: dict[str, Any] = json.loads(line)
        if name in found:
            return found
    raise AssertionError(process.stderr and process.stderr.read())


def test_killed_again_and_again_it_loses_and_doubles_nothing(directory: Path, broker: Broker) -> None:
    for number in range(4):
        send(broker, "lines", *(f"a b{number}" for _ in range(100)))
        with running(directory) as process:
            for _ in range(number + 1):
                told(process, "batch")
            process.kill()
    with running(directory, "--until-idle") as process:
        assert process.wait(120) == 0
    assert final_counts(broker) == {"a": 400, **{f"b{number}": 100 for number in range(4)}}


def test_sigterm_ends_it_after_the_batch_at_hand(directory: Path, broker: Broker) -> None:
    send(broker, "lines", "a")
    with running(directory) as process:
        assert told(process, "batch")["records"] == 1
        process.send_signal(signal.SIGTERM)
        assert told(process, "state")["state"] == "PENDING_SHUTDOWN"
        assert told(process, "state")["state"] == "NOT_RUNNING"
        assert process.wait(120) == 0
    assert broker.lease_owner("app") is None
    assert final_counts(broker) == {"a": 1}


def test_a_program_that_ends_closes_its_application_and_is_told(directory: Path, broker: Broker) -> None:
    send(broker, "lines", "a")
    start = f"""
from headrace import Streams

config["bootstrap.servers"] = "embedded:{directory / "data"}"
Streams(builder.build(), config, engine="local").start()
"""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM + start], cwd=directory, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert "the program ended while application app was running" in done.stderr
    assert broker.lease_owner("app") is None
