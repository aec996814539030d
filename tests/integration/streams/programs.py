"""Programs as users write them, as files in a directory."""

from __future__ import annotations

from pathlib import Path

TOTALS = """
import time

import beside

from headrace import Processor, Record, StreamsBuilder, serdes, stores

config = {"application.id": "totals", "max.records.per.batch": 5}


class Total(Processor):
    def init(self, context):
        self.context, self.store = context, context.store("totals")

    def process(self, record):
        total = (self.store.get("all") or 0) + record.value
        self.store.put("all", total)
        self.context.forward(Record("all", total, record.timestamp))


def slowly(number):
    time.sleep(0.01)
    return number


builder = StreamsBuilder()
builder.add_state_store(stores.key_value(stores.persistent("totals"), serdes.string(), serdes.long()))
(
    builder.stream("numbers")
    .map_values(lambda text: slowly(int(text)))
    .map_values(beside.doubled)
    .process(Total, stores=["totals"])
    .to("output", value_serde=serdes.long())
)
"""
"""Lambdas, a class, a helper, and a module beside the program. A batch takes long enough to be interrupted."""

BESIDE = """
def doubled(number):
    return 2 * number
"""

STUCK = """
import os
import time

from headrace import StreamsBuilder

config = {"application.id": "stuck"}


def wait(line):
    if os.path.exists("wait"):
        open("waits", "w").close()
        time.sleep(600)
    return line


builder = StreamsBuilder()
builder.stream("lines").map_values(wait).group_by(lambda key, line: line).count("counts").to_stream().to("output")
"""
"""As long as there is a file "wait", the first record takes ten minutes."""

THREADS = """
import json
import sys

from headrace import Streams, StreamsBuilder

builder = StreamsBuilder()
builder.stream("lines").group_by(lambda key, line: line).count("counts")
config = {"application.id": "threads", "client.id": "client", "bootstrap.servers": sys.argv[1], "state.dir": "state"}
with Streams(builder.build(), config) as app:
    parallel = lambda: app._run.engine.session.sparkContext.defaultParallelism
    found = [parallel()]
    found += [app.add_stream_thread(), parallel()]
    batches = app.run_until_idle()
    found += [dict(app.store("counts").all())]
    found += [app.remove_stream_thread(), parallel()]
print(json.dumps(found))
"""
"""Changes its threads while it runs, in a session of its own."""


def write_totals(directory: Path) -> Path:
    """The program that adds up numbers."""
    (directory / "beside.py").write_text(BESIDE)
    return write(directory, "totals", TOTALS)


def write(directory: Path, name: str, text: str) -> Path:
    """A program in a file."""
    path = directory / f"{name}.py"
    path.write_text(text)
    return path
