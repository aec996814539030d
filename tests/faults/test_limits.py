"""Rows M1 and K3: little memory, and kill upon kill while the application tries to start."""

from __future__ import annotations

import multiprocessing
import random
import signal
from pathlib import Path

from headrace import failpoints
from headrace.broker import crash_points
from headrace.state.rocksdb.task_databases import FAILPOINTS
from tests.faults.scene import IS_LONG, Scene

KILLS = 200 if IS_LONG else 20
POINTS = [*FAILPOINTS, crash_points.BEFORE_CATALOG, crash_points.INSIDE_CATALOG, crash_points.AFTER_CATALOG]


def start(directory: str, failpoint: str) -> None:
    """The life of a process that is killed."""
    failpoints.arm(failpoint)
    Scene(Path(directory)).run({"max.records.per.batch": 10})


def test_kill_upon_kill_leaves_no_growing_heap_and_it_goes_on(tmp_path: Path) -> None:
    scene, unharmed = Scene(tmp_path), Scene(tmp_path / "unharmed")
    scene.send(30)
    processes = multiprocessing.get_context("forkserver")
    processes.set_forkserver_preload(["tests.faults.test_limits"])
    generator = random.Random(20)
    codes = []
    for _ in range(KILLS):
        failpoint = f"{generator.choice(POINTS)}:{generator.randrange(1, 3)}"
        process = processes.Process(target=start, args=(str(scene.directory), failpoint))
        process.start()
        process.join(timeout=300)
        codes.append(process.exitcode)
        if process.exitcode == 0:
            scene.send(30)
    assert set(codes) <= {0, -signal.SIGKILL}
    assert codes.count(-signal.SIGKILL) > KILLS // 4, codes
    scene.run()
    scene.check()
    unharmed.directory.mkdir()
    unharmed.send(len(scene.sent))
    unharmed.run()
    sizes = [_size_of(each.broker_dir) + _size_of(each.state_dir) for each in (scene, unharmed)]
    assert sizes[0] < 2 * sizes[1] + 500_000


def test_too_little_memory_stops_it_and_corrupts_nothing(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.send(3000, padding=8000)
    # Enough to begin, not enough to finish; how it ends is the operating system's choice.
    code, said = scene.run_worker({}, f"memory={60 << 20}", "batch=3000")
    assert code != 0, said
    code, said = scene.run_worker({}, f"memory={4 << 30}", "batch=3000")
    assert (code, said) == (0, "")
    scene.check()


def _size_of(directory: Path) -> int:
    return sum(path.stat().st_size for path in directory.rglob("*") if path.is_file())
