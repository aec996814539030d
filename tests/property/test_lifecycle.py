"""Whatever is done to an application, in whatever order: its states follow the rules, and nothing is left behind."""

from __future__ import annotations

import shutil
import tempfile
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from headrace import Streams, StreamsBuilder, StreamsState, StreamThreadExceptionResponse, engines
from headrace.broker import open_broker
from headrace.errors import IllegalStateError, ProcessingError
from headrace.lifecycle.failures import Backoff
from tests.integration.spark.processes import wait_for
from tests.unit.lifecycle.engine_double import EngineDouble

RUNNING, ERROR, NOT_RUNNING = StreamsState.RUNNING, StreamsState.ERROR, StreamsState.NOT_RUNNING


class Lifecycle(RuleBasedStateMachine):
    """One application and a model of it: whether it is paused, how many threads it has, whether its engine is on."""

    def __init__(self) -> None:
        super().__init__()
        self.directory = Path(tempfile.mkdtemp(prefix="headrace-test-"))
        address = f"embedded:{self.directory / 'data'}"
        with closing(open_broker(address, fsync="never")) as broker:
            broker.create_topic("lines")
        builder = StreamsBuilder()
        builder.stream("lines").to("out")
        config = {"application.id": "app", "bootstrap.servers": address, "state.dir": self.directory / "state"}
        self.app = Streams(builder.build(), config)
        self.seen = [StreamsState.CREATED]
        self.answer = StreamThreadExceptionResponse.REPLACE_THREAD
        self.app.on_state_change(lambda new, old: self.seen.append(new))
        self.app.on_uncaught_exception(lambda error: self.answer)
        self.threads, self.is_paused = 1, False

    @property
    def is_live(self) -> bool:
        return self.app.state.is_running_or_rebalancing

    @rule()
    def start(self) -> None:
        if self.app.state is StreamsState.CREATED:
            self.app.start()
            assert self.app.state is RUNNING
            return
        with pytest.raises(IllegalStateError):
            self.app.start()

    @rule()
    def close(self) -> None:
        assert self.app.close()
        assert self.app.state.has_ended

    @rule()
    def pause(self) -> None:
        self.app.pause()
        self.is_paused = True

    @rule()
    def resume(self) -> None:
        self.app.resume()
        self.is_paused = False

    @rule()
    def add_thread(self) -> None:
        name = self.app.add_stream_thread()
        assert (name is not None) == self.is_live
        self.threads += name is not None

    @rule()
    def remove_thread(self) -> None:
        name = self.app.remove_stream_thread()
        assert (name is not None) == (self.is_live and self.threads > 0)
        self.threads -= name is not None

    @precondition(lambda self: self.is_live and EngineDouble.last.is_on)
    @rule()
    def fail_and_be_replaced(self) -> None:
        self.answer = StreamThreadExceptionResponse.REPLACE_THREAD
        changes = len(self.seen)
        EngineDouble.last.fail(ProcessingError("a function raised"))
        # Others see a state a moment before listeners are told of it.
        wait_for(lambda: self.seen[changes:] == [StreamsState.REBALANCING, RUNNING], "changes of state")

    @precondition(lambda self: self.is_live and EngineDouble.last.is_on)
    @rule()
    def fail_for_good(self) -> None:
        self.answer = StreamThreadExceptionResponse.SHUTDOWN_CLIENT
        EngineDouble.last.fail(ProcessingError("a function raised"))
        with pytest.raises(ProcessingError):
            self.app.wait()
        assert self.app.state is ERROR

    @rule()
    def clean_up(self) -> None:
        if self.is_live:
            with pytest.raises(IllegalStateError):
                self.app.clean_up()
        else:
            self.app.clean_up()

    @invariant()
    def every_change_is_a_way_of_kafka_streams(self) -> None:
        assert all(old.may_become(new) for old, new in zip(self.seen, self.seen[1:], strict=False))
        assert self.seen[-1] is self.app.state

    @invariant()
    def the_engine_is_on_where_it_should_be(self) -> None:
        if self.is_live:
            assert EngineDouble.last.is_on == (self.threads > 0 and not self.is_paused)
        if self.app.state.has_ended and self.app._run is not None:
            assert EngineDouble.last.is_closed

    def teardown(self) -> None:
        assert self.app.close()
        assert self.app.state in {ERROR, NOT_RUNNING}
        shutil.rmtree(self.directory)


@pytest.fixture(autouse=True)
def engine_double(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "spark_engine", lambda: (EngineDouble, lambda: None))
    monkeypatch.setattr(Backoff, "next", lambda self: 0.0)


TestLifecycle = Lifecycle.TestCase
TestLifecycle.settings = settings(max_examples=20, stateful_step_count=15, deadline=None)
