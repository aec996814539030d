"""Nobody else looks into what we make."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from headrace.batch.local import LocalEngine
from headrace.private_directories import make_private
from tests.integration.batch.programs import append, open_at, settings, word_count


@pytest.fixture(autouse=True)
def open_to_all() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


def test_missing_parents_are_private_too_and_existing_ones_stay_as_they_are(tmp_path: Path) -> None:
    there = tmp_path / "there"
    there.mkdir(mode=0o755)
    make_private(there / "state" / "app")
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (there, there / "state", there / "state" / "app")]
    assert modes == [0o755, 0o700, 0o700]


def test_an_application_makes_no_directory_that_others_can_reach(tmp_path: Path) -> None:
    broker = open_at(tmp_path)
    broker.create_topic("lines")
    append(broker, "lines", [("k", "a b")])
    with LocalEngine(word_count(), settings(tmp_path), broker) as engine:
        engine.run_until_idle()
    for path in (
        tmp_path / "broker",
        tmp_path / "state",
        tmp_path / "state" / "app",
        tmp_path / "state" / "app" / "1_0",
    ):
        assert stat.S_IMODE(path.stat().st_mode) == 0o700, path
