"""Spark's JVM. It is started here and not by pyspark, to limit the wait and to know how it ended and what it wrote."""

from __future__ import annotations

import logging
import os
import re
import shlex
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any

import pyarrow as pa
from py4j.protocol import Py4JError, Py4JJavaError
from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.find_spark_home import _find_spark_home
from pyspark.java_gateway import ensure_callback_server_started, launch_gateway

from headrace.errors import StreamsError
from headrace.spark.jvm_output import JvmOutput

SPARK_ERRORS = (PySparkException, Py4JError, OSError)
"""What calls to Spark raise; the last one where its JVM is gone."""
EXECUTION_ERRORS = (*SPARK_ERRORS, pa.ArrowException)
"""The same for calls that bring rows."""
_HEAD_LINES = 12
_OUR_ERROR = re.compile(r"headrace\.errors\.\w+: (.*)")
_PART = re.compile(r"  (detail|hint|at): (.*)")
_START_SECONDS = 180.0
"""On a busy machine a JVM takes minutes for what it does in seconds otherwise."""
_LOOK_SECONDS = 0.05
_END_SECONDS = 2.0
_SELECTABLE = 1024
_PORT, _SECRET = "PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET"


@dataclass(frozen=True)
class Jvm:
    """One that was started here."""

    process: subprocess.Popen[bytes]
    output: JvmOutput


_ours: Jvm | None = None


@contextmanager
def own_jvm(settings: Mapping[str, str]) -> Iterator[None]:
    """There is a JVM for a session that is opened inside the block; where it ends meanwhile, the error says so."""
    global _ours
    logging.getLogger().addFilter(_is_not_of_py4j)
    try:
        if SparkContext._gateway is None and _PORT not in os.environ:
            with tempfile.TemporaryDirectory(prefix="headrace-") as directory:
                note = Path(directory, "gateway")
                _ours = _started(settings, note)
                _connect(_ours.process, note)
        yield
    except SPARK_ERRORS as error:
        raise end_of_jvm(error) or _not_started(str(error).strip()) from error
    if _ours is not None:
        _ours.output.show()


def end_of_jvm(error: BaseException) -> StreamsError | None:
    """How the JVM ended, where that is why a call to Spark raised ``error``; None where it runs."""
    process = _process()
    if process is None:
        return None
    try:
        # What the JVM itself tells comes from one that runs. Else a connection is lost a moment before the process is.
        is_told = isinstance(error, PySparkException | Py4JJavaError)
        return _ended(process.wait(0 if is_told else _END_SECONDS))
    except subprocess.TimeoutExpired:
        return None


def explained(error: BaseException, message: str) -> StreamsError:
    """An error of Spark's as ours: how its JVM ended, else what it said, without the stack traces."""
    ended = end_of_jvm(error)
    if ended is not None:
        return ended
    said = str(error).strip().splitlines()
    failure = _our_own(said)
    if failure is None:
        causes = [line for line in said[_HEAD_LINES:] if line.startswith("Caused by: ")]
        failure = StreamsError(message, detail="\n".join(dict.fromkeys(said[:_HEAD_LINES] + causes)))
    failure.__cause__ = error
    return failure


def _our_own(said: list[str]) -> StreamsError | None:
    """The error that a worker raised, from the traceback that Spark quotes; None where there is none of ours."""
    for number, line in enumerate(said):
        if found := _OUR_ERROR.match(line):
            rest = takewhile(bool, map(_PART.match, said[number + 1 :]))
            return StreamsError(found[1], **{part[1]: part[2] for part in rest if part})
    return None


def check_callbacks() -> None:
    """Refuse to wait for callbacks that cannot come: py4j listens with ``select``, which knows 1,024 files only."""
    server = vars(SparkContext._gateway).get("_callback_server")
    number = -1 if server is None else server.server_socket.fileno()
    if number >= _SELECTABLE:
        message = f"Spark cannot call this process back: it has more than {_SELECTABLE:,} files open"
        raise StreamsError(
            message, hint="Start the application, or the first one of a process, before they are opened."
        )


def hide_output() -> None:
    """Show no more of what a JVM says that was started here; the next session shows it again."""
    if _ours is not None:
        _ours.output.hide()


def kill_jvm() -> None:
    """End a JVM that was started here and does not answer any more."""
    if _ours is not None:
        _ours.process.kill()


def _is_not_of_py4j(record: logging.LogRecord) -> bool:
    """Its client logs a lost connection with Python's root logger; who made the call hears of it anyway."""
    return "py4j" not in Path(record.pathname).parts


def _process() -> Any:
    """The JVM of the present session; else the last one that was started here."""
    # Not by getattr, which asks the JVM for what Python does not know.
    known = {} if SparkContext._gateway is None else vars(SparkContext._gateway)
    return known.get("proc") or (_ours and _ours.process)


def _ended(code: int) -> StreamsError:
    said = _ours.output.last_lines(_END_SECONDS) if _ours is not None and _ours.process is _process() else ""
    hint = "A machine that runs out of memory kills with SIGKILL; spark.driver.memory says how much the JVM may take."
    return StreamsError(
        f"Spark's JVM ended: {_told(code)}",
        detail=f"the last it said:\n{said}" if said else "it said nothing",
        hint=hint if code == -signal.SIGKILL else None,
    )


def _not_started(why: str) -> StreamsError:
    return StreamsError("Spark could not start", detail=why, hint="See what is missing: headrace doctor.")


def _told(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    names = {each.value: f" ({each.name})" for each in signal.Signals}
    return f"signal {-code}{names.get(-code, '')}"


def _started(settings: Mapping[str, str], note: Path) -> Jvm:
    """One that writes to ``note`` how to connect to it."""
    submit = [str(Path(_find_spark_home(), "bin", "spark-submit"))]
    for name, value in settings.items():
        submit += ["--conf", f"{name}={value}"]
    submit += shlex.split(os.environ.get("PYSPARK_SUBMIT_ARGS", "pyspark-shell"))
    # Ctrl-C and SIGTERM are for the driver alone, though they may be sent to the whole group: it needs the JVM to end
    # well. A JVM ends when its standard input does: so it never outlives the driver.
    command = ["/bin/sh", "-c", 'trap "" INT TERM; exec "$0" "$@"', *submit]
    environment = {**os.environ, "SPARK_CONNECT_MODE": "0", "_PYSPARK_DRIVER_CONN_INFO_PATH": str(note)}
    output = JvmOutput()
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=output.write_end, env=environment)
    output.begin()
    return Jvm(process, output)


def _connect(process: subprocess.Popen[bytes], note: Path) -> None:
    try:
        _wait_for(note, process)
        # Two numbers of four bytes, the port and the length of the secret; then the secret.
        written = note.read_bytes()
        port, secret = int.from_bytes(written[:4], "big"), written[8:].decode()
        with _variables({_PORT: str(port), _SECRET: secret}):
            gateway = launch_gateway()  # type: ignore[no-untyped-call]
        gateway.proc = process
        # Now, while few files are open: see check_callbacks.
        ensure_callback_server_started(gateway)  # type: ignore[no-untyped-call]
        SparkContext._ensure_initialized(gateway=gateway)
    except BaseException:
        process.kill()
        raise


def _wait_for(note: Path, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while not note.exists():
        if process.poll() is not None:
            raise _ended(process.returncode)
        if time.monotonic() > deadline:
            why = f"its JVM did not come up within {_START_SECONDS:g} s"
            raise _not_started(why)
        time.sleep(_LOOK_SECONDS)


@contextmanager
def _variables(values: Mapping[str, str]) -> Iterator[None]:
    """Environment variables inside the block; they are not there otherwise."""
    os.environ.update(values)
    try:
        yield
    finally:
        for name in values:
            del os.environ[name]
