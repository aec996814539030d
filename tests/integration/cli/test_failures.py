"""What a failing program prints when Python runs it: one error, the line of the user, nothing of ours or of Spark."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import closing
from pathlib import Path

from headrace.broker import open_broker
from headrace.broker.port import NewRecord

PROGRAM = """from headrace import Streams, StreamsBuilder


def shout(count):
    raise ValueError(f"too loud: {count}")


builder = StreamsBuilder()
builder.stream("in").group_by_key().count("counts").map_values(shout).to_stream().to("out")
config = {"application.id": "loud", "bootstrap.servers": "embedded:data", "state.dir": "state"}

if __name__ == "__main__":
    with Streams(builder.build(), config) as app:
        app.wait()
"""


def test_a_function_that_fails_while_a_cache_is_flushed_is_told_once(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(PROGRAM)
    with closing(open_broker(f"embedded:{tmp_path / 'data'}")) as broker:
        broker.create_topic("in")
        broker.append([NewRecord("in", b"k", b"v"), NewRecord("in", b"k", b"w")])
    environment = {name: value for name, value in os.environ.items() if name != "HEADRACE_DEBUG"}

    ran = subprocess.run(
        [sys.executable, "app.py"], cwd=tmp_path, capture_output=True, text=True, timeout=300, env=environment
    )

    assert ran.returncode == 1
    lines = ran.stderr.splitlines()
    start = lines.index("headrace.errors.StoreError: ValueError: too loud: 2")
    assert lines[start + 1] == "  detail: could not flush the cache of the store 'counts'"
    assert lines[-1].startswith(f"  at: {tmp_path / 'app.py'}:5, node KTABLE-MAPVALUES-")
    assert lines[-1].endswith(", record in-0@1")
    assert ran.stderr.count("Traceback (most recent call last)") == 2, (
        "that of the function, and that of the line which waits"
    )
    assert ran.stderr.count("too loud: 2") == 2
    assert not [line for line in lines if "headrace/task" in line or "py4j" in line or "org.apache" in line]
