from __future__ import annotations

import sqlite3
import stat
import sys
from pathlib import Path
from typing import Any

import pytest

from headrace.broker.port import Broker
from headrace.cli import doctor
from headrace.state import shared_memory
from headrace.state.shared_memory import MemoryHold, memory_directory
from tests.unit.cli.conftest import Headrace


def found(headrace: Headrace, *options: str, code: int = 0) -> dict[str, dict[str, Any]]:
    ran = headrace.runs("doctor", "--json", *options)
    assert ran.code == code, ran
    return {check["name"]: check for check in ran.data}


def fake_java(directory: Path, says: str) -> None:
    program = directory / "bin" / "java"
    program.parent.mkdir(exist_ok=True)
    program.write_text(f"#!/bin/sh\necho '{says}' >&2\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)


def test_every_check_has_a_verdict_and_a_remedy(headrace: Headrace, broker: Broker) -> None:
    checks = found(headrace)

    assert {"headrace", "python", "rocksdict", "pyarrow", "java", "shared memory", "broker directory", "broker"} <= set(
        checks
    )
    assert all(check["status"] in {"ok", "warn", "fail"} for check in checks.values())
    assert all(check["remedy"] for check in checks.values() if check["status"] != "ok")
    assert "topics 0, groups 0, schema version" in checks["broker"]["found"]


def test_people_get_lines(headrace: Headrace) -> None:
    lines = headrace("doctor").out.splitlines()

    assert lines[0].split()[:2] == ["ok", "headrace"]
    assert not any(line.startswith("ok") for line in headrace("doctor", "--quiet").out.splitlines())


def test_a_broker_that_is_not_there_yet_is_fine(headrace: Headrace, tmp_path: Path) -> None:
    checks = found(headrace)

    assert checks["broker"]["found"].endswith("is not there yet; the first topic makes it")
    assert f"(will be made in {tmp_path})" in checks["broker directory"]["found"]
    assert not (tmp_path / "data").exists()


def test_a_broker_of_another_version_fails(headrace: Headrace, broker: Broker, tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "data" / "catalog.db")
    connection.execute("PRAGMA user_version = 99")
    connection.close()

    checks = found(headrace, code=1)

    assert checks["broker"]["status"] == "fail"
    assert "has version 99" in checks["broker"]["found"]
    assert "Use the Headrace that wrote it" in checks["broker"]["remedy"]


def test_a_broker_of_an_unknown_kind_fails(headrace: Headrace) -> None:
    checks = found(headrace, "-b", "kafka://al:geheim@host", code=1)

    assert checks["broker"]["status"] == "fail"
    assert "geheim" not in str(checks)


def test_a_missing_package_is_named_with_its_remedy(headrace: Headrace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "_version", lambda name: None)

    checks = found(headrace, code=1)

    assert checks["rocksdict"]["status"] == "fail"
    assert (checks["pyspark"]["status"], "headrace[spark]" in checks["pyspark"]["remedy"]) == ("warn", True)


@pytest.mark.parametrize(
    ("says", "status", "shown"),
    [
        ('openjdk version "21.0.1" 2026-01-01', "ok", "21 ("),
        ('openjdk version "17" 2021-09-14', "ok", "17 ("),
        ('java version "1.8.0_202"', "fail", "Java 8 is too old for Spark"),
        ("no idea", "fail", "does not say which Java it is"),
    ],
)
def test_java_is_asked_for_its_version(
    headrace: Headrace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, says: str, status: str, shown: str
) -> None:
    fake_java(tmp_path, says)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))

    java = found(headrace, code=0 if status == "ok" else 1)["java"]
    assert java["status"] == status
    assert shown in java["found"]


def test_without_java_nothing_runs(headrace: Headrace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nowhere"))
    java = found(headrace, code=1)["java"]
    assert (java["status"], "JAVA_HOME names no Java" in java["found"]) == ("fail", True)
    monkeypatch.delenv("JAVA_HOME")
    monkeypatch.setenv("PATH", str(tmp_path))
    java = found(headrace, code=1)["java"]
    assert (java["status"], "Java was not found" in java["found"]) == ("fail", True)
    assert "Spark needs Java 17" in java["remedy"]


def test_another_spark_than_that_of_pyspark_fails(
    headrace: Headrace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert found(headrace)["spark home"]["status"] == "ok"
    monkeypatch.setenv("SPARK_HOME", str(tmp_path / "nothing"))
    spark = found(headrace, code=1)["spark home"]
    assert "SPARK_HOME names no Spark" in spark["found"]
    assert "Unset SPARK_HOME" in spark["remedy"]


def test_a_python_without_headrace_cannot_run_workers(
    headrace: Headrace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "python").write_text(f"#!/bin/sh\necho {sys.version_info[0]} {sys.version_info[1]} headrace\n")
    (tmp_path / "python").chmod(0o700)
    monkeypatch.setenv("PYSPARK_PYTHON", str(tmp_path / "python"))

    assert found(headrace, code=1)["workers' python"]["status"] == "fail"


def test_a_directory_that_cannot_be_made_fails(headrace: Headrace, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    directory = found(headrace, "-b", f"embedded:{tmp_path}/file/data", code=1)["broker directory"]

    assert directory["status"] == "fail"
    assert "the directory of bootstrap.servers cannot be written" in directory["found"]


def test_what_killed_applications_left_in_shared_memory_is_told_and_can_be_freed(
    headrace: Headrace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared_memory, "SHARED_MEMORY", tmp_path)
    assert found(headrace)["stores in memory"]["status"] == "ok"
    MemoryHold(tmp_path / "state" / "tally", is_needed=True).release(is_ours=False)
    store = memory_directory(tmp_path / "state" / "tally" / "0_0") / "store"
    store.mkdir(parents=True)
    (store / "entries").write_bytes(bytes(3 << 20))

    check = found(headrace)["stores in memory"]
    assert check["status"] == "warn"
    assert check["found"].startswith("3.0 MiB in shared memory are left of applications that do not run: ")
    assert check["found"].endswith(str(tmp_path / "state" / "tally"))
    assert check["remedy"].endswith("headrace doctor --free-memory")
    assert found(headrace, "--free-memory")["stores in memory"]["status"] == "ok"
    assert not store.exists()
