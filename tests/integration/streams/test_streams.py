"""Applications on both engines: they process, fail, are paused, and go on where they were."""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import headrace
from headrace import Streams, StreamsBuilder, StreamsState, StreamThreadExceptionResponse, Topology
from headrace.broker.port import Broker, NewRecord
from headrace.errors import LeaseHeldError, MissingOutputTopicError, ProcessingError, StreamsError, UpgradeError
from headrace.lifecycle.restores import RestoreEvent, RestoreStep
from headrace.spark.query import BatchQuery
from tests.integration.streams.conftest import ON_SPARK, MakeApp, send


def word_count() -> Topology:
    builder = StreamsBuilder()
    builder.stream("lines").flat_map_values(str.split).group_by(lambda key, word: word).count("counts")
    return builder.build()


def counts(app: Streams) -> dict[str, int]:
    return dict(app.store("counts").all())


def test_goes_on_exactly_where_it_was_and_restores_what_is_lost(
    broker: Broker, make_app: MakeApp, tmp_path: Path
) -> None:
    broker.create_topic("lines", 2)
    send(broker, "lines", "a b a", "c")
    with make_app(word_count()) as app:
        assert app.run_until_idle() >= 1
        assert counts(app) == {"a": 2, "b": 1, "c": 1}
        assert {row["key"]: row["value"] for row in app.store_arrow("counts").to_pylist()} == counts(app)
        assert dict(app.store_pandas("counts")[["key", "value"]].to_numpy()) == counts(app)
        with pytest.raises(LeaseHeldError, match=r"application app is already running: process \d+ on host .*, since "):
            make_app(word_count()).start()

    send(broker, "lines", "a c")
    with make_app(word_count()) as app:
        app.run_until_idle()
        assert counts(app) == {"a": 3, "b": 1, "c": 2}
        metrics = {name.name: value for name, value in app.metrics().items() if len(name.tags) == 1}
    assert metrics["records-consumed-total"] == 1
    assert metrics["records-lag-max"] == 0

    shutil.rmtree(tmp_path / "state")
    events: list[RestoreEvent] = []
    send(broker, "lines", "b", "b a", "c")
    app = make_app(word_count())
    app.on_restore(events.append)
    with app:
        app.run_until_idle()
        assert counts(app) == {"a": 4, "b": 3, "c": 3}
    ends = [event for event in events if event.step is RestoreStep.END]
    assert {(event.store, event.topic) for event in ends} == {("counts", "app-counts-changelog")}
    assert sum(event.restored for event in ends) >= 3


def test_a_paused_application_processes_nothing_until_it_is_resumed(broker: Broker, make_app: MakeApp) -> None:
    broker.create_topic("lines")
    reports: list[Any] = []
    app = make_app(word_count())
    app.on_batch(reports.append)
    app.pause()
    with app:
        send(broker, "lines", "a")
        assert app.run_until_idle() == 0
        app.resume()
        app.run_until_idle()
        assert counts(app) == {"a": 1}
        app.pause()
        seen = len(reports)
        send(broker, "lines", "a")
        assert app.run_until_idle() == 0
        assert len(reports) == seen
        assert app.state is StreamsState.RUNNING
        app.resume()
        app.run_until_idle()
        assert counts(app) == {"a": 2}


def test_a_function_that_raises_ends_the_application_and_is_named(broker: Broker, make_app: MakeApp) -> None:
    broker.create_topic("numbers")
    send(broker, "numbers", "1", "one")
    builder = StreamsBuilder()
    builder.stream("numbers").map_values(int, name="parse").map_values(str).to("parsed")
    heard: list[BaseException] = []
    app = make_app(builder.build())

    def handler(error: BaseException) -> StreamThreadExceptionResponse:
        heard.append(error)
        return StreamThreadExceptionResponse.SHUTDOWN_APPLICATION

    app.on_uncaught_exception(handler)
    app.start()
    with pytest.raises(ProcessingError) as caught:
        app.wait()

    assert heard == [caught.value]
    assert caught.value.at is not None
    assert "parse" in caught.value.at
    assert "numbers-0@1" in caught.value.at
    assert caught.value.at.startswith(f"{__file__}:")
    assert caught.value.message == "ValueError: invalid literal for int() with base 10: 'one'"
    assert app.state is StreamsState.ERROR
    assert broker.lease_owner("app") is None
    assert broker.end_offsets([("parsed", 0)]) == {("parsed", 0): 0}


@ON_SPARK
def test_a_query_that_does_not_answer_ends_the_application_for_all_who_wait(
    broker: Broker, make_app: MakeApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(BatchQuery, "_on_round", lambda *_: time.sleep(0.1))
    monkeypatch.setattr("headrace.spark.query._BEGIN_SECONDS", 2.0)
    broker.create_topic("in")
    builder = StreamsBuilder()
    builder.stream("in").to("out")
    app = make_app(builder.build())
    app.start()
    with pytest.raises(StreamsError, match="for Spark to begin a round"):
        app.run_until_idle()
    with pytest.raises(StreamsError, match="for Spark to begin a round"):
        app.wait(timeout=timedelta(seconds=60))
    assert app.state is StreamsState.ERROR


def test_a_batch_that_failed_runs_again_where_the_handler_says_so(
    broker: Broker, make_app: MakeApp, tmp_path: Path
) -> None:
    broker.create_topic("lines")
    send(broker, "lines", "a", "b")
    mended = tmp_path / "mended"

    def shout(line: str) -> str:
        if not mended.exists():
            raise OSError("the database is away")
        return line.upper()

    def handler(error: BaseException) -> StreamThreadExceptionResponse:
        mended.touch()
        return StreamThreadExceptionResponse.REPLACE_THREAD

    builder = StreamsBuilder()
    builder.stream("lines").map_values(shout).to("loud")
    app = make_app(builder.build())
    app.on_uncaught_exception(handler)
    done: list[int] = []
    app.on_batch(lambda report: done.append(report.records))
    with app:
        app._states.wait_for(StreamsState.REBALANCING, timeout=120)
        assert app._states.wait_for(StreamsState.RUNNING, timeout=120)
        app.run_until_idle()
    assert done == [2]
    assert [record[5] for records in broker.read("loud", 0, 0) for record in records] == [b"A", b"B"]


def test_topics_that_appear_and_match_a_pattern_are_read_while_it_runs(broker: Broker, make_app: MakeApp) -> None:
    broker.create_topic("lines-1", 2)
    send(broker, "lines-1", "a b", "a")
    builder = StreamsBuilder()
    lines = builder.stream(re.compile("lines-.*"))
    lines.flat_map_values(str.split).group_by(lambda key, word: word).count("counts")
    app = make_app(builder.build(), **{"metadata.max.age.ms": 300})
    states: list[StreamsState] = []
    app.on_state_change(lambda new, old: states.append(new))
    with app:
        app.run_until_idle()
        store = app.store("counts")
        assert dict(store.all()) == {"a": 2, "b": 1}
        broker.create_topic("lines-2", 1)
        broker.create_topic("other", 1)
        send(broker, "lines-2", "a c", "c")
        send(broker, "lines-1", "d")
        _wait_for(lambda: dict(store.all()) == {"a": 3, "b": 1, "c": 2, "d": 1})
        # Batches run a moment before that is said.
        _wait_for(lambda: states == [StreamsState.REBALANCING, StreamsState.RUNNING] * 2)


def test_a_topic_that_appears_with_more_partitions_than_there_is_state_for_is_an_error(
    broker: Broker, make_app: MakeApp
) -> None:
    broker.create_topic("lines-1", 1)
    builder = StreamsBuilder()
    builder.stream(re.compile("lines-.*")).group_by_key().count("counts")
    app = make_app(builder.build(), **{"metadata.max.age.ms": 300})
    app.start()
    app.run_until_idle()
    broker.create_topic("lines-2", 3)
    with pytest.raises(UpgradeError, match="counts cannot go on with the state"):
        app.wait()


def test_partitions_that_are_added_are_read_and_a_deleted_output_is_an_error(broker: Broker, make_app: MakeApp) -> None:
    broker.create_topic("in")
    broker.create_topic("out", 2)
    builder = StreamsBuilder()
    builder.stream("in").to("out")
    app = make_app(builder.build(), **{"metadata.max.age.ms": 300})
    app.start()
    app.run_until_idle()
    broker.alter_topic("in", partitions=2)
    broker.append([NewRecord("in", b"k", b"v", partition=1)])
    _wait_for(lambda: sum(broker.end_offsets([("out", 0), ("out", 1)]).values()) == 1)
    _wait_for(lambda: broker.lag("app") == {("in", 0): 0, ("in", 1): 0})

    broker.delete_topic("out")
    broker.append([NewRecord("in", b"k", b"w", partition=1)])
    with pytest.raises(MissingOutputTopicError, match="topics were deleted while the application runs: out"):
        app.wait(timedelta(seconds=120))
    assert "out" not in broker.topics()


@ON_SPARK
def test_topics_and_stores_are_dataframes_of_any_session(broker: Broker, make_app: MakeApp, spark: Any) -> None:
    broker.create_topic("lines", 2)
    send(broker, "lines", "a b a", "c")
    with headrace.topics(broker.address) as topics:
        assert {row.value for row in topics.to_spark("lines", spark).collect()} == {"a b a", "c"}
        with make_app(word_count()) as app:
            app.run_until_idle()
            rows = topics.store_dataframe("app", "counts", value_serde="long").collect()
            assert {row.key: row.value for row in rows} == counts(app)
            assert {row.key: row.value for row in app.store_dataframe("counts").collect()} == counts(app)


def _wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.1)
