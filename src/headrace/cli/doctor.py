"""``headrace doctor``: whether this machine has what Headrace needs, and what to do where it has not."""

from __future__ import annotations

import os
import resource
import shutil
import sqlite3
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Annotated, Literal

import typer

from headrace.broker import embedded_directory, open_broker
from headrace.cli import exits
from headrace.cli.broker_config import broker_config
from headrace.cli.output import redacted
from headrace.cli.session import Session, command
from headrace.cli.version import of_headrace
from headrace.config import StreamsConfig
from headrace.engines import spark_checks
from headrace.errors import HeadraceError
from headrace.java import find_java, is_chosen_by_spark
from headrace.lifecycle import preflight
from headrace.lifecycle.preflight import Start
from headrace.state.shared_memory import SHARED_MEMORY, leftovers, remove_leftovers

group = typer.Typer()

_OLDEST_PYTHON = (3, 10)
_FREE_BYTES = 1 << 30
_SHARED_BYTES = 256 << 20
_OPEN_FILES = 1024
_SHOWN = 5
_NEEDED = ("rocksdict", "orjson", "msgspec")
_EXTRAS = {
    "pyspark": ("spark", "running topologies on Spark"),
    "pyarrow": ("spark", "the embedded broker"),
    "confluent-kafka": ("kafka", "Kafka"),
    "fastavro": ("avro", "Avro serdes"),
    "protobuf": ("protobuf", "Protobuf serdes"),
}
_STYLES = {"ok": "green", "warn": "yellow", "fail": "bold red"}


@dataclass(frozen=True, slots=True)
class Check:
    """What was looked at, how it stands, what was found, and what to do about it."""

    name: str
    status: Literal["ok", "warn", "fail"]
    found: str
    remedy: str | None = None


FreeMemory = Annotated[
    bool, typer.Option("--free-memory", help="First remove what applications that do not run left in shared memory.")
]


@command(
    group,
    "doctor",
    "headrace doctor",
    "headrace doctor --broker embedded:/var/lib/headrace --json",
    "headrace doctor --free-memory",
)
def doctor(session: Session, free_memory: FreeMemory = False) -> None:
    """Look whether this machine has what Headrace needs; each line says ok, warn or fail, and what to do.

    A warning is about something that only some uses need. The exit code is 1 where a check failed. With --quiet only
    warnings and failures are printed.
    """
    if free_memory:
        session.out.note(f"freed {remove_leftovers() / (1 << 20):,.1f} MiB of shared memory")
    checks = list(examine(session.address))
    if session.out.json:
        session.out.data([asdict(check) for check in checks])
    else:
        _show(session, checks)
    if any(check.status == "fail" for check in checks):
        raise typer.Exit(exits.FAILED)


def _show(session: Session, checks: list[Check]) -> None:
    width = max(len(check.name) for check in checks)
    for check in checks:
        if check.status == "ok" and session.out.quiet:
            continue
        session.out.styled(
            (f"{check.status:<4}  ", _STYLES[check.status]), (f"{check.name:<{width}}  ", "bold"), (check.found, "")
        )
        if check.remedy:
            session.out.styled((f"      {'':<{width}}  → {check.remedy}", "dim"))


def examine(address: str) -> Iterator[Check]:
    """Every check, the broker at ``address`` last."""
    yield Check("headrace", "ok", of_headrace())
    yield _python()
    yield from (_package(name) for name in _NEEDED)
    yield from (_extra(name) for name in _EXTRAS)
    start = Start(StreamsConfig({"application.id": "doctor"}), address)
    yield _java(start)
    if _version("pyspark") is not None:
        home = os.environ.get("SPARK_HOME") or "the Spark that PySpark brings along"
        yield _checked("spark home", spark_checks.spark_home(start), home)
    python = os.environ.get("PYSPARK_PYTHON", sys.executable)
    yield _checked("workers' python", spark_checks.worker_python(start), python)
    yield Check("sqlite", "ok", sqlite3.sqlite_version)
    yield _directory("state directory", start.state_dir, preflight.state_directory(start))
    yield _disk(start)
    yield _shared_memory(SHARED_MEMORY)
    yield _left_in_memory()
    yield _open_files()
    directory = embedded_directory(address)
    if directory is not None:
        yield _directory("broker directory", directory, preflight.data_directory(start))
    yield _broker(address, directory)


def _python() -> Check:
    found = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info >= _OLDEST_PYTHON:
        return Check("python", "ok", found)
    return Check("python", "fail", found, "Install Python 3.10 or newer.")


def _package(name: str) -> Check:
    version = _version(name)
    if version is None:
        return Check(name, "fail", "not installed", "Install Headrace again: pip install --force-reinstall headrace")
    return Check(name, "ok", version)


def _extra(name: str) -> Check:
    extra, purpose = _EXTRAS[name]
    version = _version(name)
    if version is None:
        return Check(name, "warn", "not installed", f"For {purpose}: pip install 'headrace[{extra}]'")
    return Check(name, "ok", version)


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _java(start: Start) -> Check:
    error = spark_checks.java(start)
    if error is not None:
        return _failed("java", error)
    found = "as spark-env.sh says" if is_chosen_by_spark(os.environ) else str(find_java(os.environ))
    return Check("java", "ok", found)


def _checked(name: str, error: HeadraceError | None, found: str) -> Check:
    return Check(name, "ok", found) if error is None else _failed(name, error)


def _directory(name: str, directory: Path, error: HeadraceError | None) -> Check:
    if error is not None:
        return _failed(name, error)
    there = preflight.nearest(directory)
    shown = f"{directory}" if there == directory.absolute() else f"{directory} (will be made in {there})"
    free = shutil.disk_usage(there).free
    found = f"{shown}, {free / (1 << 30):,.1f} GiB free"
    return Check(name, "ok", found) if free >= _FREE_BYTES else Check(name, "warn", found, "Free some space.")


def _disk(start: Start) -> Check:
    error = preflight.disk_space(start)
    return _directory("temporary files", Path(tempfile.gettempdir()), None) if error is None else _failed("disk", error)


def _failed(name: str, error: HeadraceError) -> Check:
    found = f"{error.message} ({error.detail})" if error.detail else error.message
    return Check(name, "fail", redacted(found), redacted(error.hint or ""))


def _shared_memory(directory: Path) -> Check:
    remedy = "In-memory stores use it; in a container raise it, for instance docker run --shm-size=1g."
    if not os.access(directory, os.W_OK):
        return Check("shared memory", "warn", f"{directory} cannot be written", remedy)
    total = shutil.disk_usage(directory).total
    found = f"{directory}, {total / (1 << 20):,.0f} MiB"
    is_enough = total >= _SHARED_BYTES
    return Check("shared memory", "ok", found) if is_enough else Check("shared memory", "warn", found, remedy)


def _left_in_memory() -> Check:
    found = leftovers()
    if not found:
        return Check("stores in memory", "ok", "nothing is left of applications that do not run")
    size = sum(each.size for each in found) / (1 << 20)
    known = sorted(str(each.application_dir) for each in found if each.application_dir is not None)
    others = len(found) - len(known[:_SHOWN])
    more = [f"{others} more" if known else f"{others} without a name"] if others else []
    left = f"{size:,.1f} MiB in shared memory are left of applications that do not run: "
    remedy = "The next start of each removes them; or now: headrace doctor --free-memory"
    return Check("stores in memory", "warn", left + ", ".join(known[:_SHOWN] + more), remedy)


def _open_files() -> Check:
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= _OPEN_FILES:
        return Check("open files", "ok", "unlimited" if soft == resource.RLIM_INFINITY else f"up to {soft:,}")
    return Check("open files", "warn", f"up to {soft:,}", f"RocksDB opens many: ulimit -n {_OPEN_FILES} or more.")


def _broker(address: str, directory: Path | None) -> Check:
    shown = redacted(address)
    if directory is not None and not (directory / "catalog.db").exists():
        return Check("broker", "ok", f"{shown} is not there yet; the first topic makes it")
    try:
        return Check("broker", "ok", f"{shown}: {_state_of(address)}")
    except HeadraceError as error:
        remedy = error.hint or error.detail
        return Check("broker", "fail", f"{shown}: {redacted(error.message)}", redacted(remedy) if remedy else None)


def _state_of(address: str) -> str:
    with closing(open_broker(broker_config(address))) as broker:
        topics, groups = len(broker.topics()), len(broker.groups())
    directory = embedded_directory(address)
    version = "" if directory is None else f", schema version {_schema_version(directory)}"
    return f"topics {topics:,}, groups {groups:,}{version}"


def _schema_version(directory: Path) -> int:
    location = f"{(directory / 'catalog.db').absolute().as_uri()}?mode=ro"
    with closing(sqlite3.connect(location, uri=True)) as connection:
        version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    return version
