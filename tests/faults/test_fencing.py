"""Rows Z1 and Z2: two processes for one application. One works, the other is told; a late one changes nothing."""

from __future__ import annotations

import os
import shutil
import signal
from contextlib import closing
from pathlib import Path

import pytest

from headrace import failpoints
from headrace.batch.local import LocalEngine
from headrace.broker.port import Decision
from headrace.clock import Clock
from headrace.errors import FencedError, LeaseHeldError
from tests.faults.scene import APPLICATION, Scene, topology


class Later(Clock):
    """The clock of a machine on which every lease has run out."""

    def uptime_ms(self) -> int:
        """An hour from now."""
        return super().uptime_ms() + 3_600_000


@pytest.mark.parametrize("is_elsewhere", [False, True], ids=["the same state", "a copy of the state"])
def test_a_second_instance_is_refused_and_told_who_runs(tmp_path: Path, is_elsewhere: bool) -> None:
    scene = Scene(tmp_path / "scene")
    scene.send(20)
    scene.run()
    more = {"state.dir": str(shutil.copytree(scene.state_dir, tmp_path / "copy"))} if is_elsewhere else {}
    with closing(scene.broker()) as broker, LocalEngine(topology(), scene.settings(), broker) as engine:
        with pytest.raises(
            LeaseHeldError, match=rf"{APPLICATION} is already running: process {os.getpid()} .*\n.*\n  hint"
        ):
            scene.run(more)
        scene.send(20)
        engine.run_until_idle()
    scene.check()


def test_an_older_copy_of_the_state_catches_up(tmp_path: Path) -> None:
    scene = Scene(tmp_path / "scene")
    scene.send(20)
    scene.run()
    older = shutil.copytree(scene.state_dir, tmp_path / "older")
    scene.send(20)
    scene.run()
    shutil.rmtree(scene.state_dir)
    older.rename(scene.state_dir)
    scene.send(20)
    scene.run()
    scene.check()


def test_state_of_a_batch_that_was_replaced_elsewhere_is_not_taken_for_the_committed_one(tmp_path: Path) -> None:
    scene = Scene(tmp_path / "scene")
    scene.send(20)
    scene.run()
    scene.send(10)
    failpoints.arm("before-catalog:1:raise")
    with pytest.raises(OSError, match="before-catalog"):
        scene.run()
    failpoints.arm(None)
    # The same batch again, over more records and on another machine, as it were.
    scene.send(10)
    scene.run({"state.dir": str(tmp_path / "other")})
    scene.send(10)
    scene.run()
    scene.check()


@pytest.mark.parametrize("point", ["before-catalog", "segment-written", "state.before-chunk"])
def test_a_process_that_slept_through_its_lease_is_fenced_and_leaves_nothing(tmp_path: Path, point: str) -> None:
    scene = Scene(tmp_path / "scene")
    scene.send(60, padding=12_000 if point == "segment-written" else 0)
    process = scene.spawn({}, f"stop={point}:2", "batch=30")
    _, status = os.waitpid(process.pid, os.WUNTRACED)
    assert os.WIFSTOPPED(status), process.communicate()[1]
    scene.state_dir = tmp_path / "other"  # its tasks are still open, so the other one needs a directory of its own
    scene.run(clock=Later())
    scene.check()
    os.kill(process.pid, signal.SIGCONT)
    _, said = process.communicate(timeout=300)
    assert process.returncode == 1
    assert f"FencedError: application {APPLICATION} was taken over" in said
    assert "hint: " in said
    scene.send(14)
    scene.run()
    scene.check()


def test_a_process_that_was_replaced_leaves_the_databases_of_its_successor_alone(tmp_path: Path) -> None:
    """It was told to run a batch and slept before it opened a store: what it finds then is further than it knows of."""
    scene = Scene(tmp_path / "scene")
    scene.send(60)
    scene.run({"max.records.per.batch": 20})
    scene.send(60)
    process = scene.spawn({}, "stop=visit.asked:1", "batch=20")
    _, status = os.waitpid(process.pid, os.WUNTRACED)
    assert os.WIFSTOPPED(status), process.communicate()[1]
    scene.run({"max.records.per.batch": 5}, clock=Later())
    databases = {path: path.stat().st_ino for path in scene.state_dir.glob(f"{APPLICATION}/*/rocksdb/*/IDENTITY")}
    assert databases
    os.kill(process.pid, signal.SIGCONT)
    _, said = process.communicate(timeout=300)
    assert process.returncode == 1
    assert f"FencedError: application {APPLICATION} was taken over" in said
    assert {path: path.stat().st_ino for path in databases} == databases, said
    scene.check()


def test_a_zombie_is_refused_by_the_broker_whatever_it_commits(tmp_path: Path) -> None:
    scene = Scene(tmp_path / "scene")
    scene.send(20)
    with closing(scene.broker()) as broker:
        old = broker.acquire_lease(APPLICATION)
        with broker.stage(APPLICATION, old.epoch, 7, "late") as stage:
            broker.create_topic("echo")
            for _ in range(50):
                stage.append("echo", 0, 0, b"phantom", bytes(4000))
            staged = stage.finish()
        scene.run(clock=Later())
        with pytest.raises(FencedError, match=r"epoch \d+ may no longer commit"):
            broker.decide(Decision(APPLICATION, old.epoch, 7, [staged]))
        with pytest.raises(FencedError):
            old.renew()
        old.release()
    scene.run()
    scene.check()
