"""An application's directory is used by one broker at a time, and by a process and its successor at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.errors import StateDirectoryError
from headrace.state.directory_hold import DirectoryHold


def test_another_broker_is_refused_as_long_as_one_holds_the_directory(tmp_path: Path) -> None:
    home = tmp_path / "state" / "app"
    first, successor = DirectoryHold(home, "embedded:/a/long/way"), DirectoryHold(home, "embedded:/a/long/way")
    for hold in (first, successor):
        with pytest.raises(StateDirectoryError, match="in use by another application with the same name") as raised:
            DirectoryHold(home, "embedded:/b")
        assert raised.value.detail == "Its topics are in embedded:/a/long/way."
        assert "application.id" in (raised.value.hint or "")
        hold.release()
    other = DirectoryHold(home, "embedded:/b")
    with pytest.raises(StateDirectoryError) as raised:
        DirectoryHold(home, "embedded:/a/long/way")
    assert raised.value.detail == "Its topics are in embedded:/b."
    other.release()
    other.release()
