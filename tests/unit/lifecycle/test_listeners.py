"""What listeners may ask of their application: it never waits for them while they wait for it."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any

import pytest

from headrace import Streams, StreamsState
from headrace.batch.reports import BatchReport
from headrace.errors import IllegalStateError
from headrace.lifecycle import listener_thread
from headrace.lifecycle.restores import RestoreEvent, RestoreStep
from headrace.listeners import tell
from headrace.query import StandbyEvent, StandbyStep
from tests.unit.lifecycle.engine_double import EngineDouble

REPORT = BatchReport(1, 1, 1, 1, 1)


class Ask:
    """A listener that asks for something once, in time."""

    def __init__(self, question: Callable[[], Any]) -> None:
        self._question = question
        self.answers: list[Any] = []

    def __call__(self, *_: object) -> None:
        if self.answers:
            return
        self.answers.append(None)
        try:
            self.answers[0] = self._question()
        except IllegalStateError as error:
            self.answers[0] = error


def in_time(call: Callable[[], object]) -> None:
    thread = threading.Thread(target=call, daemon=True)
    thread.start()
    thread.join(60)
    assert not thread.is_alive(), "it waits for itself"


def ended(app: Streams) -> bool:
    return app._states.wait_for(StreamsState.NOT_RUNNING, timeout=60)


def test_a_state_listener_can_close_it_while_it_starts(app: Streams) -> None:
    ask = Ask(app.close)
    app.on_state_change(ask)
    in_time(app.start)
    assert ended(app) and ask.answers != [None]
    assert not EngineDouble.last.is_on


def test_a_batch_listener_can_close_it(app: Streams) -> None:
    ask = Ask(app.close)
    app.on_batch(ask)
    app.start()
    in_time(lambda: EngineDouble.last.run_batch(REPORT))
    assert ended(app)
    assert ask.answers == [False]


def test_a_restore_listener_can_close_it(app: Streams) -> None:
    ask = Ask(app.close)
    app.on_restore(ask)
    app.start()
    event = RestoreEvent(RestoreStep.START, "counts", "app-counts-changelog", 0, 0)
    in_time(lambda: app._restores._tell(event))
    assert ended(app)
    # No batch waits for the listener here: the application may have ended when it looks.
    assert ask.answers in ([False], [True])


def test_a_standby_listener_can_close_it(app: Streams) -> None:
    ask = Ask(app.close)
    app.on_standby_update(ask)
    app.start()
    assert app._run is not None
    replicas = app._run.replicas
    event = StandbyEvent(StandbyStep.START, "counts", "app-counts-changelog", 0, "0_0", 0, 0)

    def follow() -> None:
        with replicas.unchanged():
            tell("standby", replicas.standbys, event)

    in_time(follow)
    assert ended(app)
    assert ask.answers == [False]


def test_a_batch_listener_that_never_returns_does_not_keep_it_from_ending(
    app: Streams, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(listener_thread, "PATIENCE_SECONDS", 0.5)
    monkeypatch.setattr(listener_thread, "SEEN_SECONDS", 0.2)
    begun, may_return = threading.Event(), threading.Event()

    def never_returns(report: BatchReport) -> None:
        begun.set()
        may_return.wait(60)

    app.on_batch(never_returns)
    app.start()
    threading.Thread(target=lambda: EngineDouble.last.run_batch(REPORT), daemon=True).start()
    assert begun.wait(60)
    in_time(app.close)
    may_return.set()
    assert ended(app)
    assert "the next batch waits for a listener, which has not returned yet" in caplog.text
    assert "a listener does not return" in caplog.text and "in never_returns" in caplog.text


def test_what_a_batch_listener_raises_beyond_errors_is_raised_where_the_batch_runs(app: Streams) -> None:
    app.on_batch(lambda report: sys.exit(3))
    app.start()
    with pytest.raises(SystemExit):
        EngineDouble.last.run_batch(REPORT)
    app.close()


def test_a_batch_listener_can_pause_it_and_let_it_go_on(app: Streams) -> None:
    app.on_batch(lambda report: app.pause())
    app.start()
    in_time(lambda: EngineDouble.last.run_batch(REPORT))
    assert EngineDouble.last.stopped.wait(60)
    assert app.is_paused and not EngineDouble.last.is_on
    app.resume()
    assert EngineDouble.last.is_on


@pytest.mark.parametrize("name", ["wait", "run_until_idle", "add_stream_thread", "remove_stream_thread"])
def test_what_would_wait_for_the_listener_is_refused_in_it(app: Streams, name: str) -> None:
    ask = Ask(getattr(app, name))
    app.on_batch(ask)
    app.start()
    in_time(lambda: EngineDouble.last.run_batch(REPORT))
    assert "cannot be called in a listener" in str(ask.answers[0])


def test_two_threads_can_close_it_at_once_and_again(app: Streams) -> None:
    app.start()
    EngineDouble.last.may_close.clear()
    closing = [threading.Thread(target=app.close, daemon=True) for _ in range(2)]
    for each in closing:
        each.start()
    EngineDouble.last.may_close.set()
    for each in closing:
        each.join(60)
    assert not any(each.is_alive() for each in closing)
    assert app.close()
