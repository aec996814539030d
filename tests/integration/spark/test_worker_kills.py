"""Rows K1 and K4: Python workers that are killed at every named place of a visit. The query goes on by itself."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from pyspark.sql import SparkSession

from headrace.batch.reports import BatchReport
from headrace.batch.visiting import STAGED, STARTED, STORES_WRITTEN
from headrace.broker import crash_points
from headrace.spark.engine import SparkEngine
from headrace.state.rocksdb.task_databases import FAILPOINTS
from tests.faults.scene import Scene
from tests.integration.spark import programs
from tests.integration.spark.processes import wait_for

PLACES = (STARTED, *FAILPOINTS, STORES_WRITTEN, crash_points.SEGMENT_WRITTEN, STAGED)
AFTER_A_WRITTEN_STORE = {"state.after-undo": "state.after-version"}
"""Where a worker comes only when another one has died at the other place."""


def test_a_worker_killed_at_any_place_of_a_visit_costs_a_retry_and_nothing_else(
    tmp_path: Path, spark: SparkSession
) -> None:
    scene = Scene(tmp_path)
    scene.send(10)
    batches: list[BatchReport] = []
    with (
        scene.broker() as broker,
        SparkEngine(
            programs.sabotaged(tmp_path), scene.settings(), broker, session=spark, on_batch=batches.append
        ) as engine,
    ):
        engine.run_until_idle()
        for place in PLACES:
            armed = {place, AFTER_A_WRITTEN_STORE.get(place, place)}
            for each in armed:
                (tmp_path / f"{each}.done").unlink(missing_ok=True)
                (tmp_path / f"{each}.armed").touch()
            # Large enough for a segment in a file of its own.
            scene.send(50, padding=4000)
            engine.run_until_idle()
            assert not [each for each in armed if not (tmp_path / f"{each}.done").exists()], place
    assert len(batches) == 1 + len(PLACES)
    scene.check()


def test_a_worker_killed_from_outside_in_the_middle_of_a_batch_costs_a_retry_and_nothing_else(
    tmp_path: Path, spark: SparkSession
) -> None:
    scene = Scene(tmp_path)
    scene.send(100)
    with (
        scene.broker() as broker,
        SparkEngine(programs.waiting(tmp_path), scene.settings(), broker, session=spark) as engine,
    ):
        engine.start()
        wait_for((tmp_path / "waiting").exists, "a worker")
        os.kill(int((tmp_path / "waiting").read_text()), signal.SIGKILL)
        engine.run_until_idle()
    scene.check()
