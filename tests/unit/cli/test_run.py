"""``headrace run``: how it finds program and settings, what it prints, how it ends. The engine is a double."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path
from typing import Any

import pytest

from headrace import engines
from headrace.batch.reports import BatchReport
from headrace.broker.port import Broker, NewRecord
from headrace.errors import ProcessingError
from tests.unit.cli.conftest import Headrace
from tests.unit.lifecycle.engine_double import EngineDouble

PROGRAM = """from headrace import StreamsBuilder

builder = StreamsBuilder()
builder.stream("lines").to("loud")
config = {"num.stream.threads": 3, "application.id": "shout"}
"""
REPORT = BatchReport(0, 1200, 3, 40, 1, {"null key": 2})


class Engine(EngineDouble):
    """Reports one batch when it is asked to run until idle."""

    def run_until_idle(self) -> int:
        self.on_batch(REPORT)
        return 1


@pytest.fixture(autouse=True)
def program(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    broker.create_topic("lines")
    Path("app.py").write_text(PROGRAM)
    monkeypatch.setattr(engines, "spark_engine", lambda: (Engine, lambda: None))


def test_runs_until_nothing_is_left(headrace: Headrace) -> None:
    ran = headrace("run", "app.py", "--until-idle")

    assert ran.out == "batch 0: 1,200 records read, 3 written, dropped 2 (null key), 0.04 s\n"
    assert ran.err == "state REBALANCING\nstate RUNNING\nstate PENDING_SHUTDOWN\nstate NOT_RUNNING\n"


def test_runs_without_spark_or_java(broker: Broker, headrace: Headrace, monkeypatch: pytest.MonkeyPatch) -> None:
    """No double here: the engine in one process, from the first record to the answer of a store."""
    monkeypatch.setattr(engines, "spark_engine", None)
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    broker.append([NewRecord("lines", b"k", b"one")] * 2)
    ran = headrace("run", "--local", "app.py", "--until-idle", "--set", "state.dir=state")

    assert re.fullmatch(r"batch 0: 2 records read, \d written, [0-9.]+ s\n", ran.out)
    assert ran.err == "state REBALANCING\nstate RUNNING\nstate PENDING_SHUTDOWN\nstate NOT_RUNNING\n"


def test_one_record_is_one_record(headrace: Headrace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{__name__}.REPORT", BatchReport(4, 1, 1, 40, 1, {}))
    assert headrace("run", "app.py", "--until-idle").out == "batch 4: 1 record read, 1 written, 0.04 s\n"


def test_a_batch_that_read_and_wrote_nothing_is_worth_no_line(
    headrace: Headrace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"{__name__}.REPORT", BatchReport(5, 0, 0, 40, 1, {}))
    assert headrace("run", "app.py", "--until-idle").out == ""


def test_prints_an_object_for_each_event(headrace: Headrace) -> None:
    ran = headrace("run", "app.py", "--until-idle", "--json")

    assert ran.records == [
        {"state": "REBALANCING", "before": "CREATED"},
        {"state": "RUNNING", "before": "REBALANCING"},
        {"batch": 0, "records": 1200, "written": 3, "duration_ms": 40, "dropped": {"null key": 2}},
        {"state": "PENDING_SHUTDOWN", "before": "RUNNING"},
        {"state": "NOT_RUNNING", "before": "PENDING_SHUTDOWN"},
    ]


def test_prints_nothing_when_it_shall_be_quiet(headrace: Headrace) -> None:
    ran = headrace("run", "app.py", "--until-idle", "--quiet")
    assert ran.out + ran.err == ""


def test_settings_of_the_command_line_come_before_those_of_the_program(headrace: Headrace, tmp_path: Path) -> None:
    headrace("run", "app.py", "--until-idle", "--set", "application.id=other", "--set", f"state.dir={tmp_path}")
    config = EngineDouble.last.application.config
    assert (config.application_id, config.state_dir, config["num.stream.threads"]) == ("other", tmp_path, 3)

    headrace("run", "app.py", "--until-idle", "--threads", "5")
    assert EngineDouble.last.application.config["num.stream.threads"] == 5
    assert EngineDouble.last.application.id == "shout"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_well(headrace: Headrace, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    before = signal.getsignal(number)
    monkeypatch.setattr(Engine, "start", lambda self: os.kill(os.getpid(), number))

    ran = headrace("run", "app.py", "--json")

    assert ran.records[-1] == {"state": "NOT_RUNNING", "before": "PENDING_SHUTDOWN"}
    assert signal.getsignal(number) is before


def test_a_failure_is_told_with_its_place(headrace: Headrace, monkeypatch: pytest.MonkeyPatch) -> None:
    error = ProcessingError("a function raised ValueError", at='step "parse", record lines-0@7')

    def fails(self: Engine) -> int:
        self.fail(error)
        raise error

    monkeypatch.setattr(Engine, "run_until_idle", fails)

    told = headrace.fails("run", "app.py", "--until-idle", code=1)

    assert "error: a function raised ValueError\n" in told
    assert 'at: step "parse", record lines-0@7' in told
    assert told.count("a function raised") == 1


def test_a_topic_that_is_missing_is_named(headrace: Headrace, broker: Broker) -> None:
    broker.delete_topic("lines")
    assert "source topics are missing: lines" in headrace.fails("run", "app.py", code=3)


def test_so_is_the_topic_that_was_probably_meant(headrace: Headrace, broker: Broker) -> None:
    broker.delete_topic("lines")
    broker.create_topic("line")
    assert "hint: Did you mean 'line'? Or create what is missing" in headrace.fails("run", "app.py", code=3)


STARTS_ITSELF = """
from headrace import Streams

app = Streams(builder.build(), config)
app.start()
app.wait()
"""


def test_a_program_that_starts_itself_is_told_how_to_run_it(headrace: Headrace) -> None:
    Path("app.py").write_text(PROGRAM + STARTS_ITSELF)

    told = headrace.fails("run", "app.py", code=1)

    assert "error: app.py starts its application itself\n" in told
    assert "Run it with python app.py; or move start() below" in told
    assert f"at: {Path('app.py').resolve()}:{PROGRAM.count(chr(10)) + 5}\n" in told


def test_topics_that_are_elsewhere_are_found(headrace: Headrace, tmp_path: Path) -> None:
    told = headrace.fails("run", "app.py", "--broker", "embedded:elsewhere", code=3)

    assert "error: source topics are missing: lines\n" in told
    assert f"run with --broker embedded:{tmp_path / 'data'}." in told
    assert not Path("elsewhere").exists()


def test_a_machine_without_java_says_so_before_anything_starts(
    headrace: Headrace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", "/nowhere")

    told = headrace.fails("run", "app.py", code=1)

    assert told.startswith("error: Java was not found\n")
    assert "our bug" not in told


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("missing.py",), 3, "there is no file missing.py"),
        (("app.py", "--set", "nonsense"), 2, "'nonsense' is no setting"),
        (("app.py", "--set", "num.stream.thread=2"), 2, "Did you mean num.stream.threads?"),
        (("app.py", "--threads", "0"), 2, "--threads"),
        (("app.py", "--broker", "embeded:data"), 1, "Did you mean embedded:data?"),
        (("app.py", "--broker", "localhost"), 1, "Kafka's brokers are given as host:port"),
    ],
)
def test_what_cannot_be_meant_is_refused(headrace: Headrace, arguments: Any, code: int, said: str) -> None:
    assert said in headrace.fails("run", *arguments, code=code)
