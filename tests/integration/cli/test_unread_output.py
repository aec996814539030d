"""Real pipes whose reader goes away: a command ends well and soon, also one that runs for long."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from headrace.broker import open_broker
from headrace.broker.port import Broker, NewRecord

SECONDS = 120
HEADRACE = [sys.executable, "-m", "headrace.cli"]
PROGRAM = """
from headrace import StreamsBuilder

builder = StreamsBuilder()
builder.stream("in").map_values(str.upper).to("out")
config = {"application.id": "app", "state.dir": "state"}
"""
PRINTING = PROGRAM.replace('.to("out")', ".print()")
OWN_PIPE = """
import os

READING, OWN = os.pipe()
os.close(READING)
"""
TABLE = "CREATE STREAM s (v VARCHAR) WITH (kafka_topic='in', value_format='KAFKA');"
TO_ONE_PIPE = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    (tmp_path / "app.py").write_text(PROGRAM)
    (tmp_path / "printing.py").write_text(PRINTING)
    made = open_broker(f"embedded:{tmp_path / 'data'}", fsync="never")
    made.create_topic("in", 1)
    made.create_topic("out", 1)
    yield made
    made.close()


@contextmanager
def started(directory: Path, *arguments: str, **streams: Any) -> Iterator[subprocess.Popen[str]]:
    environment = {**os.environ, "HEADRACE_BROKER": f"embedded:{directory / 'data'}"}
    environment.pop("PYTHONUNBUFFERED", None)
    with subprocess.Popen(
        [*HEADRACE, *arguments], cwd=directory, env=environment, stdin=subprocess.DEVNULL, text=True, **streams
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def read(process: subprocess.Popen[str], until: str) -> None:
    """Read its output up to a line that has this text, and go away."""
    assert process.stdout is not None
    seen = []
    for line in process.stdout:
        seen.append(line)
        if until in line:
            process.stdout.close()
            return
    raise AssertionError("".join(seen))


@pytest.mark.parametrize("number", [None, signal.SIGINT])
def test_a_run_ends_with_the_next_batch_or_the_first_signal(
    tmp_path: Path, broker: Broker, number: signal.Signals | None
) -> None:
    broker.append([NewRecord("in", None, b"a")])
    with started(tmp_path, "run", "--local", "app.py", **TO_ONE_PIPE) as process:
        read(process, "batch")
        if number is None:
            broker.append([NewRecord("in", None, b"b")])
        else:
            process.send_signal(number)
        assert process.wait(SECONDS) == 0
    assert broker.lease_owner("app") is None
    # The batch at hand was done.
    assert broker.end_offsets([("out", 0)]) == {("out", 0): 2 if number is None else 1}


def test_results_that_nobody_reads_end_a_run_without_a_word(tmp_path: Path, broker: Broker) -> None:
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with started(tmp_path, "run", "--local", "app.py", "--json", **pipes) as process:
        read(process, "RUNNING")
        broker.append([NewRecord("in", None, b"a")])
        assert process.wait(SECONDS) == 0
        assert process.stderr is not None and process.stderr.read() == ""


@pytest.mark.parametrize("quiet", [(), ("--quiet",)])
def test_a_program_that_prints_records_that_nobody_reads_ends_well(
    tmp_path: Path, broker: Broker, quiet: tuple[str, ...]
) -> None:
    broker.append([NewRecord("in", None, b"a")])
    with started(tmp_path, "run", "--local", *quiet, "printing.py", **TO_ONE_PIPE) as process:
        read(process, "A")
        broker.append([NewRecord("in", None, b"b")])
        assert process.wait(SECONDS) == 0
    assert broker.lease_owner("app") is None


def test_a_quiet_run_ends_when_its_reader_goes_away_though_it_has_nothing_to_say(
    tmp_path: Path, broker: Broker
) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    broker.append([NewRecord("in", None, b"a")])
    with started(tmp_path, "run", "--local", "--quiet", "app.py", stdout=writing) as process:
        os.close(writing)
        assert process.wait(SECONDS) == 0


def test_a_pipe_of_the_programs_own_that_breaks_is_a_failure(tmp_path: Path, broker: Broker) -> None:
    (tmp_path / "app.py").write_text(PROGRAM.replace("str.upper", "lambda value: os.write(OWN, b'x')") + OWN_PIPE)
    broker.append([NewRecord("in", None, b"a")])
    with started(tmp_path, "run", "--local", "app.py", **TO_ONE_PIPE) as process:
        read(process, "BrokenPipeError")
        assert process.wait(SECONDS) == 1


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("sql", "--local", "-e", f"{TABLE} DESCRIBE s; SHOW FUNCTIONS;"), 0),
        (("sql", "--local", "-e", "SELECT * FROM nowhere;"), 1),
        (("consume", "nowhere"), 3),
    ],
)
def test_other_commands_keep_their_exit_codes(
    tmp_path: Path, broker: Broker, arguments: tuple[str, ...], code: int
) -> None:
    broker.append([NewRecord("in", None, b"a")])
    reading, writing = os.pipe()
    os.close(reading)
    with started(tmp_path, *arguments, stdout=writing, stderr=writing) as process:
        os.close(writing)
        assert process.wait(SECONDS) == code


def test_a_file_whose_answers_nobody_reads_ends(tmp_path: Path, broker: Broker) -> None:
    (tmp_path / "q.sql").write_text(f"{TABLE} CREATE STREAM o AS SELECT UCASE(v) AS v FROM s;")
    with started(tmp_path, "sql", "--local", "-f", "q.sql", **TO_ONE_PIPE) as process:
        read(process, "running until")
        process.send_signal(signal.SIGINT)
        assert process.wait(SECONDS) == 0
