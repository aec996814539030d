from __future__ import annotations

import gc
import os
from pathlib import Path

import pytest

from headrace.state import shared_memory
from headrace.state.directory_hold import DirectoryHold
from headrace.state.shared_memory import MemoryHold, leftovers, memory_directory, release_memory, remove_leftovers


@pytest.fixture(autouse=True)
def shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A place of this test's own instead of the machine's."""
    place = tmp_path / "shm"
    place.mkdir()
    monkeypatch.setattr(shared_memory, "SHARED_MEMORY", place)
    return place


def fill(application_dir: Path) -> Path:
    store = memory_directory(application_dir / "0_1") / "store"
    store.mkdir(parents=True)
    (store / "entries").write_bytes(bytes(1000))
    return store


def test_what_a_running_application_has_is_no_leftover(tmp_path: Path) -> None:
    hold = MemoryHold(tmp_path / "app", is_needed=True)
    store = fill(tmp_path / "app")
    assert leftovers() == []
    assert remove_leftovers() == 0
    assert store.exists()
    hold.release(is_ours=True)
    assert not store.exists()
    assert leftovers() == []


def test_what_a_killed_process_left_is_told_and_removed(tmp_path: Path) -> None:
    MemoryHold(tmp_path / "app", is_needed=True).release(is_ours=False)
    store = fill(tmp_path / "app")
    (found,) = leftovers()
    assert (found.application_dir, found.directory) == (tmp_path / "app", store.parents[1])
    assert found.size >= 1000
    assert remove_leftovers() == found.size
    assert not found.directory.exists()


def test_what_was_left_is_gone_when_the_application_starts_again(tmp_path: Path) -> None:
    MemoryHold(tmp_path / "app", is_needed=True).release(is_ours=False)
    mine, other = fill(tmp_path / "app"), fill(tmp_path / "other")
    MemoryHold(tmp_path / "app", is_needed=True)
    assert not mine.exists()
    assert other.exists()


def test_what_was_left_long_ago_is_gone_when_any_application_starts(tmp_path: Path, shared: Path) -> None:
    stores = {}
    for name in ("old", "new", "running"):
        hold = MemoryHold(tmp_path / name, is_needed=True)
        stores[name] = fill(tmp_path / name)
        if name != "running":
            hold.release(is_ours=False)
        if name != "new":
            os.utime(stores[name].parents[1] / "application", (0, 0))
    MemoryHold(tmp_path / "app", is_needed=False)

    assert {name: store.exists() for name, store in stores.items()} == {"old": False, "new": True, "running": True}
    hold.release(is_ours=True)


def test_who_starts_leaves_alone_what_another_process_is_about_to_remove(tmp_path: Path, shared: Path) -> None:
    MemoryHold(tmp_path / "ending", is_needed=True).release(is_ours=False)
    (directory,) = next(shared.iterdir()).iterdir()
    (directory / "application").unlink()
    MemoryHold(tmp_path / "app", is_needed=False)
    directory.rmdir()


def test_a_process_that_was_replaced_does_not_let_go_of_what_its_successor_has(tmp_path: Path) -> None:
    old = MemoryHold(tmp_path / "app", is_needed=True)
    new = MemoryHold(tmp_path / "app", is_needed=True)
    store = fill(tmp_path / "app")
    old.release(is_ours=False)
    assert store.exists()
    assert leftovers() == []
    new.release(is_ours=True)
    assert not store.exists()


def test_an_application_without_stores_in_memory_leaves_no_trace(tmp_path: Path, shared: Path) -> None:
    MemoryHold(tmp_path / "app", is_needed=False)
    assert not [path for path in shared.rglob("*") if path.is_file()]


def test_without_shared_memory_they_lie_in_the_directories_of_their_tasks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared_memory, "SHARED_MEMORY", tmp_path / "nowhere")
    store = fill(tmp_path / "app")
    assert store.is_relative_to(tmp_path / "app" / "0_1")
    release_memory(tmp_path / "app")
    assert not store.exists()
    assert leftovers() == []


def test_a_directory_that_others_can_read_is_not_used(tmp_path: Path, shared: Path) -> None:
    memory_directory(tmp_path / "app" / "0_0")
    (directory,) = shared.iterdir()
    directory.chmod(0o755)
    assert memory_directory(tmp_path / "app" / "0_0") == tmp_path / "app" / "0_0" / "memory"


def test_a_hold_that_nobody_releases_closes_its_file(tmp_path: Path) -> None:
    for number in range(5):
        DirectoryHold(tmp_path / str(number), "embedded:data")
        MemoryHold(tmp_path / str(number), is_needed=True)
    gc.collect()
    # Threads that other tests left may open and close what they like.
    links = [Path("/proc/self/fd", number) for number in os.listdir("/proc/self/fd")]
    assert not [link for link in links if os.path.realpath(link).startswith(str(tmp_path))]
