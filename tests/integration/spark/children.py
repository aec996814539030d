"""Drivers as child processes: started, watched, killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from headrace import failpoints
from tests.faults.scene import Scene
from tests.integration.spark.processes import below, tree

ROOT = Path(__file__).parents[3]
SECONDS = 400
"""When a child counts as stuck; a busy machine takes minutes for what is done in seconds otherwise."""


def spawn(scene: Scene, environment: Mapping[str, str] | None = None, **options: object) -> subprocess.Popen[bytes]:
    """Run the scene's application in a driver of its own (see ``worker``). What it says goes to files."""
    arguments = [f"{name}={value}" for name, value in options.items()]
    for old in ("stdout", "stderr"):
        # What a killed driver left may still write to them.
        (scene.directory / old).unlink(missing_ok=True)
    with (scene.directory / "stdout").open("wb") as said, (scene.directory / "stderr").open("wb") as errors:
        return subprocess.Popen(
            [sys.executable, "-m", "tests.integration.spark.worker", str(scene.directory), *arguments],
            env={**os.environ, "PYTHONPATH": str(ROOT), **(environment or {})},
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=said,
            stderr=errors,
        )


def said_by(scene: Scene) -> str:
    """What the last driver said, errors last."""
    return "".join((scene.directory / each).read_text(errors="replace") for each in ("stdout", "stderr"))


@contextmanager
def running(
    scene: Scene, environment: Mapping[str, str] | None = None, **options: object
) -> Iterator[subprocess.Popen[bytes]]:
    """The same for a while; at the end nothing of it is left."""
    process = spawn(scene, environment, **options)
    try:
        yield process
    finally:
        kill_tree(process)


def run(scene: Scene, environment: Mapping[str, str] | None = None, **options: object) -> tuple[int, str]:
    """The same to its end: exit code, and what it said."""
    with running(scene, environment, **options) as process:
        return process.wait(SECONDS), said_by(scene)


def pausing(place: str, mark: Path, action: str = "sleep") -> dict[str, str]:
    """An environment in which the first process that gets to a place makes the file ``mark`` and pauses there."""
    return {failpoints.VARIABLE: f"{place}:1:{action}", failpoints.ONCE_VARIABLE: str(mark)}


def kill(process: int) -> None:
    """End a process as hard as can be; one that is gone is fine."""
    try:
        os.kill(process, signal.SIGKILL)
    except ProcessLookupError:
        return


def kill_tree(process: subprocess.Popen[bytes]) -> None:
    """End a driver and all that it started. What a driver left that was killed before ends by itself."""
    if process.poll() is None:
        for each in reversed(tree(process.pid)):
            kill(each)
    process.wait()
    if process.stdin is not None:
        process.stdin.close()


def jvm_of(process: subprocess.Popen[bytes]) -> list[int]:
    """The JVM of a driver."""
    return below(process.pid, "org.apache.spark.deploy.SparkSubmit")


def executors_of(process: subprocess.Popen[bytes]) -> list[int]:
    """The executors of a driver on a ``local-cluster``."""
    return below(process.pid, "CoarseGrainedExecutorBackend")


def workers_of(process: subprocess.Popen[bytes]) -> list[int]:
    """Its Python workers, and the daemon that makes them."""
    return below(process.pid, "pyspark.daemon", "pyspark.sql.streaming")
