"""Notes about restores that take long: few, whole, and gone afterwards."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from headrace.application import restore_notes
from headrace.application.restore_notes import RestoreNote, RestoreProgress, clear_notes, notes_directory, read_notes

FIRST = RestoreNote("counts", "changelog", 0, start_offset=5, end_offset=100, offset=5, restored=0)


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_short_restore_leaves_no_note(tmp_path: Path) -> None:
    with RestoreProgress(tmp_path, "0_0", FIRST, Clock()) as progress:
        progress.advance(10, 15)
        assert read_notes(tmp_path) == []
    assert not notes_directory(tmp_path).exists()


def test_a_long_one_says_how_far_it_is_until_it_is_over(tmp_path: Path) -> None:
    clock = Clock()
    with RestoreProgress(tmp_path, "0_0", FIRST, clock) as progress:
        clock.now = 1.0
        progress.advance(10, 15)
        assert read_notes(tmp_path) == [RestoreNote("counts", "changelog", 0, 5, 100, 15, 10)]
        clock.now = 1.1
        progress.advance(10, 25)
        assert read_notes(tmp_path)[0].restored == 10
        clock.now = 2.0
        progress.advance(10, 35)
        assert read_notes(tmp_path)[0].restored == 30
        assert stat.S_IMODE(notes_directory(tmp_path).stat().st_mode) == 0o700
    assert read_notes(tmp_path) == []


def test_one_that_fails_leaves_no_note_either(tmp_path: Path) -> None:
    clock = Clock()
    with pytest.raises(ZeroDivisionError), RestoreProgress(tmp_path, "0_0", FIRST, clock) as progress:
        clock.now = 1.0
        progress.advance(10, 15)
        raise ZeroDivisionError
    assert read_notes(tmp_path) == []


@pytest.mark.parametrize("store", ["../../up", "a/b", "\0", "x" * 1000])
def test_whatever_a_store_is_called_its_note_stays_in_its_place(tmp_path: Path, store: str) -> None:
    clock = Clock()
    first = RestoreNote(store, "changelog", 0, start_offset=0, end_offset=9, offset=0, restored=0)
    with RestoreProgress(tmp_path, "0_0", first, clock) as progress:
        clock.now = 1.0
        progress.advance(1, 1)
        assert [path.parent for path in tmp_path.rglob("*.json")] == [notes_directory(tmp_path)]
        assert read_notes(tmp_path)[0].store == store


def test_a_note_that_cannot_be_written_costs_nothing(tmp_path: Path) -> None:
    (tmp_path / restore_notes.DIRECTORY).write_text("no directory")
    clock = Clock()
    with RestoreProgress(tmp_path, "0_0", FIRST, clock) as progress:
        clock.now = 1.0
        progress.advance(1, 6)


def test_what_is_no_note_is_left_out_and_old_ones_are_cleared(tmp_path: Path) -> None:
    notes_directory(tmp_path).mkdir()
    (notes_directory(tmp_path) / "broken.json").write_text("{")
    assert read_notes(tmp_path) == []
    clear_notes(tmp_path)
    assert not notes_directory(tmp_path).exists()
