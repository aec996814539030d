"""The real program in real processes: pipes, signals, and a reader that goes away."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from headrace.broker import open_broker

HEADRACE = [sys.executable, "-m", "headrace.cli"]


class Processes:
    """Runs ``headrace`` on one broker."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.environment = {**os.environ, "HEADRACE_BROKER": f"embedded:{directory / 'data'}"}

    def start(self, *arguments: str, **options: Any) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [*HEADRACE, *arguments],
            env=self.environment,
            cwd=self.directory,
            text=True,
            **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options},
        )

    def run(self, *arguments: str, input: str = "") -> str:
        process = self.start(*arguments, stdin=subprocess.PIPE)
        out, err = process.communicate(input, timeout=120)
        assert process.returncode == 0, err
        return out


@pytest.fixture
def headrace(tmp_path: Path) -> Processes:
    processes = Processes(tmp_path)
    processes.run("topics", "create", "lines", "--partitions", "3")
    return processes


def test_what_is_produced_is_consumed(headrace: Processes) -> None:
    shell = (
        f"seq 1 1000 | {' '.join(HEADRACE)} produce lines --quiet && "
        f"{' '.join(HEADRACE)} consume lines --json | {' '.join(HEADRACE)} produce copy --json --quiet && "
        f"{' '.join(HEADRACE)} consume copy"
    )
    headrace.run("topics", "create", "copy", "-p", "3")

    finished = subprocess.run(
        ["bash", "-o", "pipefail", "-c", shell],
        env=headrace.environment,
        capture_output=True,
        text=True,
        check=True,
    )

    assert sorted(map(int, finished.stdout.split())) == list(range(1, 1001))
    assert finished.stderr == ""


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_follower_prints_what_comes_and_ends_quietly(headrace: Processes, number: signal.Signals, code: int) -> None:
    follower = headrace.start("consume", "lines", "--follow", "--group", "g")
    assert follower.stdout is not None
    headrace.run("produce", "lines", "-k", "k", input="one\ntwo\n")
    assert [follower.stdout.readline() for _ in range(2)] == ["k\tone\n", "k\ttwo\n"]
    _wait_for_commit(headrace, "g")

    follower.send_signal(number)
    out, err = follower.communicate(timeout=120)

    assert (follower.returncode, out, err) == (code, "", "")
    assert headrace.run("consume", "lines", "--group", "g") == ""


def test_a_typed_line_is_taken_at_once(headrace: Processes) -> None:
    producer = headrace.start("produce", "lines", stdin=subprocess.PIPE)
    assert producer.stdin is not None
    producer.stdin.write("typed\n")
    producer.stdin.flush()

    assert headrace.run("consume", "lines", "--follow", "-c", "1") == "typed\n"
    _, err = producer.communicate(timeout=120)
    assert (producer.returncode, err) == (0, "appended 1 record to lines\n")


@pytest.mark.parametrize("options", [("--json",), ("--group", "g")])
def test_a_reader_that_goes_away_is_no_error(headrace: Processes, options: tuple[str, ...]) -> None:
    headrace.run("produce", "lines", input="x" * 99 + "\n" + ("y" * 99 + "\n") * 50_000)
    consumer = headrace.start("consume", "lines", *options)
    assert consumer.stdout is not None
    consumer.stdout.readline()
    consumer.stdout.close()

    consumer.wait(timeout=120)
    assert consumer.stderr is not None
    assert (consumer.returncode, consumer.stderr.read()) == (0, "")
    consumer.stderr.close()
    # What nobody read is not committed as read.
    broker = open_broker(headrace.environment["HEADRACE_BROKER"])
    assert sum(note.offset for note in broker.committed("g").values()) < 40_000
    broker.close()


def test_a_list_for_a_reader_that_goes_away_is_no_error(headrace: Processes) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    lister = headrace.start("topics", "list", stdout=writing)
    os.close(writing)
    _, err = lister.communicate(timeout=120)

    assert (lister.returncode, err) == (0, "")


def _wait_for_commit(headrace: Processes, group: str) -> None:
    deadline = time.monotonic() + 120
    with closing(open_broker(headrace.environment["HEADRACE_BROKER"])) as broker:
        while sum(note.offset for note in broker.committed(group).values()) != 2:
            assert time.monotonic() < deadline
            time.sleep(0.05)
