from __future__ import annotations

import os
import sqlite3
import stat
from pathlib import Path
from typing import Any

import pytest

from headrace.broker.port import Broker
from headrace.cli import doctor
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
        ('java version "1.8.0_202"', "warn", "8 ("),
        ("no idea", "warn", "does not say its version"),
    ],
)
def test_java_is_asked_for_its_version(
    headrace: Headrace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, says: str, status: str, shown: str
) -> None:
    fake_java(tmp_path, says)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))

    java = found(headrace)["java"]
    assert java["status"] == status
    assert shown in java["found"]


def test_no_java_is_a_warning(headrace: Headrace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nowhere"))
    assert found(headrace)["java"]["status"] == "warn"
    monkeypatch.delenv("JAVA_HOME")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert found(headrace)["java"]["found"] == "not found"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_directory_without_write_access_fails(headrace: Headrace, tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    try:
        assert found(headrace, code=1)["broker directory"]["status"] == "fail"
    finally:
        tmp_path.chmod(0o700)
