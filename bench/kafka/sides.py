"""The programs that are measured, each in a process of its own that starts an application and ends when it is told."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from headrace.java import find_java
from headrace.kafka_server import KAFKA_VERSION, JarSet, fetched
from headrace.kafka_server.jars import cache_directory

STREAMS_JARS = JarSet(
    f"kafka-streams-{KAFKA_VERSION}",
    (f"org.apache.kafka:kafka-streams:{KAFKA_VERSION}", "org.slf4j:slf4j-simple:1.7.36"),
    (f"kafka-streams-{KAFKA_VERSION}.jar", f"kafka-clients-{KAFKA_VERSION}.jar"),
)
QUIX_VERSION = "3.28.1"
_HERE = Path(__file__).parent
_ROOT = _HERE.parents[1]
_START_SECONDS, _END_SECONDS, _INSTALL_SECONDS = 120.0, 90.0, 600.0


@dataclass(frozen=True)
class Order:
    """What a process is to run."""

    application: str
    servers: str
    state: str
    guarantee: str
    program: str
    input: str
    output: str
    table: str | None = None
    processed: int | None = None
    """How many records Kafka Streams processes before it ends by itself, and so commits; None: it goes on."""


def kafka_streams(order: Order) -> list[str]:
    """The command that runs an order on Kafka Streams."""
    jars = fetched(STREAMS_JARS, print)
    given = [f"{name}={value}" for name, value in vars(order).items() if value is not None]
    quiet = "-Dorg.slf4j.simpleLogger.defaultLogLevel=error"
    return [find_java(os.environ).program, "-Xmx2g", quiet, "-cp", f"{jars}/*", str(_HERE / "Bench.java"), *given]


def headrace(order: Order) -> list[str]:
    """The command that runs an order on Headrace."""
    return [sys.executable, "-m", "bench.kafka.headrace_side", json.dumps(vars(order))]


def quix_streams(order: Order) -> list[str]:
    """The command that runs an order on Quix Streams, which is installed apart where it is not there yet."""
    place = cache_directory() / f"quixstreams-{QUIX_VERSION}"
    python = place / "bin" / "python"
    if not (place / "ready").exists():
        print(f"installing quixstreams {QUIX_VERSION} from PyPI, once; it is kept in {place}", flush=True)
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(place)], check=True, timeout=_INSTALL_SECONDS)
        command = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*command, f"quixstreams=={QUIX_VERSION}"], check=True, timeout=_INSTALL_SECONDS)
        (place / "ready").touch()
    return [str(python), str(_HERE / "quix_side.py"), json.dumps(vars(order))]


class Running:
    """A process from its start to its end. It says ``STARTED`` and the time when it starts its application."""

    def __init__(self, command: list[str], log: Path, environment: Mapping[str, str] | None = None) -> None:
        self._log = log
        began = time.time()
        with log.open("wb") as errors:
            self._process = subprocess.Popen(
                command,
                cwd=_ROOT,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env={**os.environ, **(environment or {})},
            )
        try:
            self.started = self._started()
        except BaseException:
            self._process.kill()
            raise
        self.start_seconds = self.started - began

    def check(self) -> None:
        """An error, with what it said, where it has ended."""
        if self._process.poll() is not None:
            said = self._log.read_text(errors="replace")[-4000:]
            message = f"it ended with code {self._process.returncode}: {said}"
            raise RuntimeError(message)

    def __enter__(self) -> Running:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        try:
            self._process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(_END_SECONDS)
            print("a process did not end by itself, and was killed", flush=True)
        self._process.stdout.close()

    def _started(self) -> float:
        """When it said so. It is killed where it does not say so within a limit."""
        assert self._process.stdout is not None
        too_late = threading.Timer(_START_SECONDS, self._process.kill)
        too_late.start()
        try:
            for line in self._process.stdout:
                if line.startswith(b"STARTED"):
                    return int(line.split()[1]) / 1000
            self._process.wait(_END_SECONDS)
            self.check()
            raise AssertionError("not reached: a process that has ended is an error")
        finally:
            too_late.cancel()
