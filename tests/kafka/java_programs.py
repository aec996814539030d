"""Java programs of the tests, run straight from their source with the jars of Kafka Streams."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from headrace.java import find_java
from headrace.kafka_server import KAFKA_VERSION, JarSet, fetched
from tests.kafka.servers import leash

STREAMS_JARS = JarSet(
    f"kafka-streams-{KAFKA_VERSION}",
    (f"org.apache.kafka:kafka-streams:{KAFKA_VERSION}", "org.slf4j:slf4j-simple:1.7.36"),
    (f"kafka-streams-{KAFKA_VERSION}.jar", f"kafka-clients-{KAFKA_VERSION}.jar", "slf4j-simple-1.7.36.jar"),
)
SECONDS = 180.0
_SOURCES = Path(__file__).with_name("java")


def java_command(source: str, *arguments: str) -> list[str]:
    """Needs no leash of its own: it ends with this process."""
    jars = fetched(STREAMS_JARS)
    java = [find_java(os.environ).program, "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
    quiet = "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"
    return [*leash(), *java, quiet, "-cp", f"{jars}/*", str(_SOURCES / source), *arguments]


def java_says(source: str, *arguments: str) -> str:
    """What a program prints."""
    ran = subprocess.run(java_command(source, *arguments), capture_output=True, text=True, timeout=SECONDS, check=False)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


@contextmanager
def kafka_streams(
    address: str, state: Path, guarantee: str, applications: dict[str, str], log: Path, *, has_caches: bool = False
) -> Iterator[subprocess.Popen[str]]:
    """Applications on Kafka Streams (``Interop.java``), by program; ended clean with the block, unless killed in it."""
    named = [f"{program}={application}" for program, application in applications.items()]
    cache = str(10_000_000 if has_caches else 0)
    command = java_command("Interop.java", address, str(state), guarantee, cache, *named)
    with log.open("w") as errors:
        java = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True)
    try:
        assert java.stdout is not None
        assert java.stdout.readline() == "running\n", _end_of(log)
        yield java
        if java.poll() is None:
            said, _ = java.communicate(timeout=SECONDS)
            assert (said, java.returncode) == ("stopped\n", 0), _end_of(log)
    finally:
        java.kill()
        java.communicate()


def _end_of(log: Path) -> str:
    return log.read_text()[-4000:]
