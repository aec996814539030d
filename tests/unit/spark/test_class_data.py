"""The archive of Spark's classes: it is never in the way. Java itself is real where it matters."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from headrace.spark.class_data import ClassData


@pytest.fixture
def data(tmp_path: Path) -> ClassData:
    return ClassData(tmp_path / "cache")


def java(*options: str) -> subprocess.CompletedProcess[str]:
    command = [shutil.which("java") or "java", *options, "-version"]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


def is_gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return Path(f"/proc/{pid}/stat").read_text().split()[2] == "Z"


def test_classes_are_noted_while_there_is_no_archive(data: ClassData) -> None:
    assert data.java_options() == []
    [option] = data.java_options(is_recording=True)
    assert java(option).returncode == 0
    assert "java/lang/Object" in Path(option.partition("=")[2]).read_text()

    data.forget()
    assert not Path(option.partition("=")[2]).exists()


def test_an_archive_is_made_of_them_and_used(data: ClassData, tmp_path: Path) -> None:
    assert java(*data.java_options(is_recording=True), "-Xshare:off").returncode == 0
    maker = data.make(shutil.which("java") or "java", str(tmp_path))
    assert maker is not None
    deadline = time.monotonic() + 60
    while not data.archive.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    maker.close()

    used = java(*data.java_options(), "-cp", str(tmp_path), "-Xshare:on")
    assert (used.returncode, used.stdout) == (0, "")
    assert data.make("java", "") is None
    assert sorted(place.suffix for place in data.archive.parent.iterdir()) == [".classes", ".jsa"]


@pytest.mark.parametrize("content", [b"", b"no archive at all" * 1000])
def test_a_damaged_archive_is_passed_over(data: ClassData, content: bytes) -> None:
    data.archive.parent.mkdir()
    data.archive.write_bytes(content)
    ran = java(*data.java_options())
    assert (ran.returncode, ran.stdout) == (0, "")
    assert "warning" not in ran.stderr.lower()


def test_closing_ends_the_process_and_leaves_nothing(
    data: ClassData, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    slow = tmp_path / "java"
    slow.write_text(f"#!/bin/sh\necho $$ > {tmp_path}/pid\nexec sleep 60\n")
    slow.chmod(0o700)
    Path(data.java_options(is_recording=True)[0].partition("=")[2]).touch()
    maker = data.make(str(slow), "")
    assert maker is not None
    deadline = time.monotonic() + 30
    while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    maker.close()

    assert is_gone(int((tmp_path / "pid").read_text()))
    assert capfd.readouterr() == ("", "")
    assert not data.archive.exists()
    assert data.java_options(is_recording=True)


def test_what_cannot_be_made_is_not_tried_again(data: ClassData) -> None:
    Path(data.java_options(is_recording=True)[0].partition("=")[2]).touch()
    maker = data.make("/bin/false", "")
    assert maker is not None
    deadline = time.monotonic() + 30
    while data.java_options(is_recording=True) and time.monotonic() < deadline:
        time.sleep(0.02)
    maker.close()
    assert data.java_options(is_recording=True) == []


def test_a_place_that_cannot_be_used_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert ClassData(tmp_path / "file" / "cache").java_options(is_recording=True) == []
    assert ClassData(tmp_path / "with space").java_options(is_recording=True) == []
