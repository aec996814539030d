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


def test_it_is_read_on_where_nobody_reads_what_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    output = JvmOutput()
    kept = os.dup(output.write_end)
    output.begin()
    output.show()
    monkeypatch.setattr(output, "write_end", kept)
    with open(writing, "w", closefd=False) as unread:
        monkeypatch.setattr("sys.stderr", unread)
        said(output, "a record")
        said(output, "another one")
        os.close(kept)
        assert output.last_lines(30) == "a record\nanother one"
        # What could not be written is written again when it is closed.
        os.dup2(os.open(os.devnull, os.O_WRONLY), writing)
    os.close(writing)
