"""Local state that nobody uses goes; what is in use or of the present topology stays."""

from __future__ import annotations

import os
import stat
import time
from pathlib import Path

import pytest

from headrace.errors import StoreError
from headrace.lifecycle.state_directory import clean_outdated_tasks, clean_removed_tasks, clean_up
from headrace.state.directory_hold import DirectoryHold
from headrace.state.shared_memory import memory_directory
from headrace.task.lock import TaskLock

HOUR_MS = 3_600_000


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """The directory of an application with the tasks 0_0, 0_1 and 1_0, all last used an hour ago, and other things."""
    for name in ("0_0", "0_1", "1_0", ".replica", "global"):
        directory = tmp_path / "app" / name
        directory.mkdir(parents=True, mode=0o700)
        (directory / ".checkpoint").write_text("0\n0\n")
        for path in (directory / ".checkpoint", directory):
            os.utime(path, (time.time() - 3600, time.time() - 3600))
    return tmp_path / "app"


def names(home: Path) -> set[str]:
    return {path.name for path in home.iterdir()}


def test_removes_old_tasks_that_the_topology_has_no_more(home: Path) -> None:
    assert clean_removed_tasks(home, {"0_0", "0_1"}, HOUR_MS // 2) == ["1_0"]
    assert names(home) == {"0_0", "0_1", ".replica", "global"}


def test_keeps_what_was_used_since(home: Path) -> None:
    (home / "1_0" / ".checkpoint").touch()
    assert clean_removed_tasks(home, (), HOUR_MS // 2) == ["0_0", "0_1"]
    assert "1_0" in names(home)


def test_keeps_what_is_locked(home: Path) -> None:
    lock = TaskLock(home / "1_0")
    assert clean_removed_tasks(home, ("0_0", "0_1"), -1) == []
    lock.release()
    assert clean_removed_tasks(home, ("0_0", "0_1"), -1) == ["1_0"]


def test_removes_the_shared_memory_of_a_task_too(home: Path) -> None:
    memory = memory_directory(home / "1_0")
    memory.mkdir(parents=True)
    clean_removed_tasks(home, (), HOUR_MS // 2)
    assert not memory.exists()


def test_removes_tasks_of_the_topology_that_are_too_old_at_the_start(home: Path) -> None:
    assert clean_outdated_tasks(home, 2 * HOUR_MS) == []
    assert clean_outdated_tasks(home, HOUR_MS // 2) == ["0_0", "0_1", "1_0"]


def test_a_task_is_as_young_as_what_its_stores_wrote_last(home: Path) -> None:
    """An open task replaces no file but those of its databases."""
    store = home / "1_0" / "rocksdb" / "counts"
    store.mkdir(parents=True)
    (store / "000004.log").write_bytes(b"")
    for directory in (store, store.parent, home / "1_0"):
        os.utime(directory, (0, 0))
    assert clean_outdated_tasks(home, HOUR_MS // 2) == ["0_0", "0_1"]


def test_tasks_are_in_use_while_their_application_runs_however_long_they_had_nothing_to_do(home: Path) -> None:
    before = DirectoryHold(home, "embedded:/data")
    os.utime(home / ".broker", (0, 0))
    before.mark_used()
    before.release()
    now = DirectoryHold(home, "embedded:/data")
    assert clean_outdated_tasks(home, HOUR_MS // 2) == []
    now.release()


def test_a_start_does_not_make_old_tasks_young(home: Path) -> None:
    DirectoryHold(home, "embedded:/data").release()
    os.utime(home / ".broker", (0, 0))
    hold = DirectoryHold(home, "embedded:/data")
    assert clean_outdated_tasks(home, HOUR_MS // 2) == ["0_0", "0_1", "1_0"]
    hold.release()


def test_a_link_is_not_followed(home: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (home / "2_0").symlink_to(elsewhere)
    clean_removed_tasks(home, (), -1)
    assert elsewhere.is_dir()


def test_cleaning_up_takes_everything(home: Path) -> None:
    clean_up(home)
    assert not home.exists()
    clean_up(home)


def test_cleaning_up_is_refused_while_an_application_runs_with_idle_tasks(home: Path) -> None:
    hold = DirectoryHold(home, "embedded:/elsewhere")
    try:
        with pytest.raises(StoreError, match="is in use"):
            clean_up(home)
        assert (home / "0_0").is_dir()
    finally:
        hold.release()
    clean_up(home)
    assert not home.exists()


def test_cleaning_up_what_another_process_uses_is_refused(home: Path) -> None:
    lock = TaskLock(home / "0_1")
    with pytest.raises(StoreError, match="0_1 is in use"):
        clean_up(home)
    lock.release()
    assert stat.S_IMODE((home / "0_1").stat().st_mode) == 0o700
