"""``headrace run`` on a terminal of 80 columns, with Spark: what is on the screen when, and how Ctrl-C ends it."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from headrace.broker import open_broker
from headrace.broker.port import NewRecord

PROGRAM = """import time
from headrace import StreamsBuilder


def shout(value):
    print("shouting", value)
    if value == "slow":
        time.sleep(60)
    return value.upper()


builder = StreamsBuilder()
builder.stream("lines").map_values(shout).to("loud")
config = {"application.id": "shout", "state.dir": "state"}
"""
CONTROL = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")
LIMIT = 240.0


class Terminal:
    """A process on a terminal of its own, 80 columns wide."""

    def __init__(self, directory: Path, *arguments: str) -> None:
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        environment = {**os.environ, "HEADRACE_BROKER": f"embedded:{directory / 'data'}", "TERM": "xterm"}
        for name in ("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR"):
            environment.pop(name, None)
        self.process = subprocess.Popen(
            ["setsid", "--ctty", "--wait", sys.executable, "-m", "headrace.cli", *arguments],
            cwd=directory,
            env=environment,
            stdin=slave,
            stdout=slave,
            stderr=slave,
        )
        os.close(slave)
        self.shown = ""

    def wait_for(self, text: str) -> str:
        """What is shown up to and with ``text``."""
        deadline = time.monotonic() + LIMIT
        while text not in self.text:
            is_over = not self._read() and self.process.poll() is not None
            assert not is_over and time.monotonic() < deadline, f"no {text!r} in {self.text[-2000:]!r}"
        return self.text

    def press_ctrl_c(self) -> None:
        os.write(self._master, b"\x03")

    def ends(self) -> int:
        """The exit code; all that was written is read."""
        deadline = time.monotonic() + LIMIT
        while self.process.poll() is None:
            assert time.monotonic() < deadline, "it did not end"
            self._read()
        while self._read():
            pass
        return self.process.returncode

    @property
    def text(self) -> str:
        """Every line that was ever drawn, without what moves the cursor."""
        return CONTROL.sub("", self.shown).replace("\r\n", "\n").replace("\r", "\n")

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait(LIMIT)
        os.close(self._master)

    def _read(self) -> bool:
        if not select.select([self._master], [], [], 0.2)[0]:
            return False
        try:
            data = os.read(self._master, 65536)
        except OSError:  # Nobody has the other end any more.
            return False
        self.shown += data.decode(errors="replace")
        return bool(data)


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    (tmp_path / "app.py").write_text(PROGRAM)
    broker = open_broker(f"embedded:{tmp_path / 'data'}")
    broker.create_topic("lines")
    broker.create_topic("loud")
    broker.append([NewRecord("lines", None, b"hello")])
    broker.close()
    found = Terminal(tmp_path, "run", "app.py")
    yield found
    found.close()


def append(directory: Path, value: bytes) -> None:
    broker = open_broker(f"embedded:{directory / 'data'}")
    broker.append([NewRecord("lines", None, value)])
    broker.close()


def test_it_says_what_it_does_and_ends_when_it_is_told(terminal: Terminal, tmp_path: Path) -> None:
    terminal.wait_for("shouting hello")
    before = terminal.wait_for("Ctrl-C ends it")

    assert "starting Spark …" in before
    for noise in ("WARNING: Using incubator modules", "Setting default log level", "To adjust logging level"):
        assert noise not in before
    # The lag of the first batch is known before it is done.
    assert re.search(r"^ +- +- +0 +0\.0 +0 +1 *$", before, re.MULTILINE)
    # What functions print stands on lines of its own, and not in the table.
    assert "shouting hello" in before.splitlines()
    assert max(len(line) for line in before.splitlines()) <= 80

    append(tmp_path, b"slow")
    terminal.wait_for("shouting slow")
    terminal.press_ctrl_c()
    terminal.wait_for("stopping after this batch … (Ctrl-C again: at once)")
    terminal.press_ctrl_c()
    assert terminal.ends() == 130

    # The cursor is there again, on a line of its own, and nothing came after that.
    assert terminal.shown.rfind("\x1b[?25h") > terminal.shown.rfind("\x1b[?25l")
    assert terminal.text.endswith("\n")
    assert "Traceback" not in terminal.text


def test_one_ctrl_c_ends_it_well(terminal: Terminal) -> None:
    terminal.wait_for("Ctrl-C ends it")
    terminal.press_ctrl_c()
    assert terminal.ends() == 0
    assert "NOT_RUNNING" in terminal.text.splitlines()[-3]


def test_two_while_spark_starts_end_it_at_once_without_a_word(terminal: Terminal) -> None:
    terminal.wait_for("starting Spark …")
    terminal.press_ctrl_c()
    terminal.wait_for("stopping after this batch … (Ctrl-C again: at once)")
    terminal.press_ctrl_c()
    assert terminal.ends() == 130
    assert "NOT_RUNNING" in terminal.text.splitlines()[-3]
    assert "Traceback" not in terminal.text and "Exception" not in terminal.text
