"""``headrace`` runs a command in this process, on a broker of its own in a fresh directory."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from headrace.broker import open_broker
from headrace.broker.port import Broker
from headrace.cli.app import app


@dataclass(frozen=True)
class Ran:
    """How a command ended, and what it printed."""

    code: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        """The output as JSON."""
        return json.loads(self.out)

    @property
    def records(self) -> list[Any]:
        """The output as JSON lines."""
        return [json.loads(line) for line in self.out.splitlines()]


class Headrace:
    """The command line. Calling it runs a command that must end well; ``fails`` runs one that must not."""

    def __call__(self, *arguments: str, input: str | bytes = b"") -> Ran:
        ran = self.runs(*arguments, input=input)
        assert ran.code == 0, ran
        return ran

    def fails(self, *arguments: str, code: int, input: str | bytes = b"") -> str:
        """What stands on the standard error of a command that ends with ``code``."""
        ran = self.runs(*arguments, input=input)
        assert ran.code == code, ran
        assert "Traceback" not in ran.err
        return ran.err

    def runs(self, *arguments: str, input: str | bytes = b"") -> Ran:
        """Run a command, however it ends."""
        result = CliRunner().invoke(app, arguments, input=input, catch_exceptions=False)
        return Ran(result.exit_code, result.stdout, result.stderr)


@pytest.fixture
def headrace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Headrace:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HEADRACE_BROKER", f"embedded:{tmp_path / 'data'}")
    return Headrace()


@pytest.fixture
def broker(headrace: Headrace, tmp_path: Path) -> Iterator[Broker]:
    """The broker that the commands talk to."""
    with closing(open_broker(f"embedded:{tmp_path / 'data'}", fsync="never")) as broker:
        yield broker
