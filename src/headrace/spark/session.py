"""The Spark session of an application: one that is there is used as it is, else a local one that keeps to itself."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from py4j.protocol import Py4JError
from pyspark import SparkContext
from pyspark.sql import SparkSession

from headrace.errors import StreamsError, is_debugging
from headrace.spark.class_data import java_options
from headrace.spark.jvm import hide_output, kill_jvm, own_jvm
from headrace.spark.worker_path import python_path
from headrace.waiting import within

if TYPE_CHECKING:
    from headrace.config import StreamsConfig

log = logging.getLogger(__name__)

LOOPBACK = "127.0.0.1"
_RETRIES = 4
"""In local mode Spark tries a task once unless it is told otherwise: a worker that dies would end the query."""

_STOP_SECONDS = 60.0

_LOGGING = Path(__file__).parent / "log4j2.properties"
_STARTUP = Path(__file__).parent / "startup"
_JAVA = (
    f"-Dlog4j2.configurationFile={_LOGGING}",
    # Records do not pass through the JVM: a start with half the work is worth more than code that is the fastest later.
    "-XX:TieredStopAtLevel=1",
)
_OURS: Mapping[str, str] = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": LOOPBACK,
    "spark.driver.bindAddress": LOOPBACK,
    # Checkpoints hold nothing that is not committed elsewhere: no checksums, no renames that are made durable.
    "spark.hadoop.fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
    ),
}


def existing_session() -> SparkSession | None:
    """The session of this process that somebody else made."""
    session = SparkSession.getActiveSession() or SparkSession._instantiatedSession
    return None if session is None or session.sparkContext._jsc is None else session


def open_session(config: StreamsConfig, threads: int) -> SparkSession:
    """A session of our own, with ``spark.`` settings of the user before ours; ``threads`` tasks run at a time."""
    # Workers are to run what we run; whatever listens is to listen on this machine only.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", LOOPBACK)
    given = {name: str(value) for name, value in config.originals.items() if name.startswith("spark.")}
    builder = SparkSession.builder.appName(config.application_id)
    master = f"local[{max(1, threads)},{_RETRIES}]"
    settings = {"spark.master": master, "spark.driver.extraJavaOptions": _java_options()}
    settings |= {**_OURS, **given}
    for name, value in settings.items():
        builder = builder.config(name, value)
    given_path = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    with _private_files(), _own_interrupts(), python_path([_STARTUP, *given_path]), own_jvm(settings):
        session = builder.getOrCreate()
    # It prints a traceback when the JVM is gone; who calls Spark hears of that anyway.
    vars(session.sparkContext._accumulatorServer)["handle_error"] = _log_lost_connection
    return session


def _java_options() -> str:
    debugging = ("-Dheadrace.spark.level=error",) if is_debugging() else ()
    return " ".join((*_JAVA, *java_options(), *debugging))


def is_alive(session: SparkSession) -> bool:
    """Whether its JVM is there and it was not stopped."""
    try:
        return not session.sparkContext._jsc.sc().isStopped()
    except (AttributeError, Py4JError, OSError):
        return False


def close_session(session: SparkSession) -> None:
    """Stop a session of our own. Where its JVM is gone, or has to be killed, the next session gets a new one."""
    hide_output()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            within(_STOP_SECONDS, "the Spark session to stop", session.stop)
    except StreamsError:
        kill_jvm()
        _forget_jvm()
    except (Py4JError, OSError):
        # It has let go of the JVM by now; what is left to stop is in this process.
        session.sparkContext.stop()
        _forget_jvm()


def _forget_jvm() -> None:
    SparkContext._gateway = SparkContext._jvm = SparkContext._active_spark_context = None
    SparkSession._instantiatedSession = SparkSession._activeSession = None


def _log_lost_connection(request: object, address: object) -> None:
    log.debug("a connection of Spark's was lost", exc_info=True)


@contextmanager
def _private_files() -> Iterator[None]:
    """Processes that are started meanwhile write what nobody else can read: shuffles and broadcasts hold user data."""
    before = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(before)


@contextmanager
def _own_interrupts() -> Iterator[None]:
    """Keep the handler of Ctrl-C. Spark sets one that cancels the jobs, which is no way to end between batches."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    earlier = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, earlier)
