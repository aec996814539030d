"""What an application does when it is started, closed, paused, and when processing fails."""

from __future__ import annotations

import threading
import time
import traceback
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JError

from headrace import Streams, StreamsBuilder, StreamsState, StreamThreadExceptionResponse, TopologyTestDriver
from headrace.application.restore_notes import RestoreNote
from headrace.batch.reports import BatchReport
from headrace.errors import (
    ArgumentError,
    BrokerUnreachableError,
    ConfigError,
    FencedError,
    IllegalStateError,
    MissingSourceTopicError,
    OperatorTypeError,
    ProcessingError,
    StoreError,
    TopologyError,
)
from headrace.lifecycle import background
from headrace.lifecycle.failures import without_internals
from headrace.lifecycle.restores import RestoreEvent
from tests.unit.lifecycle.conftest import MakeApp
from tests.unit.lifecycle.engine_double import EngineDouble

REPLACE, CLIENT, APPLICATION = StreamThreadExceptionResponse


def states_of(app: Streams) -> list[str]:
    """The states that the application goes through from here on."""
    seen: list[str] = []
    app.on_state_change(lambda new, old: seen.append(str(new)))
    return seen


def has_ended(app: Streams) -> bool:
    return app._states.wait_for(StreamsState.NOT_RUNNING, StreamsState.ERROR, timeout=30)


def test_goes_through_the_states_of_a_good_life(app: Streams) -> None:
    seen = states_of(app)
    with app:
        assert app.state is StreamsState.RUNNING
        assert EngineDouble.last.is_on

    assert seen == ["REBALANCING", "RUNNING", "PENDING_SHUTDOWN", "NOT_RUNNING"]
    assert EngineDouble.last.is_closed


def test_is_started_once(app: Streams) -> None:
    app.start()
    with pytest.raises(IllegalStateError, match="was started before: its state is RUNNING"):
        app.start()
    app.close()
    with pytest.raises(IllegalStateError, match="its state is NOT_RUNNING"):
        app.start()


def test_closing_twice_does_no_harm(app: Streams) -> None:
    app.start()
    assert app.close()
    assert app.close()


def test_one_that_never_ran_can_be_closed(app: Streams) -> None:
    assert app.close()
    assert app.state is StreamsState.NOT_RUNNING


def test_close_says_when_the_time_was_too_short(app: Streams) -> None:
    app.start()
    EngineDouble.last.may_close.clear()

    assert not app.close(timeout=timedelta(milliseconds=20))
    assert str(app.state) == "PENDING_SHUTDOWN"

    EngineDouble.last.may_close.set()
    assert app.close()
    assert str(app.state) == "NOT_RUNNING"


def test_a_negative_timeout_is_refused(app: Streams) -> None:
    with pytest.raises(ArgumentError, match="timeout cannot be negative"):
        app.close(timeout=-1)


def test_only_a_spark_session_is_taken_for_one() -> None:
    builder = StreamsBuilder()
    builder.stream("lines")
    with pytest.raises(OperatorTypeError, match=r"spark must be a SparkSession, found builtins\.str"):
        Streams(builder.build(), {"application.id": "app"}, spark="local[2]")


def test_a_topology_that_does_not_fit_the_topics_leaves_it_as_it_was(app: Streams) -> None:
    builder = StreamsBuilder()
    builder.stream("missing").to("out")
    app._topology = builder.build()

    with pytest.raises(MissingSourceTopicError, match="source topics are missing: missing"):
        app.start()

    assert app.state is StreamsState.CREATED


def test_an_engine_that_does_not_start_ends_it_in_error(app: Streams, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(self: EngineDouble) -> None:
        raise ProcessingError("no Java")

    monkeypatch.setattr(EngineDouble, "start", fails)
    seen = states_of(app)
    with pytest.raises(ProcessingError, match="no Java"):
        app.start()

    assert seen == ["REBALANCING", "PENDING_ERROR", "ERROR"]
    assert EngineDouble.last.is_closed


@pytest.mark.parametrize("handler", [None, lambda error: CLIENT, lambda error: APPLICATION, lambda error: 1 // 0])
def test_a_failure_ends_it_in_error(app: Streams, handler: Any) -> None:
    if handler is not None:
        app.on_uncaught_exception(handler)
    seen = states_of(app)
    app.start()
    error = ProcessingError("a function raised")
    EngineDouble.last.fail(error)

    with pytest.raises(ProcessingError, match="a function raised"):
        app.wait()

    assert seen == ["REBALANCING", "RUNNING", "PENDING_ERROR", "ERROR"]
    assert app.failure is error
    assert EngineDouble.last.is_closed


def test_a_failure_is_answered_and_told_though_the_one_who_waits_closes_at_once(
    app: Streams, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[BaseException] = []

    def slow(error: BaseException) -> StreamThreadExceptionResponse:
        time.sleep(0.2)
        asked.append(error)
        return CLIENT

    app.on_uncaught_exception(slow)
    seen, error = states_of(app), ProcessingError("a function raised")

    def fails() -> int:
        EngineDouble.last.fail(error)
        raise error

    with pytest.raises(ProcessingError, match="a function raised"), app:
        monkeypatch.setattr(EngineDouble.last, "run_until_idle", fails)
        app.run_until_idle()

    assert asked == [error] and app.failure is error
    assert seen == ["REBALANCING", "RUNNING", "PENDING_ERROR", "ERROR"]


def test_a_failure_just_before_the_end_is_answered(app: Streams) -> None:
    asked: list[BaseException] = []
    answered = threading.Event()

    def handler(error: BaseException) -> StreamThreadExceptionResponse:
        asked.append(error)
        answered.set()
        return REPLACE

    app.on_uncaught_exception(handler)
    app.start()
    supervisor, error = app._running().supervisor, ProcessingError("a function raised")
    with supervisor._operating:
        supervisor._closing.set()
        EngineDouble.last.fail(error)
        assert answered.wait(30)
    app.close()

    assert asked == [error]
    assert EngineDouble.last.starts == 1


def test_a_failure_that_nobody_waits_for_is_logged_once(app: Streams, caplog: pytest.LogCaptureFixture) -> None:
    app.start()
    EngineDouble.last.fail(ProcessingError("a function raised"))
    assert has_ended(app)

    assert caplog.text.count("a function raised") == 1
    assert "headrace/streams.py" not in caplog.text


@pytest.mark.parametrize("wait", [Streams.wait, Streams.run_until_idle])
def test_one_that_somebody_waits_for_is_raised_there_only(
    app: Streams, wait: Any, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    app.start()
    engine, error = EngineDouble.last, ProcessingError("a function raised")

    def fails() -> int:
        engine.fail(error)
        raise error

    monkeypatch.setattr(engine, "run_until_idle", fails)

    def fails_when_awaited() -> None:
        while not app._waiting:
            time.sleep(0.001)
        engine.fail(error)

    if wait is Streams.wait:
        threading.Thread(target=fails_when_awaited, daemon=True).start()
    with pytest.raises(ProcessingError, match="a function raised"):
        wait(app)
    assert has_ended(app)

    assert caplog.text == ""


def test_an_error_shows_our_own_frames_and_those_of_spark_only_while_debugging(monkeypatch: pytest.MonkeyPatch) -> None:
    def frames() -> list[str]:
        error = ProcessingError("a function raised")
        error.__cause__ = Py4JError("at org.apache.spark.Deep.down(Deep.scala:1)")
        try:
            raise error
        except ProcessingError:
            return traceback.format_exception(without_internals(error))

    assert frames() == ["headrace.errors.ProcessingError: a function raised\n"]
    monkeypatch.setenv("HEADRACE_DEBUG", "1")
    assert "Deep.scala" in "".join(frames())


def test_the_traceback_of_a_function_begins_with_its_own_line() -> None:
    def fail(key: Any, value: Any) -> Any:
        raise ValueError("no")

    builder = StreamsBuilder()
    builder.stream("in").group_by_key().count().filter(fail)
    with TopologyTestDriver(builder.build()) as driver:
        with pytest.raises(StoreError) as raised:
            driver.create_input_topic("in").pipe_input("k", "v")
        shown = "".join(traceback.format_exception(without_internals(raised.value)))
    assert "in fail" in shown
    assert "table_filter.py" not in shown and "fusion.py" not in shown


def test_a_handler_that_answers_nothing_ends_it_and_says_so(app: Streams, caplog: pytest.LogCaptureFixture) -> None:
    app.on_uncaught_exception(lambda error: None)  # type: ignore[arg-type, return-value]
    app.start()
    EngineDouble.last.fail(ProcessingError("a function raised"))

    assert has_ended(app)
    assert "returned None, which is no StreamThreadExceptionResponse" in caplog.text


def test_a_thread_that_is_replaced_runs_again(app: Streams) -> None:
    heard: list[BaseException] = []
    running_again = threading.Event()

    def handler(error: BaseException) -> StreamThreadExceptionResponse:
        heard.append(error)
        return REPLACE

    app.on_uncaught_exception(handler)
    seen = states_of(app)
    app.start()
    app._states.listen(lambda new, old: running_again.set() if new is StreamsState.RUNNING else None)
    EngineDouble.last.fail(ProcessingError("once"))

    assert running_again.wait(30)
    assert [str(error) for error in heard] == ["once"]
    assert EngineDouble.last.starts == 2
    assert seen == ["REBALANCING", "RUNNING", "REBALANCING", "RUNNING"]


def test_a_broker_that_does_not_answer_is_waited_for_without_asking_anybody(app: Streams) -> None:
    app.on_uncaught_exception(lambda error: pytest.fail("asked"))
    seen = states_of(app)
    running_again = threading.Event()
    app.start()
    engine = EngineDouble.last
    engine.renewed.clear()
    engine.fenced = BrokerUnreachableError("Kafka at somewhere:9092 does not answer")
    app._states.listen(lambda new, old: running_again.set() if new is StreamsState.RUNNING else None)
    engine.fail(BrokerUnreachableError("read lines-0: Kafka at somewhere:9092 does not answer"))

    assert engine.renewed.wait(30)
    assert app.state is StreamsState.REBALANCING
    assert str(app.waiting_for).startswith("read lines-0: Kafka at somewhere:9092 does not answer (since ")
    engine.fenced = None
    assert running_again.wait(30)
    assert engine.starts == 2
    assert seen == ["REBALANCING", "RUNNING", "REBALANCING", "RUNNING"]
    deadline = time.monotonic() + 30
    while app.waiting_for is not None:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_it_can_be_closed_while_it_waits_for_its_broker(app: Streams) -> None:
    app.start()
    engine = EngineDouble.last
    engine.renewed.clear()
    engine.fenced = BrokerUnreachableError("it does not answer")
    engine.fail(BrokerUnreachableError("it does not answer"))
    assert engine.renewed.wait(30)

    assert app.close()
    assert app.state is StreamsState.NOT_RUNNING


def test_who_was_replaced_while_the_broker_did_not_answer_ends(app: Streams) -> None:
    app.start()
    EngineDouble.last.fenced = FencedError("another one runs it")
    EngineDouble.last.fail(BrokerUnreachableError("it does not answer"))

    assert has_ended(app)
    assert isinstance(app.failure, FencedError)


def test_one_that_cannot_be_started_again_asks_again(app: Streams) -> None:
    heard: list[str] = []

    def handler(error: BaseException) -> StreamThreadExceptionResponse:
        heard.append(str(error))
        return REPLACE if len(heard) < 3 else CLIENT

    app.on_uncaught_exception(handler)
    app.start()
    EngineDouble.last.fails_to_start = [ProcessingError("third"), ProcessingError("second")]
    EngineDouble.last.fail(ProcessingError("first"))

    assert has_ended(app)
    assert heard == ["first", "second", "third"]
    assert app.state is StreamsState.ERROR


def test_a_start_that_is_interrupted_is_no_error(app: Streams, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(self: EngineDouble) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(EngineDouble, "start", interrupted)
    with pytest.raises(KeyboardInterrupt):
        app.start()
    assert app.state is StreamsState.NOT_RUNNING
    assert app.failure is None


def test_can_be_closed_while_it_waits_to_run_again(app: Streams) -> None:
    asked = threading.Event()

    def handler(error: BaseException) -> StreamThreadExceptionResponse:
        asked.set()
        return REPLACE

    app.on_uncaught_exception(handler)
    app.start()
    EngineDouble.last.fail(ProcessingError("once"))
    assert asked.wait(30)

    assert app.close()
    assert app.state is StreamsState.NOT_RUNNING


def test_a_handler_may_close_the_application(app: Streams) -> None:
    app.on_uncaught_exception(lambda error: (app.close(), REPLACE)[1])
    app.start()
    EngineDouble.last.fail(ProcessingError("once"))

    assert has_ended(app)
    assert app.state is StreamsState.NOT_RUNNING


def test_one_that_was_taken_over_ends_whatever_the_handler_wants(app: Streams, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "RENEWAL_SECONDS", 0.01)
    app.on_uncaught_exception(lambda error: REPLACE)
    app.start()
    EngineDouble.last.fenced = FencedError("application app was taken over", hint="Stop this process.")

    with pytest.raises(FencedError, match="application app was taken over"):
        app.wait()
    assert app.state is StreamsState.ERROR


def test_the_lease_is_renewed_while_nothing_happens(app: Streams, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "RENEWAL_SECONDS", 0.01)
    with app:
        assert EngineDouble.last.renewed.wait(30)


def test_the_lease_is_renewed_while_a_restore_listener_takes_its_time(
    app: Streams, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(background, "RENEWAL_SECONDS", 0.01)
    note = RestoreNote("counts", "app-counts-changelog", 0, 0, 5, 1, 1)
    monkeypatch.setattr(background, "read_notes", lambda home: [note])
    called, may_return = threading.Event(), threading.Event()

    def slow(event: RestoreEvent) -> None:
        called.set()
        may_return.wait(60)

    app.on_restore(slow)
    with app:
        assert called.wait(30)
        EngineDouble.last.renewed.clear()
        is_renewed = EngineDouble.last.renewed.wait(30)
        may_return.set()
    assert is_renewed


def test_waiting_ends_with_the_time(app: Streams) -> None:
    with app:
        assert not app.wait(timeout=timedelta(milliseconds=10))
    assert app.wait()


def test_waiting_for_what_was_never_started_is_an_error(app: Streams) -> None:
    with pytest.raises(IllegalStateError, match="has not been started"):
        app.wait()


def test_pauses_and_resumes_in_the_same_state(app: Streams) -> None:
    with app:
        app.pause()
        assert app.is_paused
        assert not EngineDouble.last.is_on
        assert app.state is StreamsState.RUNNING

        app.resume()
        assert not app.is_paused
        assert EngineDouble.last.is_on


def test_one_that_is_paused_before_its_start_waits_for_resume(app: Streams) -> None:
    app.pause()
    with app:
        assert app.state is StreamsState.RUNNING
        assert EngineDouble.last.starts == 0
        app.resume()
        assert EngineDouble.last.starts == 1


def test_threads_come_and_go_under_the_names_of_kafka_streams(make_app: MakeApp) -> None:
    app = make_app(num_stream_threads=2)
    assert app.add_stream_thread() is None
    with app:
        assert app.add_stream_thread() == "client-StreamThread-3"
        assert app.remove_stream_thread() == "client-StreamThread-1"
        assert app.add_stream_thread() == "client-StreamThread-1"
        assert EngineDouble.last.threads == [2, 3, 2, 3]
        assert app.state is StreamsState.RUNNING
    assert app.remove_stream_thread() is None


def test_new_topics_are_taken_in_by_another_start(app: Streams) -> None:
    states: list[StreamsState] = []
    app.on_state_change(lambda new, old: states.append(new))
    with app:
        supervisor = app._running().supervisor
        supervisor.follow_topics()
        assert EngineDouble.last.starts == 1
        EngineDouble.last.has_new_topics = True
        supervisor.follow_topics()
        assert EngineDouble.last.starts == 2
        assert states == [StreamsState.REBALANCING, StreamsState.RUNNING] * 2
        app.pause()
        EngineDouble.last.has_new_topics = True
        supervisor.follow_topics()
        assert not EngineDouble.last.is_on
        assert not EngineDouble.last.has_new_topics


def test_without_threads_nothing_is_processed_until_one_is_added(app: Streams) -> None:
    with app:
        assert app.remove_stream_thread() == "client-StreamThread-1"
        assert not EngineDouble.last.is_on
        assert app.remove_stream_thread() is None
        assert app.add_stream_thread() == "client-StreamThread-1"
        assert EngineDouble.last.is_on


def test_functions_are_set_before_the_start_only(app: Streams) -> None:
    with app:
        for setter in (app.on_state_change, app.on_restore, app.on_batch, app.on_uncaught_exception):
            with pytest.raises(IllegalStateError, match=r"can only be set before start\(\); the state is RUNNING"):
                setter(print)  # type: ignore[arg-type]


def test_what_is_no_function_is_refused(app: Streams) -> None:
    with pytest.raises(OperatorTypeError, match="a restore listener must be callable, found 3"):
        app.on_restore(3)  # type: ignore[arg-type]


def test_stores_can_be_asked_while_it_runs_only(app: Streams) -> None:
    with pytest.raises(IllegalStateError, match="is not running: its state is CREATED"):
        app.store("counts")
    with app:
        assert app.store("counts").get("a") is None
    with pytest.raises(IllegalStateError, match="its state is NOT_RUNNING"):
        app.store("counts")


def test_cleans_up_while_it_does_not_run_only(app: Streams, tmp_path: Path) -> None:
    task = tmp_path / "state" / "app" / "0_0"
    task.mkdir(parents=True)
    app.clean_up()
    assert not task.exists()

    with app, pytest.raises(IllegalStateError, match="cannot be cleaned up while the application runs"):
        app.clean_up()

    task.mkdir(parents=True)
    app.clean_up()
    assert not task.exists()


def test_counts_what_batches_report(app: Streams) -> None:
    reports: list[BatchReport] = []
    app.on_batch(reports.append)
    with app:
        EngineDouble.last.on_batch(BatchReport(0, 5, 3, 40, 1, {"null key": 2}))
        EngineDouble.last.on_batch(BatchReport(1, 1, 1, 60, 1))
        values = {(name.name, *dict(name.tags).values()): value for name, value in app.metrics().items()}

    assert [report.batch_id for report in reports] == [0, 1]
    assert values["records-consumed-total", "client"] == 6
    assert values["record-send-total", "client"] == 4
    assert values["dropped-records-total", "client"] == 2
    assert values["dropped-records-total", "client", "null key"] == 2
    assert values["commit-total", "client"] == 2
    assert (values["commit-latency-avg", "client"], values["commit-latency-max", "client"]) == (50, 60)
    assert values["last-batch-ms", "client"] == 60
    assert values["alive-stream-threads", "client"] == 1
    assert values["records-lag-max", "client"] == 0


def test_takes_topologies_that_read_something(tmp_path: Path) -> None:
    with pytest.raises(TopologyError, match="the topology reads no topic"):
        Streams(StreamsBuilder().build(), {"application.id": "app"})
    with pytest.raises(OperatorTypeError, match="Streams takes a topology, found StreamsBuilder"):
        Streams(StreamsBuilder(), {"application.id": "app"})  # type: ignore[arg-type]


def test_an_application_has_a_name() -> None:
    builder = StreamsBuilder()
    builder.stream("in").to("out")
    with pytest.raises(ConfigError, match=r"application\.id is not set"):
        Streams(builder.build(), {})
