"""Where hosts listen."""

from __future__ import annotations

import stat
import tempfile
from pathlib import Path

import pytest

from headrace.errors import StateDirectoryError
from headrace.file_locks import lock
from headrace.spark import host_wire
from headrace.spark.host_wire import directory_of, is_abandoned, sign_on, sign_on_as_driver

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


def test_a_directory_is_abandoned_when_all_who_signed_on_in_it_are_gone(tmp_path: Path) -> None:
    directory = tmp_path / "run"
    with sign_on_as_driver(directory):
        assert stat.S_IMODE(directory.stat().st_mode) == 0o700
        assert not is_abandoned(directory)
        with sign_on(directory / "0"):
            assert not is_abandoned(directory)
        # Its host is gone, and may come again.
        assert not is_abandoned(directory)
    with sign_on(directory / "1"):
        assert not is_abandoned(directory)
    assert is_abandoned(directory)


def test_a_directory_in_which_nobody_has_signed_on_yet_is_not_abandoned(tmp_path: Path) -> None:
    (tmp_path / "0.lock").touch()
    assert not is_abandoned(tmp_path)


def test_a_directory_is_not_abandoned_while_somebody_makes_a_host_in_it(tmp_path: Path) -> None:
    sign_on(tmp_path / "0").close()
    assert is_abandoned(tmp_path)
    with (tmp_path / "0.lock").open("w") as making:
        assert lock(making)
        assert not is_abandoned(tmp_path)
    assert is_abandoned(tmp_path)
