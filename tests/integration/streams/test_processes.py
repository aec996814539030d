"""``headrace run`` in processes of its own: signals, refusals, restarts."""

from __future__ import annotations

import json
import time
from contextlib import closing
from pathlib import Path

from headrace import serdes
from headrace.broker import open_broker
from headrace.broker.port import NewRecord
from tests.integration.streams import programs
from tests.integration.streams.children import Child, headrace

LONG = serdes.long()
NUMBERS = 600


def prepared(directory: Path, topic: str, values: list[str]) -> None:
    with closing(open_broker(f"embedded:{directory / 'data'}")) as broker:
        broker.create_topic(topic)
        broker.append([NewRecord(topic, None, value.encode()) for value in values])


def output(directory: Path) -> list[int | None]:
    """All values of the output topic, in order."""
    with closing(open_broker(f"embedded:{directory / 'data'}")) as broker:
        found = [record[5] for records in broker.read("output", 0, 0) for record in records]
    return [LONG.deserialize("output", value) for value in found]


def test_signals_end_it_between_batches_and_the_next_run_goes_on_exactly(tmp_path: Path) -> None:
    prepared(tmp_path, "numbers", [str(number) for number in range(NUMBERS)])
    programs.write_totals(tmp_path)
    command = ("run", "totals.py", "--json", "--set", f"state.dir={tmp_path / 'state'}")

    with headrace(tmp_path, *command) as first:
        first.until("batch")
        with headrace(tmp_path, *command) as second:
            assert second.ended() == 4
            assert f"application totals is already running: process {first.process.pid} on host" in second.errors()
        first.interrupt()
        ending = first.until("state", "NOT_RUNNING")
        assert first.ended() == 0, first.errors()
        assert {"state": "PENDING_SHUTDOWN", "before": "RUNNING"} in ending
    done = len(output(tmp_path))
    assert 0 < done < NUMBERS

    with headrace(tmp_path, *command) as third:
        third.until("batch")
        third.terminate()
        third.until("state", "NOT_RUNNING")
        assert third.ended() == 0, third.errors()
    assert done < len(output(tmp_path)) < NUMBERS

    with headrace(tmp_path, *command, "--set", "max.records.per.batch=1000", "--until-idle") as fourth:
        list(fourth.lines())
        assert fourth.ended() == 0, fourth.errors()
    sums = [number * (number + 1) for number in range(NUMBERS)]
    assert output(tmp_path) == sums


def test_a_second_interrupt_ends_it_at_once_and_leaves_nothing_locked(tmp_path: Path) -> None:
    prepared(tmp_path, "lines", ["a", "b", "a"])
    programs.write(tmp_path, "stuck", programs.STUCK)
    (tmp_path / "wait").touch()
    command = ("run", "stuck.py", "--json", "--set", f"state.dir={tmp_path / 'state'}")

    with headrace(tmp_path, *command) as stuck:
        stuck.until("state", "RUNNING")
        while not (tmp_path / "waits").exists():
            assert stuck.process.poll() is None, stuck.errors()
            time.sleep(0.05)
        stuck.interrupt()
        stuck.until("state", "PENDING_SHUTDOWN")
        stuck.interrupt()
        assert stuck.ended() == 130

    (tmp_path / "wait").unlink()
    with headrace(tmp_path, *command, "--until-idle") as again:
        list(again.lines())
        assert again.ended() == 0, again.errors()
    assert set(output(tmp_path)) == {1, 2}


def test_threads_can_be_added_and_removed_while_it_runs(tmp_path: Path) -> None:
    prepared(tmp_path, "lines", ["a", "b", "a"])
    program = programs.write(tmp_path, "threads", programs.THREADS)
    with Child(tmp_path, str(program), f"embedded:{tmp_path / 'data'}") as child:
        assert child.process.stdout is not None
        printed = child.process.stdout.read()
        assert child.ended() == 0, child.errors()
    assert json.loads(printed) == [1, "client-StreamThread-2", 2, {"a": 2, "b": 1}, "client-StreamThread-1", 1]
