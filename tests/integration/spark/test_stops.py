"""Stopping comes to an end at every moment, and nothing is lost or doubled by it."""

from __future__ import annotations

import shutil
import threading
import time
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from headrace import Streams, StreamsState
from headrace.batch.reports import BatchUnderWay
from headrace.broker.embedded import EmbeddedBroker
from headrace.spark.engine import SparkEngine
from headrace.spark.query import BatchQuery
from tests.faults.scene import Scene, topology
from tests.integration.batch.programs import append, final_counts, settings, word_count
from tests.integration.spark.random_stops import Run

STOPS = 20
SECONDS = 120.0
"""What waits for itself never ends; a busy machine takes its time."""


def test_it_stops_at_the_moment_when_a_batch_is_about_to_begin(
    tmp_path: Path, broker: EmbeddedBroker, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker.create_topic("lines")
    append(broker, "lines", [("k", "one two one")])
    about_to_begin, may_begin = threading.Event(), threading.Event()
    begin = BatchQuery._on_round

    def begin_late(query: BatchQuery, ranges: DataFrame, number: int) -> None:
        about_to_begin.set()
        may_begin.wait(2)
        begin(query, ranges, number)

    monkeypatch.setattr(BatchQuery, "_on_round", begin_late)
    engine = SparkEngine(word_count(), settings(tmp_path), broker, session=spark)
    engine.start()
    assert about_to_begin.wait(120)
    stopping = threading.Thread(target=engine.stop, daemon=True)
    stopping.start()
    stopping.join(SECONDS)
    assert not stopping.is_alive(), "stop waits for the batch, and the batch for stop"
    may_begin.set()
    engine.run_until_idle()
    engine.close()
    assert final_counts(broker) == {"one": 2, "two": 1}


def test_it_stops_at_random_moments_under_load_and_every_record_counts_once(
    tmp_path: Path, spark: SparkSession
) -> None:
    run = Run(tmp_path, spark, seed=1, limit=SECONDS)
    for _ in range(STOPS):
        run.next_stop()
    run.finish()
    assert set(run.ways) == {"while_running", "while_starting", "by_two"}


def test_listeners_of_states_batches_and_restores_can_close_it(tmp_path: Path, spark: SparkSession) -> None:
    scene = Scene(tmp_path)
    for way in ("on_batch", "on_state_change", "on_restore"):
        scene.send(50)
        shutil.rmtree(scene.state_dir, ignore_errors=True)
        own = {"bootstrap.servers": f"embedded:{scene.broker_dir}", "max.records.per.batch": 20}
        app = Streams(topology(), scene.settings(**own), spark=spark)
        answers: list[bool] = []
        getattr(app, way)(lambda *_, app=app, answers=answers: answers.append(app.close()))
        app.start()
        assert app._states.wait_for(StreamsState.NOT_RUNNING, timeout=120), way
        assert answers, way
    with Streams(topology(), scene.settings(**own), spark=spark) as app:
        app.run_until_idle()
    scene.check()


def test_what_runs_is_told_while_it_runs(tmp_path: Path, broker: EmbeddedBroker, spark: SparkSession) -> None:
    broker.create_topic("lines")
    append(broker, "lines", [("k", "one two one")] * 3)
    seen: list[BatchUnderWay | None] = []
    with SparkEngine(word_count(), settings(tmp_path), broker, session=spark) as engine:
        run = engine._coordinator.decide
        engine._coordinator.decide = lambda *given: seen.append(engine.batch_under_way) or run(*given)  # type: ignore
        engine.run_until_idle()
        assert engine.batch_under_way is None
    assert seen[0] is not None
    assert (seen[0].number, seen[0].records) == (0, 3)
    assert 0 <= time.time() - seen[0].since < 120
