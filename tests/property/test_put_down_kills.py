"""The process is killed with SIGKILL at every failpoint of the state, started again, and does what was left to do."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from headrace.failpoints import VARIABLE
from headrace.state.rocksdb.task_databases import FAILPOINTS
from headrace.state.shared_memory import release_memory
from tests.faults.scene import IS_LONG
from tests.property.put_down_child import BATCHES, PLAN, PROGRAM, read
from tests.property.visiting import cut_as_visited, stay_open

ROOT = Path(__file__).parents[2]


def run(directory: Path, failpoint: str | None) -> int:
    """Start the process and wait for its end; how it ended."""
    environment = {**os.environ, VARIABLE: failpoint or "", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-W", "error", "-m", "tests.property.put_down_child", str(directory)]
    return subprocess.run(command, env=environment, cwd=ROOT, check=False, capture_output=True).returncode


@pytest.mark.parametrize("failpoint", FAILPOINTS)
@pytest.mark.parametrize("times", [1, 9] if IS_LONG else [9])
def test_a_kill_at_a_failpoint_leaves_no_trace(failpoint: str, times: int, tmp_path: Path) -> None:
    if failpoint == "state.after-undo":
        # Only a visit that follows a kill has something to undo.
        assert run(tmp_path, "state.between-stores:20") == -signal.SIGKILL
        times = min(times, 3)

    try:
        assert run(tmp_path, f"{failpoint}:{times}") == -signal.SIGKILL
        assert run(tmp_path, None) == 0
        _, result = read(tmp_path)
    finally:
        release_memory(tmp_path)

    expected = stay_open(PROGRAM, cut_as_visited(BATCHES, PLAN.levels), tmp_path / "open")
    assert [record for batch in result.produced for record in batch] == [
        record for batch in expected.produced for record in batch
    ]
    assert result.dropped == expected.dropped
    assert result.offsets == expected.offsets
    assert result.stores == expected.stores
