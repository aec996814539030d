"""Rows D2, D3 and D4 for the state directory: whatever becomes of its files, the result is as if nothing had."""

from __future__ import annotations

import re
import shutil
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest

from headrace.batch.local import LocalEngine
from headrace.errors import TaskCorruptedError
from tests.faults import damage
from tests.faults.scene import APPLICATION, IS_LONG, Scene, topology

FLIPS = 1_000 if IS_LONG else 4
KINDS = ("*.sst", "MANIFEST-*", "CURRENT", "OPTIONS-*", "IDENTITY", "rocksdict-config.json", "headrace-manifest")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    """Two batches are done; events for a third one wait."""
    scene = Scene(tmp_path_factory.mktemp("whole") / "scene")
    scene.send(40, partitions=1)
    scene.run()
    scene.send(20)
    scene.run()
    scene.send(20)
    return scene


def contents(path: Path, count: int, seed: int) -> list[bytes | None]:
    """A damaged file, in many ways; None means that it is gone."""
    data = path.read_bytes()
    flips = list(damage.positions(data, 128 + count, seed))[-count:]
    ends = [data[:-size] for size in damage.cuts(data)]
    return [*(damage.flip(data, at) for at in flips), *(ends if IS_LONG else ends[::4]), b"", None]


def run_until_healed(scene: Scene) -> str:
    """Run the application; a corrupt store may stop it once, with a remedy that works."""
    try:
        scene.run()
    except TaskCorruptedError as error:
        assert "is corrupt" in error.message
        assert error.hint is not None and "Start again" in error.hint
        scene.run()
        return "stopped"
    return "went on"


def check_healed(scene: Scene) -> None:
    try:
        scene.check()
    except Exception as error:
        # Entries that were overwritten since, and that no visit reads: found as soon as somebody does.
        assert "Corruption" in str(error), error


def damaged(whole: Scene, file: Path, content: bytes | None, directory: Path) -> Scene:
    scene = whole.copy(directory)
    path = scene.directory / file
    if content is None:
        path.unlink()
    else:
        path.write_bytes(content)
    return scene


@pytest.mark.parametrize("kind", KINDS)
def test_a_damaged_file_of_a_store_is_found_and_the_store_restored(whole: Scene, kind: str, tmp_path: Path) -> None:
    path = max((whole.state_dir / APPLICATION).glob(f"1_0/rocksdb/totals/{kind}"))
    verdicts: Counter[str] = Counter()
    for number, content in enumerate(contents(path, FLIPS, seed=11)):
        scene = damaged(whole, path.relative_to(whole.directory), content, tmp_path / str(number))
        verdicts[run_until_healed(scene)] += 1
        check_healed(scene)
        shutil.rmtree(scene.directory)
    assert verdicts.total() > FLIPS


def test_a_damaged_note_of_a_task_is_found_and_does_no_harm(whole: Scene, tmp_path: Path) -> None:
    path = whole.state_dir / APPLICATION / "1_0" / ".checkpoint"
    for number, content in enumerate(contents(path, FLIPS, seed=12)):
        scene = damaged(whole, path.relative_to(whole.directory), content, tmp_path / str(number))
        # The store falls back behind what was committed, so that the note decides from where it is restored.
        shutil.copytree(scene.state_dir, tmp_path / "behind")
        scene.run()
        scene.send(20)
        shutil.rmtree(scene.state_dir)
        (tmp_path / "behind").rename(scene.state_dir)
        scene.run()
        scene.check()
        shutil.rmtree(scene.directory)


@pytest.mark.parametrize(
    "removed", ["", APPLICATION, f"{APPLICATION}/1_0", f"{APPLICATION}/1_0/rocksdb", f"{APPLICATION}/1_0/.checkpoint"]
)
def test_what_is_deleted_comes_back_from_the_changelog(whole: Scene, removed: str, tmp_path: Path) -> None:
    scene = whole.copy(tmp_path / "scene")
    path = scene.state_dir / removed
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    scene.run()
    scene.check()


def test_files_that_do_not_belong_there_do_no_harm(whole: Scene, tmp_path: Path) -> None:
    scene = whole.copy(tmp_path / "scene")
    task = scene.state_dir / APPLICATION / "1_0"
    for stale in ("draft", ".checkpoint.tmp", "rocksdb/totals/000099.sst", "rocksdb/totals/notes.txt"):
        (task / stale).write_bytes(b"")
    (scene.state_dir / "stray").write_bytes(b"")
    scene.run()
    scene.check()


def test_a_corrupt_store_is_restored_and_not_left_to_the_processing_exception_handler(
    whole: Scene, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = max((whole.state_dir / APPLICATION).glob("1_0/rocksdb/totals/*.sst"))
    # A bit of the first block, which holds entries: nobody reads it before the first event does.
    scene = damaged(whole, path.relative_to(whole.directory), damage.flip(path.read_bytes(), 80), tmp_path / "scene")
    settings = scene.settings(**{"processing.exception.handler": "log_and_continue"})
    with closing(scene.broker()) as broker, LocalEngine(topology(), settings, broker) as engine:
        engine.run_until_idle()
        assert not engine.dropped_records
    assert re.search(r"running batch 2 again: .*totals is corrupt: .*block checksum mismatch", caplog.text)
    scene.check()
