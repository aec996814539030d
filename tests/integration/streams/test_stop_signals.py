"""SIGTERM and Ctrl-C while an application starts: it ends by itself, and the next one can run at once."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from headrace.broker import open_broker
from tests.integration.spark.processes import below, wait_for
from tests.integration.streams import programs
from tests.integration.streams.children import Child, headrace
from tests.integration.streams.test_processes import prepared

PLAIN = """
import sys

from headrace import Streams, StreamsBuilder

builder = StreamsBuilder()
builder.stream("numbers").to("output")
with Streams(builder.build(), {"application.id": "plain", "bootstrap.servers": sys.argv[1]}) as app:
    app.wait()
"""


def wait_for_jvm(child: Child) -> None:
    wait_for(lambda: below(child.process.pid, "org.apache.spark.deploy.SparkSubmit"), "the JVM")


def is_free(directory: Path, application: str) -> bool:
    with closing(open_broker(f"embedded:{directory / 'data'}")) as broker:
        return broker.lease_owner(application) is None


def test_sigterm_while_it_starts_ends_it_well(tmp_path: Path) -> None:
    prepared(tmp_path, "numbers", [str(number) for number in range(100)])
    programs.write_totals(tmp_path)
    with headrace(tmp_path, "run", "totals.py", "--json", "--set", f"state.dir={tmp_path / 'state'}") as child:
        wait_for_jvm(child)
        child.terminate()
        states = [line["state"] for line in child.lines() if "state" in line]
        assert child.ended() == 0, child.errors()
        assert states[-2:] == ["PENDING_SHUTDOWN", "NOT_RUNNING"]
    assert is_free(tmp_path, "totals")


def test_ctrl_c_while_a_plain_program_starts_ends_it_at_once(tmp_path: Path) -> None:
    prepared(tmp_path, "numbers", ["1"])
    program = programs.write(tmp_path, "plain", PLAIN)
    with Child(tmp_path, str(program), f"embedded:{tmp_path / 'data'}") as child:
        wait_for_jvm(child)
        child.interrupt()
        assert child.process.wait(20) != 0
        assert "KeyboardInterrupt" in child.errors()
    assert is_free(tmp_path, "plain")
