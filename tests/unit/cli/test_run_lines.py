"""What ``headrace run`` says of a batch or a start that takes long, where there is no terminal."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any, cast

import pytest

from headrace.batch.reports import BatchUnderWay
from headrace.cli import run_screen
from headrace.lifecycle.states import StreamsState


def wait_for(count: int, notes: list[str]) -> None:
    deadline = time.monotonic() + 30
    while len(notes) < count:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_wish_to_stop_is_told_while_it_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_screen, "LOOK_SECONDS", 0.01)
    notes: list[str] = []
    app = SimpleNamespace(state=StreamsState.REBALANCING, batch_under_way=None)
    lines = run_screen.Lines(cast(Any, SimpleNamespace(note=notes.append)))
    lines.watch(app)
    lines.is_stopping = lambda: True
    wait_for(1, notes)
    app.state = StreamsState.NOT_RUNNING
    assert notes == ["stopping … (Ctrl-C again: at once)"]


def test_a_long_batch_is_told_of_again_and_again_while_it_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_screen, "LONG_SECONDS", 0.1)
    monkeypatch.setattr(run_screen, "LOOK_SECONDS", 0.01)
    notes: list[str] = []
    app = SimpleNamespace(state=StreamsState.RUNNING, batch_under_way=BatchUnderWay(7, 1200, time.time()))
    run_screen.Lines(cast(Any, SimpleNamespace(note=notes.append))).watch(app)
    wait_for(2, notes)
    app.state = StreamsState.NOT_RUNNING
    assert notes[0].startswith("batch 7: 1,200 records, ") and notes[0].endswith(" s …")
