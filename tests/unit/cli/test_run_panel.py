"""What ``headrace run`` draws on a terminal of 80 columns."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import Any

import pytest
from rich.console import Console

from headrace import StreamsState
from headrace.batch.reports import BatchReport, BatchUnderWay
from headrace.cli.run_panel import Panel
from headrace.lifecycle.restores import RestoreEvent, RestoreStep
from headrace.metrics import MetricName

REPORT = BatchReport(0, 1200, 3, 40, 1, {"null key": 2})
HUGE = BatchReport(12_345_678, 1_234_567_890, 1_234_567_890, 1_234_567, 1, {"null key or value": 123_456_789})


class App:
    """As much of an application as a panel asks for."""

    application_id = "shout"
    lag: int | None = 17
    batch_under_way: BatchUnderWay | None = None
    waiting_for: str | None = None

    def metrics(self) -> dict[Any, float]:
        return {} if self.lag is None else {MetricName("records-lag", "", ()): self.lag}


@dataclass
class Screen:
    panel: Panel
    app: App
    now: list[float]
    out: io.StringIO
    console: Console

    def drawn(self) -> str:
        self.now[0] += 1
        self.out.truncate(self.out.seek(0))
        self.console.print(self.panel.render())
        return self.out.getvalue()


@pytest.fixture
def screen() -> Screen:
    now, out, app = [0.0], io.StringIO(), App()
    console = Console(file=out, width=80, highlight=False)
    return Screen(Panel("app.py", console, clock=lambda: now[0]), app, now, out, console)


def test_says_what_it_is_doing_until_the_first_batch(screen: Screen) -> None:
    assert "app.py  CREATED" in screen.drawn() and "loading …" in screen.drawn()
    screen.panel.watch(screen.app)
    assert "checking topics …" in screen.drawn()
    screen.panel.state(StreamsState.REBALANCING, StreamsState.CREATED)
    assert "shout  REBALANCING" in screen.drawn() and "starting Spark …" in screen.drawn()
    screen.panel.state(StreamsState.RUNNING, StreamsState.REBALANCING)
    assert "first batch …" in screen.drawn()
    screen.app.lag = 0
    screen.panel.batch(REPORT)
    assert "Ctrl-C ends it" in screen.drawn()


def test_one_that_ran_before_is_not_said_to_start_spark_while_it_waits_for_its_broker(screen: Screen) -> None:
    screen.panel.watch(screen.app)
    screen.panel.state(StreamsState.RUNNING, StreamsState.REBALANCING)
    screen.panel.state(StreamsState.REBALANCING, StreamsState.RUNNING)
    screen.app.waiting_for = "the broker localhost:9092 does not answer (since 12:00:00)"
    assert "waiting: the broker localhost:9092 does not answer" in " ".join(screen.drawn().split())
    screen.app.waiting_for = None
    assert "starting again …" in screen.drawn()


def test_shows_what_is_going_on(screen: Screen) -> None:
    screen.panel.watch(screen.app)
    screen.panel.state(StreamsState.RUNNING, StreamsState.REBALANCING)
    screen.panel.batch(REPORT)
    screen.now[0] = 5.0
    screen.panel.batch(REPORT)
    screen.panel.restore(RestoreEvent(RestoreStep.BATCH, "counts", "changelog", 1, 30, 10, 40, 70))

    shown = screen.drawn()
    assert shown.splitlines()[1].split() == ["BATCH", "MS", "READ", "RECORDS/S", "WRITTEN", "LAG"]
    assert shown.splitlines()[2].split() == ["0", "40", "2,400", "240", "6", "17"]
    assert "dropped: 4 (null key)" in shown
    assert "restoring counts 1: 30 of 60 (50%)" in shown

    screen.panel.restore(RestoreEvent(RestoreStep.END, "counts", "changelog", 1, 60, 10, 70, 70))
    screen.now[0] = 60.0
    assert "restoring" not in screen.drawn()
    assert screen.panel.rate() == 0


def test_nothing_is_cropped_at_80_columns(screen: Screen) -> None:
    screen.app.application_id = "a-rather-long-application-id-" * 4
    screen.app.lag = 1_234_567_890
    screen.panel.watch(screen.app)
    screen.panel.state(StreamsState.RUNNING, StreamsState.REBALANCING)
    screen.panel.batch(HUGE)
    place = ("a-store-with-a-long-name-indeed", "a-changelog", 1)
    screen.panel.restore(RestoreEvent(RestoreStep.BATCH, *place, 30, 10, 1_000_000, 70_000_000))

    shown = screen.drawn()
    assert all(len(line) <= 80 for line in shown.splitlines())
    joined = shown.replace("\n", "")
    for text in (screen.app.application_id, "12,345,678", "1,234,567", "123,456,789 (null key or value)"):
        assert text in joined
    assert shown.count("1,234,567,890") == 3
    assert "restoring a-store-with-a-long-name-indeed 1: 999,990 of 69,999,990 (1%)" in joined


def test_the_lag_of_one_that_ended_is_the_last_that_was_known(screen: Screen) -> None:
    screen.panel.watch(screen.app)
    screen.panel.state(StreamsState.RUNNING, StreamsState.REBALANCING)
    screen.drawn()
    screen.app.lag = None
    screen.panel.state(StreamsState.PENDING_ERROR, StreamsState.RUNNING)
    assert "ending because of an error" in screen.drawn()
    screen.panel.state(StreamsState.ERROR, StreamsState.PENDING_ERROR)
    assert screen.drawn().splitlines()[2].split()[-1] == "17"


def test_a_wish_to_stop_is_seen_at_once(screen: Screen) -> None:
    screen.panel.watch(screen.app)
    screen.panel.state(StreamsState.REBALANCING, StreamsState.CREATED)
    screen.panel.is_stopping = lambda: True
    assert "stopping after this batch … (Ctrl-C again: at once)" in screen.drawn()


def test_a_long_batch_is_seen_to_go_on(screen: Screen) -> None:
    screen.panel.watch(screen.app)
    screen.panel.state(StreamsState.RUNNING, StreamsState.REBALANCING)
    screen.app.batch_under_way = BatchUnderWay(1, 2_000, since=0.0)
    screen.now[0] = 40.0
    assert "batch 1: 2,000 records, 41 s …" in screen.drawn()

    screen.panel.batch(REPORT)
    screen.app.batch_under_way = None
    assert "Ctrl-C ends it" in screen.drawn()


def test_notes_stand_above_without_control_characters(screen: Screen) -> None:
    screen.panel.note("warning: \x1b[2Jgone")
    assert "warning: \\x1b[2Jgone" in screen.out.getvalue()
