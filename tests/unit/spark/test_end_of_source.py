"""What the process of the source says when it ends."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
from headrace.spark import source

source.DueSource({"path": "nowhere"}).streamReader(None)
raise ERROR
"""


@pytest.mark.parametrize(("error", "said"), [("BrokenPipeError()", ""), ("ValueError('oh')", "ValueError: oh\n")])
def test_a_connection_that_spark_has_closed_is_no_news(error: str, said: str) -> None:
    program = PROGRAM.replace("ERROR", error)
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert ran.returncode == 1
    assert ran.stderr.endswith(said) and bool(ran.stderr) == bool(said)
