"""Where Spark's JVM is killed or does not start, the error says so, how it ended, and what it said last."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.integration.spark.children import kill
from tests.integration.spark.processes import below, wait_for
from tests.integration.streams import programs
from tests.integration.streams.children import Child, headrace
from tests.integration.streams.test_processes import prepared

OPEN_SESSION = """
from headrace.config import StreamsConfig
from headrace.spark.session import open_session
open_session(StreamsConfig({"application.id": "app"}), threads=1)
"""


def check_killed(child: Child) -> None:
    assert child.ended() == 1
    said = child.errors()
    assert "Spark's JVM ended: signal 9 (SIGKILL)" in said, said
    assert "spark.driver.memory" in said
    assert "Connection refused" not in said and "our bug" not in said and "Traceback" not in said, said


def test_a_jvm_that_is_killed_while_batches_run(tmp_path: Path) -> None:
    prepared(tmp_path, "numbers", [str(number) for number in range(2000)])
    programs.write_totals(tmp_path)
    with headrace(tmp_path, "run", "totals.py", "--json", "--set", f"state.dir={tmp_path / 'state'}") as child:
        child.until("batch")
        (jvm,) = below(child.process.pid, "org.apache.spark.deploy.SparkSubmit")
        kill(jvm)
        list(child.lines())
        check_killed(child)


def test_a_jvm_that_is_killed_while_it_starts(tmp_path: Path) -> None:
    prepared(tmp_path, "numbers", ["1"])
    programs.write_totals(tmp_path)
    with headrace(tmp_path, "run", "totals.py", "--json", "--set", f"state.dir={tmp_path / 'state'}") as child:
        found = wait_for(lambda: below(child.process.pid, "org.apache.spark.deploy.SparkSubmit"), "the JVM")
        kill(found[0])
        list(child.lines())
        check_killed(child)


def test_a_jvm_that_ends_by_itself_has_the_last_word(tmp_path: Path) -> None:
    submit = tmp_path / "bin" / "spark-submit"
    submit.parent.mkdir()
    submit.write_text("#!/bin/sh\necho 'no memory for so large a heap' >&2\nexit ${CODE}\n")
    submit.chmod(0o755)
    for code in (0, 3):
        environment = {**os.environ, "SPARK_HOME": str(tmp_path), "CODE": str(code)}
        ran = subprocess.run(
            [sys.executable, "-c", OPEN_SESSION], env=environment, capture_output=True, text=True, timeout=120
        )
        assert f"StreamsError: Spark's JVM ended: exit code {code}" in ran.stderr, ran.stderr
        assert "no memory for so large a heap" in ran.stderr
