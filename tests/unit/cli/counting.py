"""A program for the tests of ``state`` and ``reset``, and a batch of it."""

from __future__ import annotations

from pathlib import Path

from headrace.batch.local import LocalEngine
from headrace.broker import DEFAULT_BROKER
from headrace.broker.port import Broker, NewRecord
from headrace.cli.output import Output
from headrace.cli.program_config import load_application
from headrace.cli.session import Session

PROGRAM = """
from headrace import BufferConfig, StreamsBuilder, Suppressed, TimeWindows, serdes, stores

builder = StreamsBuilder()
lines = builder.stream("lines")
lines.flat_map_values(str.split).group_by(lambda key, word: word).count("word-counts")
lines.group_by(lambda key, line: len(line), key_serde=serdes.integer()).count(stores.in_memory("by-length"))
lines.group_by_key().windowed_by(TimeWindows(10, grace=1000)).count("windows")
lines.group_by_key().count("secret", logging=False)
config = {"application.id": "word-count", "state.dir": "state"}
"""


def write_program() -> None:
    """Into the present directory."""
    Path("app.py").write_text(PROGRAM)


def say(broker: Broker, *lines: str, at: int = 0) -> None:
    """Append lines of the speaker ``al``."""
    broker.append(NewRecord("lines", b"al", line.encode(), at) for line in lines)


def run_program(broker: Broker) -> None:
    """Process what there is."""
    program = load_application(Session(DEFAULT_BROKER, Output()), "app.py")
    with LocalEngine(program.topology, program.config.originals, broker) as engine:
        engine.run_until_idle()
