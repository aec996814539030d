"""Hosts: they keep tasks open, are found again, may die, and never stay behind."""

from __future__ import annotations

import os
import shutil
import signal
import stat
import subprocess
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from headrace.private_directories import make_private
from headrace.spark.engine import SparkEngine
from headrace.spark.host_wire import directory_of, process_at, sign_on
from headrace.spark.hosts import end_hosts, host_of, remove_abandoned
from tests.faults.scene import IS_LONG, Scene, topology
from tests.integration.spark import children
from tests.integration.spark.processes import parent_of, state_of, tree, wait_for

ENDS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)
SECONDS = 120.0


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path, poison_each=13)


@pytest.fixture
def engine(scene: Scene, spark: SparkSession, request: pytest.FixtureRequest) -> Iterator[SparkEngine]:
    scene.send(40)
    settings = scene.settings(**getattr(request, "param", {}))
    with scene.broker() as broker, SparkEngine(topology(), settings, broker, session=spark) as engine:
        engine.run_until_idle()
        yield engine


def home_of(engine: SparkEngine) -> Path:
    """Where the hosts of this engine listen; there may be hosts of others on the machine."""
    assert engine._query is not None
    return directory_of(engine._query._job.run)


def pids_in(home: Path) -> set[int]:
    # Tests beside this one remove theirs meanwhile.
    with suppress(FileNotFoundError):
        return {pid for file in home.glob("*.pid") if (pid := process_at(file.with_suffix("")))}
    return set()


def pids_of_all() -> set[int]:
    return {pid for home in directory_of("").iterdir() for pid in pids_in(home)}


def pids_below(driver: subprocess.Popen[bytes]) -> set[int]:
    return pids_of_all().intersection(children.workers_of(driver))


def is_gone(pid: int) -> bool:
    return state_of(pid) in ("", "Z")


def test_the_same_hosts_serve_every_batch_and_end_with_the_engine(scene: Scene, engine: SparkEngine) -> None:
    home = home_of(engine)
    first = pids_in(home)
    for _ in range(3):
        scene.send(20)
        engine.run_until_idle()
        assert first and pids_in(home) == first and not any(map(is_gone, first))
    engine.close()
    wait_for(lambda: all(map(is_gone, first)), "the hosts to end", SECONDS)
    assert not home.exists()
    scene.check()


def test_others_cannot_look_into_the_directory_of_the_sockets(engine: SparkEngine) -> None:
    home = home_of(engine)
    assert stat.S_IMODE(home.stat().st_mode) == stat.S_IMODE(home.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize(
    "break_",
    [
        lambda pid, home: os.kill(pid, signal.SIGKILL),
        lambda pid, home: _forget(home),
        lambda pid, home: shutil.rmtree(home, ignore_errors=True),
    ],
)
def test_a_host_that_died_or_cannot_be_found_is_replaced_and_nothing_is_lost(
    scene: Scene, engine: SparkEngine, break_: Callable[[int, Path], None]
) -> None:
    home = home_of(engine)
    for pid in pids_in(home):
        break_(pid, home)
    scene.send(40)
    engine.run_until_idle()
    scene.check()


def test_what_a_function_forked_does_not_keep_the_place_of_its_host() -> None:
    run = uuid.uuid4().hex
    path = directory_of(run) / "0"
    make_private(path.parent)
    dead = os.fork()
    if not dead:
        try:
            os.setsid()
            with sign_on(path):
                # It is killed; what it forked has its files.
                if os.fork():
                    os.kill(os.getpid(), signal.SIGKILL)
                time.sleep(60)
        finally:
            os._exit(1)
    os.waitpid(dead, 0)
    try:
        with host_of(run, 0, 5.0) as host:
            assert process_at(path) == host.peer[0] != dead
    finally:
        end_hosts(run)


def _forget(home: Path) -> None:
    """Remove the sockets."""
    for path in home.iterdir():
        if path.is_socket():
            path.unlink()


@pytest.mark.parametrize("engine", [{"consumer.session.timeout.ms": 4_000}], indirect=True, ids=["4 s"])
def test_a_host_that_gives_no_sign_of_life_is_ended_and_the_batch_goes_on(scene: Scene, engine: SparkEngine) -> None:
    stopped = pids_in(home_of(engine))
    for pid in stopped:
        os.kill(pid, signal.SIGSTOP)
    scene.send(40)
    engine.run_until_idle()
    assert all(map(is_gone, stopped))
    scene.check()


@pytest.mark.parametrize("number", ENDS if IS_LONG else ENDS[:2])
def test_no_process_and_no_directory_stays_behind_when_the_driver_is_ended(
    scene: Scene, number: signal.Signals
) -> None:
    scene.send(40)
    with children.running(scene, mode="forever") as driver:
        pids = wait_for(lambda: pids_below(driver), "hosts")
        (home,) = (home for home in directory_of("").iterdir() if pids & pids_in(home))
        everything = tree(driver.pid)
        driver.send_signal(number)
        driver.wait(SECONDS)
        wait_for(lambda: all(map(is_gone, everything)), "all processes to end", SECONDS)
    # The next application does it.
    remove_abandoned()
    assert not home.exists()


def test_no_host_stays_behind_when_the_jvm_is_killed(scene: Scene) -> None:
    scene.send(40)
    with children.running(scene, mode="forever") as driver:
        pids = wait_for(lambda: pids_below(driver), "hosts")
        for jvm in children.jvm_of(driver):
            children.kill(jvm)
        wait_for(lambda: all(map(is_gone, pids)), "the hosts to end", SECONDS)


def test_no_host_stays_behind_whose_worker_outlived_the_process_that_workers_come_from(scene: Scene) -> None:
    scene.send(40)
    with children.running(scene, mode="forever") as driver:
        first = wait_for(lambda: pids_below(driver), "hosts")
        (home,) = (home for home in directory_of("").iterdir() if first & pids_in(home))
        for pid in {parent_of(parent_of(pid)) for pid in first}.intersection(children.workers_of(driver)):
            children.kill(pid)
        wait_for(lambda: all(map(is_gone, first)), "the hosts to end", SECONDS)
        scene.send(40)
        pids = wait_for(lambda: pids_in(home), "new hosts")
        children.kill(driver.pid)
        driver.wait(SECONDS)
        wait_for(lambda: all(map(is_gone, pids)), "the hosts to end", SECONDS)
