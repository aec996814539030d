"""``headrace run`` as a process of its own, in a process group of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_SECONDS = 300


class Child:
    """A process whose output is read line by line; it never outlives the test."""

    def __init__(self, directory: Path, *arguments: str) -> None:
        self._log = (directory / "stderr.txt").open("a+")
        self.process = subprocess.Popen(
            [sys.executable, *arguments],
            cwd=directory,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            start_new_session=True,
        )
        self._guard = threading.Timer(_SECONDS, self.kill)
        self._guard.start()

    def lines(self) -> Iterator[dict[str, Any]]:
        """What it prints, as JSON; ends with the process."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            yield json.loads(line)

    def until(self, name: str, value: Any = None) -> list[dict[str, Any]]:
        """Its lines up to one that has ``name`` (and there ``value``)."""
        seen = []
        for line in self.lines():
            seen.append(line)
            if name in line and value in (None, line[name]):
                return seen
        message = f"no {name} {value}: {seen}\n{self.errors()}"
        raise AssertionError(message)

    def interrupt(self) -> None:
        """Ctrl-C, as a terminal sends it: to the process and all it has started."""
        os.killpg(self.process.pid, signal.SIGINT)

    def terminate(self) -> None:
        """SIGTERM, to the process alone."""
        self.process.terminate()

    def terminate_all(self) -> None:
        """SIGTERM, as systemd sends it: to the process and all it has started."""
        os.killpg(self.process.pid, signal.SIGTERM)

    def kill(self) -> None:
        """End the whole group at once."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)

    def ended(self) -> int:
        """Its exit code."""
        return self.process.wait(_SECONDS)

    def errors(self) -> str:
        """What it wrote to the standard error."""
        self._log.seek(0)
        return self._log.read()

    def __enter__(self) -> Child:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        self._guard.cancel()
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()
        self._log.close()


def headrace(directory: Path, *arguments: str) -> Child:
    """The command line in a process of its own."""
    return Child(directory, "-m", "headrace.cli", *arguments, "--broker", f"embedded:{directory / 'data'}")
