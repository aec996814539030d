"""What is raised while something is told, by a listener or by the log, never leaves an application neither on nor off.

Both write to the same terminal or pipe, mostly: where nobody reads it any more, both fail.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from headrace import Streams, StreamsBuilder, StreamsState, StreamThreadExceptionResponse
from headrace.batch.reports import BatchReport
from headrace.broker import open_broker
from headrace.broker.port import NewRecord
from headrace.errors import BrokerUnreachableError, ProcessingError
from headrace.lifecycle.chores import Chore, Chores
from headrace.lifecycle.program_end import end_with_program
from tests.unit.lifecycle.engine_double import EngineDouble

SECONDS = 20_000
# A listener that raises at the very end has nobody left to hear of it but Python's own hook.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")


class Torn(BaseException):
    """No Exception."""


def raises(kind: type[BaseException]) -> Callable[..., Any]:
    def told(*_: object) -> None:
        raise kind

    return told


@contextmanager
def log_that_raises(kind: type[BaseException]) -> Iterator[None]:
    """A handler that fails whatever it is given."""
    handler, logger = logging.Handler(), logging.getLogger("headrace")
    handler.emit = raises(kind)  # type: ignore[method-assign]
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)


def has_ended(app: Streams) -> bool:
    """Also its listeners have heard of it then."""
    return app._has_ended(20)


@pytest.mark.parametrize("kind", [BrokenPipeError, SystemExit, Torn])
@pytest.mark.parametrize("response", StreamThreadExceptionResponse)
def test_a_failure_ends_it_in_error_though_it_cannot_be_told(
    app: Streams, kind: type[BaseException], response: StreamThreadExceptionResponse
) -> None:
    app.on_uncaught_exception(lambda error: response)
    app.start()
    app._states.listen(raises(kind))
    error = ProcessingError("a function raised")
    with log_that_raises(kind):
        EngineDouble.last.fail(error)
        assert has_ended(app)
    assert (app.state, app.failure) == (StreamsState.ERROR, error)
    assert EngineDouble.last.is_closed


def test_so_does_a_broker_that_does_not_answer_where_that_cannot_be_told(app: Streams) -> None:
    app.start()
    with log_that_raises(BrokenPipeError):
        EngineDouble.last.fail(BrokerUnreachableError("it does not answer"))
        assert has_ended(app)
    assert app.state is StreamsState.ERROR


def test_a_handler_of_failures_that_wants_to_exit_ends_it_in_error(app: Streams) -> None:
    app.on_uncaught_exception(raises(SystemExit))
    app.start()
    EngineDouble.last.fail(ProcessingError("a function raised"))
    assert has_ended(app)
    assert app.state is StreamsState.ERROR


@pytest.mark.parametrize("kind", [BrokenPipeError, Torn])
def test_it_ends_though_its_end_cannot_be_told(app: Streams, kind: type[BaseException]) -> None:
    app.start()
    app._states.listen(raises(kind))
    with log_that_raises(kind):
        # Who closes it hears of it, which changes nothing.
        with pytest.raises(kind):
            app.close(timeout=SECONDS)
        assert has_ended(app)
    assert app.state is StreamsState.NOT_RUNNING
    assert EngineDouble.last.is_closed


def test_an_engine_that_cannot_be_closed_ends_it_too(app: Streams, monkeypatch: pytest.MonkeyPatch) -> None:
    app.start()
    monkeypatch.setattr(EngineDouble.last, "close", raises(Torn))
    with log_that_raises(BrokenPipeError), pytest.raises(BrokenPipeError):
        app.close(timeout=SECONDS)
    assert has_ended(app)
    assert isinstance(app.failure, Torn)


@pytest.mark.parametrize("state", [StreamsState.REBALANCING, StreamsState.RUNNING])
def test_who_is_torn_away_while_it_starts_to_run_leaves_nothing_open(app: Streams, state: StreamsState) -> None:
    app.on_state_change(lambda new, old: raises(SystemExit)() if new is state else None)
    with pytest.raises(SystemExit):
        app.start()
    assert app.state is StreamsState.ERROR
    assert EngineDouble.last.is_closed


class Local:
    """A program on the engine in this process, and its broker."""

    def __init__(self, directory: Path) -> None:
        self.broker = open_broker(f"embedded:{directory / 'data'}", fsync="never")
        self.broker.create_topic("in", 1)
        self.broker.create_topic("out", 1)
        builder = StreamsBuilder()
        builder.stream("in").map_values(str.upper).to("out")
        config = {"application.id": "app", "bootstrap.servers": self.broker.address, "state.dir": directory / "state"}
        self.app = Streams(builder.build(), {**config, "poll.ms": 5}, engine="local")


@pytest.fixture
def local(tmp_path: Path) -> Iterator[Local]:
    made = Local(tmp_path)
    with closing(made.broker):
        yield made
        made.app.close(timeout=SECONDS)


def test_batches_go_on_where_neither_a_listener_nor_the_log_can_tell_of_them(local: Local) -> None:
    told = threading.Semaphore(0)

    def tell(report: BatchReport) -> None:
        told.release()
        raise BrokenPipeError

    local.app.on_batch(tell)
    local.app.start()
    with log_that_raises(BrokenPipeError):
        for _ in range(2):
            local.broker.append([NewRecord("in", None, b"a")])
            assert told.acquire(timeout=20)
    assert local.app.close(timeout=SECONDS)
    assert local.app.state is StreamsState.NOT_RUNNING


@pytest.mark.parametrize("kind", [SystemExit, Torn])
def test_what_ends_the_thread_of_the_batches_ends_the_application(local: Local, kind: type[BaseException]) -> None:
    local.app.on_batch(raises(kind))
    local.app.start()
    local.app._states.listen(raises(kind))
    with log_that_raises(BrokenPipeError):
        local.broker.append([NewRecord("in", None, b"a")])
        with pytest.raises(kind):
            local.app.wait(timeout=SECONDS)
    assert local.app.state is StreamsState.ERROR
    assert local.broker.lease_owner("app") is None


@pytest.mark.parametrize("kind", [BrokenPipeError, Torn])
def test_a_chore_that_fails_is_tried_again_though_that_cannot_be_told(kind: type[BaseException]) -> None:
    tried = threading.Semaphore(0)

    def work() -> None:
        tried.release()
        raise kind

    chores = Chores("test", Chore("work", work, 0.001))
    with log_that_raises(BrokenPipeError):
        chores.start()
        assert all(tried.acquire(timeout=20) for _ in range(3))
        chores.stop()


def test_a_program_that_ends_closes_its_application_though_that_cannot_be_told(monkeypatch: pytest.MonkeyPatch) -> None:
    over, closed = threading.Thread(target=int), threading.Event()
    monkeypatch.setattr(threading, "main_thread", lambda: over)
    with log_that_raises(BrokenPipeError):
        end_with_program("app", lambda seconds: False, closed.set)
        assert closed.wait(20)
