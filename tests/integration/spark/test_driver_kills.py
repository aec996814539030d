"""Rows K1, K4, K5, Z1 and Z2: drivers, JVMs, executors that die or sleep, for real. The next one goes on exactly."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pyspark
import pytest
from pyspark.sql import SparkSession

from headrace import failpoints
from headrace.batch.runner import AFTER_COMMIT, AFTER_JOB, BEFORE_JOB
from headrace.broker import crash_points
from headrace.spark.engine import SparkEngine
from tests.faults.scene import APPLICATION, IS_LONG, Scene, topology
from tests.integration.spark import children
from tests.integration.spark.processes import state_of, tree, wait_for

PLACES = (
    BEFORE_JOB,
    AFTER_JOB,
    crash_points.BEFORE_CATALOG,
    crash_points.INSIDE_CATALOG,
    crash_points.AFTER_CATALOG,
    AFTER_COMMIT,
)


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    """Events wait, large enough for segments in files of their own."""
    scene = Scene(tmp_path, poison_each=13)
    scene.send(60, padding=4000)
    return scene


def test_a_driver_killed_at_any_place_of_the_commit_loses_and_doubles_nothing(scene: Scene) -> None:
    # Each place takes a JVM that starts; the engine in one process is killed at all of them every time.
    for place in PLACES if IS_LONG else PLACES[1::3]:
        scene.send(60, padding=4000)
        code, said = children.run(scene, {failpoints.VARIABLE: f"{place}:2:kill"}, batch=40)
        assert code == -signal.SIGKILL, f"{place}: {said}"
    code, said = children.run(scene, batch=100, threads=1)
    assert code == 0, said
    assert "threads 1" in said
    scene.check()


def test_a_jvm_that_is_killed_fails_the_query_with_a_cause_and_a_new_start_goes_on(scene: Scene) -> None:
    mark = scene.directory / "mark"
    with children.running(scene, children.pausing("visit.started", mark), mode="again") as process:
        assert _process_at(mark, process) != process.pid
        workers = children.workers_of(process)
        for jvm in children.jvm_of(process):
            children.kill(jvm)
        code, said = process.wait(children.SECONDS), children.said_by(scene)
    assert code == 0, said
    assert "failure StreamsError: Spark's JVM ended: signal 9" in said
    assert workers
    wait_for(lambda: not any(map(state_of, workers)), "the workers of that JVM to end")
    scene.check()


def test_an_executor_that_is_killed_in_a_batch_costs_a_retry_and_nothing_else(scene: Scene) -> None:
    mark = scene.directory / "mark"
    environment = {**children.pausing("state.between-stores", mark), "SPARK_HOME": str(_spark_home(scene))}
    with children.running(scene, environment, batch=60, master="local-cluster[2,1,1024]") as process:
        sleeper = _process_at(mark, process)
        executors = children.executors_of(process)
        assert len(executors) == 2
        children.kill(next(each for each in executors if sleeper in tree(each)))
        wait_for(lambda: state_of(sleeper) in ("", "Z"), "the host of that executor to end")
        code = process.wait(children.SECONDS)
    assert code == 0, children.said_by(scene)
    scene.check()


def test_a_driver_that_slept_through_its_lease_is_fenced_and_leaves_no_phantom(
    scene: Scene, spark: SparkSession
) -> None:
    mark = scene.directory / "mark"
    with children.running(scene, children.pausing(crash_points.BEFORE_CATALOG, mark, "stop"), batch=200) as process:
        wait_for(lambda: process.poll() is not None or state_of(process.pid) == "T", "the driver to stop")
        _let_the_lease_end(scene)
        _finish(scene, spark)
        os.kill(process.pid, signal.SIGCONT)
        code, said = process.wait(children.SECONDS), children.said_by(scene)
    assert code == 1, said
    assert "FencedError: application tally was taken over" in said
    scene.check()


def _finish(scene: Scene, spark: SparkSession) -> None:
    with scene.broker() as broker, SparkEngine(topology(), scene.settings(), broker, session=spark) as engine:
        engine.run_until_idle()
    scene.check()


def _spark_home(scene: Scene) -> Path:
    """The workers of a ``local-cluster`` write to the directory that Spark is in: here to one of the test's own."""
    home = scene.directory / "spark"
    home.mkdir()
    for each in Path(pyspark.__file__).parent.iterdir():
        if each.name != "work":
            (home / each.name).symlink_to(each)
    return home


def _process_at(mark: Path, process: subprocess.Popen[bytes]) -> int:
    """The process that paused where it was told to."""
    wait_for(lambda: process.poll() is not None or (mark.exists() and mark.read_text()), "a pause")
    return int(mark.read_text())


def _let_the_lease_end(scene: Scene) -> None:
    """As if the time of the lease had passed."""
    with scene.broker() as broker, broker._catalog.write() as connection:
        changed = connection.execute("UPDATE leases SET expires = renewed WHERE application = ?", (APPLICATION,))
        assert changed.rowcount == 1
