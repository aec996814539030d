"""``headrace kafka`` with a real broker: the commands as a user gives them, each a process of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from tests.kafka.servers import own_port, require_kafka


def test_start_status_stop_and_a_broker_that_was_killed(tmp_path: Path) -> None:
    require_kafka()
    port = str(own_port())
    try:
        started = headrace(tmp_path, "start", "--port", port)
        assert started["bootstrap.servers"] == f"127.0.0.1:{port}"
        assert (started["running"], started["answers"]) == (True, True)
        assert headrace(tmp_path, "start", "--port", "1")["pid"] == started["pid"]
        assert headrace(tmp_path, "status") == started

        os.kill(started["pid"], signal.SIGKILL)
        _wait_for_the_end_of(started["pid"])
        assert headrace(tmp_path, "status", code=3)["running"] is False
        again = headrace(tmp_path, "start", "--port", port)
        assert again["pid"] != started["pid"]
    finally:
        stopped = headrace(tmp_path, "stop")
    assert stopped["stopped"] is True
    assert headrace(tmp_path, "stop")["stopped"] is False


def headrace(directory: Path, *arguments: str, code: int = 0) -> dict[str, Any]:
    command = [sys.executable, "-m", "headrace.cli", "kafka", *arguments, "--json"]
    ran = subprocess.run(command, cwd=directory, capture_output=True, text=True, timeout=180, check=False)
    assert ran.returncode == code, ran
    found: dict[str, Any] = json.loads(ran.stdout)
    return found


def _wait_for_the_end_of(pid: int) -> None:
    deadline = time.monotonic() + 60
    while Path(f"/proc/{pid}/cmdline").exists() and Path(f"/proc/{pid}/cmdline").read_bytes():
        assert time.monotonic() < deadline
        time.sleep(0.05)
