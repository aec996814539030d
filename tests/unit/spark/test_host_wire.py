"""Where hosts listen."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from headrace.errors import StateDirectoryError
from headrace.spark import host_wire
from headrace.spark.host_wire import directory_of

LONGEST_SOCKET = 107


@pytest.mark.parametrize("length", [0, 30, 49, 50, 51, 200])
def test_a_socket_has_a_name_that_it_can_have_wherever_temporary_files_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, length: int
) -> None:
    monkeypatch.setattr(host_wire, "make_private", lambda path: None)
    monkeypatch.setattr(Path, "lstat", lambda path: tmp_path.stat())
    monkeypatch.setattr(tempfile, "gettempdir", lambda: "/" + "x" * length)
    assert len(str(directory_of("0" * 32) / "1234.4194304")) <= LONGEST_SOCKET


def test_a_directory_that_others_may_look_into_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path))
    monkeypatch.setattr(host_wire, "_LONGEST_PARENT", 1000)
    directory_of("run").parent.chmod(0o755)
    with pytest.raises(StateDirectoryError, match="others may look into it"):
        directory_of("run")
