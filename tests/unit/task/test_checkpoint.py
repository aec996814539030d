"""The .checkpoint file."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.errors import ArgumentError, StoreError
from headrace.task.checkpoint import OFFSET_UNKNOWN, read_checkpoint, write_checkpoint


def test_writes_kafkas_text(tmp_path: Path) -> None:
    path = tmp_path / ".checkpoint"
    write_checkpoint(path, {("app-s-changelog", 0): 41, ("app-t-changelog", 3): OFFSET_UNKNOWN})
    assert path.read_text() == "0\n2\napp-s-changelog 0 41\napp-t-changelog 3 -4\n"
    assert read_checkpoint(path) == {("app-s-changelog", 0): 41, ("app-t-changelog", 3): -4}
    assert [file.name for file in tmp_path.iterdir()] == [".checkpoint"]


def test_no_offsets_delete_the_file(tmp_path: Path) -> None:
    path = tmp_path / ".checkpoint"
    write_checkpoint(path, {("t", 0): 1})
    write_checkpoint(path, {})
    assert not path.exists()
    assert read_checkpoint(path) == {}


def test_refuses_a_negative_offset(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="offset -1 of t-0"):
        write_checkpoint(tmp_path / ".checkpoint", {("t", 0): -1})


@pytest.mark.parametrize("text", ["", "1\n0\n", "0\n2\nt 0 1\n", "0\n=\nt 0 1\n", "0\n1\nt 0\n"])
def test_refuses_a_broken_file(tmp_path: Path, text: str) -> None:
    path = tmp_path / ".checkpoint"
    path.write_text(text)
    with pytest.raises(StoreError):
        read_checkpoint(path)
