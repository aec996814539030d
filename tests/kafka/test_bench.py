"""The benchmark on Kafka leaves nothing behind, however it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from headrace.kafka_server.server import running_pid
from tests.kafka.servers import require_kafka

_SECONDS = 120.0


def test_a_benchmark_that_is_ended_ends_its_broker(tmp_path: Path) -> None:
    require_kafka()
    command = [sys.executable, "-m", "bench.kafka", "--only", "latency", "--side", "Headrace"]
    with (tmp_path / "said").open("wb") as said:
        process = subprocess.Popen(
            command,
            cwd=Path(__file__).parents[2],
            env={**os.environ, "TMPDIR": str(tmp_path)},
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=said,
        )
    try:
        pid = _broker_of(process, tmp_path)
        process.send_signal(signal.SIGTERM)
        process.wait(_SECONDS)
    finally:
        process.kill()
    assert process.returncode == 128 + signal.SIGTERM, (tmp_path / "said").read_text()
    assert not Path(f"/proc/{pid}").exists() or Path(f"/proc/{pid}/cmdline").read_bytes() == b""
    assert [path.name for path in tmp_path.iterdir() if path.is_dir()] == []


def _broker_of(process: subprocess.Popen[bytes], directory: Path) -> int:
    """The id of its broker, as soon as there is one."""
    deadline = time.monotonic() + _SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        for place in directory.glob("*/broker"):
            pid = running_pid(place)
            if pid is not None:
                return pid
        time.sleep(0.05)
    raise AssertionError((directory / "said").read_text())
