"""Rows D1 to D6, K5, Z1, Z2 and M1 with hosts: what happens to a process that keeps tasks open, under their feet."""

from __future__ import annotations

import os
import resource
import shutil
import signal
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from headrace import failpoints
from headrace.batch.local import LocalEngine
from headrace.errors import HeadraceError, LeaseHeldError
from headrace.spark.engine import SparkEngine
from tests.faults import damage
from tests.faults.scene import APPLICATION, IS_LONG, Scene, topology
from tests.integration.spark import children
from tests.integration.spark.processes import stacks_noted, state_of, wait_for
from tests.integration.spark.test_hosts import SECONDS, home_of, is_gone, pids_below, pids_in, pids_of_all

POINTS = ("state.before-chunk:2:enospc", "state.after-version:1:raise", "segment-written:1:enospc")
"""Where the disk fails in a host, and how."""


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path, poison_each=13)


@pytest.fixture
def engine(scene: Scene, spark: SparkSession) -> Iterator[SparkEngine]:
    scene.send(40)
    with scene.broker() as broker, SparkEngine(topology(), scene.settings(), broker, session=spark) as engine:
        engine.run_until_idle()
        yield engine


def limit(engine: SparkEngine, kind: int, size: int) -> None:
    """Give the hosts there are no more than this of something; hosts that are made later have it all."""
    for pid in pids_in(home_of(engine)):
        resource.prlimit(pid, kind, (size, size))


def signal_all(pids: Iterable[int], number: signal.Signals) -> None:
    for pid in pids:
        os.kill(pid, number)


def finish(scene: Scene, spark: SparkSession) -> None:
    """Go on with more events: only tasks that are visited bring their stores back."""
    scene.send(40)
    with scene.broker() as broker, SparkEngine(topology(), scene.settings(), broker, session=spark) as engine:
        engine.run_until_idle()
    scene.check()


def test_a_host_with_a_full_disk_stops_the_query_with_the_path_and_it_goes_on_with_space(
    scene: Scene, engine: SparkEngine, spark: SparkSession
) -> None:
    limit(engine, resource.RLIMIT_FSIZE, 1000)
    scene.send(60, padding=4000)
    with pytest.raises(HeadraceError, match=str(scene.directory)) as raised:
        engine.run_until_idle()
    assert "File too large" in f"{raised.value} {raised.value.detail}"
    engine.close()
    finish(scene, spark)


def test_a_host_without_memory_ends_or_says_so_and_nothing_is_corrupt(
    scene: Scene, engine: SparkEngine, spark: SparkSession
) -> None:
    limit(engine, resource.RLIMIT_AS, 1 << 20)
    scene.send(400, padding=8000)
    try:
        # It dies, and the next one has enough; or it says what is missing.
        engine.run_until_idle()
    except HeadraceError as error:
        assert "emory" in f"{error} {error.detail}"
    engine.close()
    finish(scene, spark)


@pytest.mark.parametrize("removed", ["", APPLICATION, f"{APPLICATION}/1_0", f"{APPLICATION}/1_0/rocksdb/totals"])
def test_state_that_is_deleted_under_open_tasks_comes_back(
    scene: Scene, engine: SparkEngine, spark: SparkSession, removed: str
) -> None:
    shutil.rmtree(scene.state_dir / removed)
    scene.send(40)
    try:
        engine.run_until_idle()
    except HeadraceError as error:
        assert str(scene.state_dir) in f"{error} {error.detail}"
    engine.close()
    finish(scene, spark)


def test_a_store_that_is_damaged_under_an_open_task_is_restored_by_the_next_host(
    scene: Scene, engine: SparkEngine, spark: SparkSession
) -> None:
    found = sorted((scene.state_dir / APPLICATION).glob("1_*/rocksdb/totals/*.log"))
    assert found
    for path in found:
        content = path.read_bytes()
        path.write_bytes(damage.flip(content, len(content) // 2))
    signal_all(pids_in(home_of(engine)), signal.SIGKILL)
    scene.send(40)
    engine.run_until_idle()
    engine.close()
    scene.check()


def test_an_engine_in_one_process_and_one_on_spark_do_not_run_one_application_at_once(
    scene: Scene, engine: SparkEngine, spark: SparkSession
) -> None:
    with closing(scene.broker()) as other:
        with pytest.raises(LeaseHeldError, match="is already running"):
            LocalEngine(topology(), scene.settings(), other)
        engine.close()
        scene.send(40)
        with LocalEngine(topology(), scene.settings(), other) as local:
            local.run_until_idle()
            with closing(scene.broker()) as third, pytest.raises(LeaseHeldError, match="is already running"):
                SparkEngine(topology(), scene.settings(), third, session=spark)
    finish(scene, spark)


def test_a_host_that_is_stopped_and_has_lost_its_driver_is_ended_by_the_next_start(
    scene: Scene, engine: SparkEngine, spark: SparkSession
) -> None:
    engine.close()
    scene.send(40)
    with stacks_noted(scene.directory / "stacks", pids_of_all), children.running(scene, mode="forever") as driver:
        stopped = wait_for(lambda: pids_below(driver), "hosts")
        wait_for(lambda: len(list((scene.state_dir / APPLICATION).glob("*_*/.lock"))) >= 4, "open tasks")
        signal_all(stopped, signal.SIGSTOP)
        wait_for(lambda: all(state_of(pid) == "T" for pid in stopped), "the hosts to stop")
        children.kill(driver.pid)
        driver.wait(SECONDS)
        finish(scene, spark)
        assert all(map(is_gone, stopped))


def test_a_disk_that_fails_in_a_host_stops_the_driver_with_a_cause_and_it_goes_on(scene: Scene) -> None:
    for point in POINTS if IS_LONG else POINTS[:1]:
        scene.send(60, padding=4000)
        code, said = children.run(scene, {failpoints.VARIABLE: point}, batch=40)
        assert code == 1, f"{point}: {said}"
        assert "No space left" in said or "Input/output error" in said, f"{point}: {said}"
    code, said = children.run(scene, batch=100)
    assert code == 0, said
    scene.check()
