"""State of others is removed and told of; what the same application left behind goes without a word."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.task.owner import FILE_NAME, claim, new_state_id

HERE, THERE = "embedded:/here", "embedded:/there"


def left_in(directory: Path, state_id: str) -> None:
    claim(directory, state_id)
    (directory / ".lock").touch()
    (directory / "rocksdb" / "counts").mkdir(parents=True)
    (directory / ".checkpoint").touch()


def names(directory: Path) -> set[str]:
    return {path.name for path in directory.iterdir()}


def test_state_of_the_same_id_stays(tmp_path: Path) -> None:
    state_id = new_state_id(HERE)
    left_in(tmp_path, state_id)
    claim(tmp_path, state_id)
    assert names(tmp_path) == {".lock", ".checkpoint", "rocksdb", FILE_NAME}


def test_state_of_another_broker_is_removed_and_it_says_what_to_do(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    left_in(tmp_path, new_state_id(THERE))
    claim(tmp_path, new_state_id(HERE))
    assert names(tmp_path) == {".lock", FILE_NAME}
    assert f"it is of another application with the same name, on {THERE}; give each an application.id" in caplog.text


def test_state_that_was_half_deleted_is_not_called_that_of_another(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    state_id = new_state_id(HERE)
    left_in(tmp_path, state_id)
    (tmp_path / FILE_NAME).unlink()
    claim(tmp_path, state_id)
    assert names(tmp_path) == {".lock", FILE_NAME}
    assert ".state-id was deleted" in caplog.text and "another application" not in caplog.text


def test_what_a_run_without_a_commit_left_is_removed_without_a_word(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    left_in(tmp_path, new_state_id(HERE))
    claim(tmp_path, new_state_id(HERE))
    assert names(tmp_path) == {".lock", FILE_NAME}
    assert not caplog.records


def test_a_crash_before_the_id_is_written_is_no_reason_for_a_message(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / f"{FILE_NAME}.tmp").write_text("12")
    claim(tmp_path, new_state_id("embedded:/häuser"))
    assert names(tmp_path) == {FILE_NAME}
    assert not caplog.records
