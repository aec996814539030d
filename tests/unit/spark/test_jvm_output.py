"""What Spark's JVM says is shown while it works, not while it starts or is ended."""

from __future__ import annotations

import os
import time

import pytest

from headrace.spark.jvm_output import JvmOutput


def said(output: JvmOutput, text: str) -> None:
    os.write(output.write_end, f"{text}\n".encode())
    deadline = time.monotonic() + 30
    while text not in output._last:
        assert time.monotonic() < deadline
        time.sleep(0.005)


def test_it_is_shown_between_show_and_hide(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    output = JvmOutput()
    kept = os.dup(output.write_end)
    output.begin()
    monkeypatch.setattr(output, "write_end", kept)
    said(output, "greetings")
    output.show()
    said(output, "a record")
    output.hide()
    said(output, "torn away")
    output.show()
    said(output, "the next session")
    os.close(kept)
    assert output.last_lines(30) == "the next session"
    assert capsys.readouterr().err == "a record\nthe next session\n"
