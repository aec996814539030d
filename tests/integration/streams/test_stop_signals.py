"""SIGTERM and Ctrl-C while an application starts or restores: it ends by itself, and the next one can run at once."""

from __future__ import annotations

import shutil
from collections import Counter
from contextlib import closing
from pathlib import Path

from headrace.broker import open_broker
from headrace.broker.port import NewRecord
from tests.integration.spark.processes import below, wait_for
from tests.integration.streams import programs
from tests.integration.streams.children import Child, headrace
from tests.integration.streams.test_processes import output, prepared

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
        child.terminate_all()
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
        assert child.ended() != 0
        assert "KeyboardInterrupt" in child.errors()
    assert is_free(tmp_path, "plain")


KEYS = """
from headrace import StreamsBuilder, serdes

builder = StreamsBuilder()
counts = builder.stream("numbers").group_by(lambda key, number: number).count("counts")
counts.to_stream().to("output", value_serde=serdes.long())
"""


def test_sigterm_while_a_store_is_restored_ends_it_well_and_the_next_run_goes_on(tmp_path: Path) -> None:
    numbers = [str(number) for number in range(20_000)]
    prepared(tmp_path, "numbers", numbers)
    programs.write(tmp_path, "keys", KEYS)
    command = ("run", "keys.py", "--json", "--set", f"state.dir={tmp_path / 'state'}")
    with headrace(tmp_path, *command, "--until-idle") as first:
        list(first.lines())
        assert first.ended() == 0, first.errors()

    shutil.rmtree(tmp_path / "state")
    with closing(open_broker(f"embedded:{tmp_path / 'data'}")) as broker:
        broker.append([NewRecord("numbers", None, number.encode()) for number in numbers[:100]])
    with headrace(tmp_path, *command) as second:
        second.until("restore")
        second.terminate()
        list(second.lines())
        assert second.ended() == 0, second.errors()
    assert is_free(tmp_path, "keys")

    with headrace(tmp_path, *command, "--until-idle") as third:
        list(third.lines())
        assert third.ended() == 0, third.errors()
    assert Counter(output(tmp_path)) == {1: 20_000, 2: 100}
