"""Rows D1, D5 and D6: a full disk, a failing one, one that is not ours. A clean stop that says where and what to do."""

from __future__ import annotations

import errno
import os
import re
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

from headrace import failpoints
from headrace.batch.local import LocalEngine
from headrace.errors import BrokerError, HeadraceError, StateDirectoryError, StreamsError
from tests.faults.scene import Scene, topology

NOBODY = 65534


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Callable[[Path, str], None]]:
    """Mounts a small disk in memory with the given options, or gives it others."""
    if os.geteuid() != 0:
        pytest.skip("only root can mount a small disk")
    mounted: list[Path] = []

    def mount(path: Path, options: str) -> None:
        path.mkdir(mode=0o700, exist_ok=True)
        options = f"remount,{options}" if path in mounted else f"{options},mode=0700"
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(path)], capture_output=True)
        if done.returncode:
            pytest.skip(f"nothing can be mounted here: {done.stderr.decode().strip()}")
        mounted.append(path)

    yield mount
    for path in set(mounted):
        subprocess.run(["umount", str(path)], check=True)


def test_a_full_disk_of_the_broker_stops_it_cleanly_and_it_goes_on_when_there_is_space(
    tmp_path: Path, small_disk: Callable[[Path, str], None]
) -> None:
    scene = Scene(tmp_path)
    small_disk(scene.broker_dir, "size=1m")
    scene.send(300, padding=1500)
    with pytest.raises(BrokerError, match=rf"no space left to write [\d,]+ bytes to {scene.broker_dir}\S+arrow\n"):
        scene.run()
    small_disk(scene.broker_dir, "size=64m")
    scene.run()
    scene.check()


def test_a_full_disk_of_the_catalog_stops_it_cleanly_and_it_goes_on_when_there_is_space(
    tmp_path: Path, small_disk: Callable[[Path, str], None]
) -> None:
    scene = Scene(tmp_path)
    small_disk(scene.broker_dir, "size=400k")
    with pytest.raises(BrokerError, match=rf"no space left for the catalog {scene.broker_dir}\S+\n.*\n  hint: Free"):
        for _ in range(200):
            scene.send(10, padding=300)
    small_disk(scene.broker_dir, "size=64m")
    scene.run()
    scene.check()


def test_after_a_full_disk_the_same_process_goes_on_at_once_whatever_still_refers_to_what_failed(
    tmp_path: Path, small_disk: Callable[[Path, str], None]
) -> None:
    small_disk(tmp_path / "disk", "size=8m")
    scene = Scene(tmp_path / "disk")
    scene.send(30)
    scene.run()
    scene.send(300, padding=1500)
    fill = scene.directory / "fill"
    with closing(scene.broker()) as broker:
        failed = LocalEngine(topology(), scene.settings(), broker)
        with fill.open("wb", buffering=0) as file, suppress(OSError):
            while file.write(b"x" * 4096):
                pass
        with pytest.raises(HeadraceError, match="no space left"):
            failed.run_until_idle()
        failed.close()
    fill.unlink()
    scene.run()
    scene.check()


def test_a_full_disk_of_the_state_stops_it_cleanly_and_it_goes_on_when_there_is_space(
    tmp_path: Path, small_disk: Callable[[Path, str], None]
) -> None:
    scene = Scene(tmp_path)
    scene.send(30)
    small_disk(scene.state_dir, "size=140k")
    with pytest.raises(StateDirectoryError, match=rf"no space left to write [\d,]+ bytes to {scene.state_dir}/\S+\n"):
        scene.run()
    small_disk(scene.state_dir, "size=64m")
    scene.run()
    scene.check()


def test_upkeep_that_fails_for_want_of_space_takes_nothing_back(
    tmp_path: Path, small_disk: Callable[[Path, str], None], caplog: pytest.LogCaptureFixture
) -> None:
    """What was appended is there, and nobody is told otherwise: who tries again would append it twice."""
    scene = Scene(tmp_path)
    small_disk(scene.broker_dir, "size=64m")
    small_disk(scene.broker_dir, "nr_inodes=12")
    while "small segments stay as they are" not in caplog.text:
        scene.send(50, padding=1500)
    small_disk(scene.broker_dir, "nr_inodes=10000")
    scene.run()
    scene.check()


@pytest.mark.parametrize(("options", "said"), [("ro", "Read-only file system"), ("nr_inodes=12", "no space left")])
@pytest.mark.parametrize("mounted", ["broker", "state"])
def test_a_disk_without_leave_or_room_for_files_stops_it_cleanly_and_it_goes_on_when_there_is(
    tmp_path: Path, small_disk: Callable[[Path, str], None], mounted: str, options: str, said: str
) -> None:
    scene = Scene(tmp_path)
    directory = scene.broker_dir if mounted == "broker" else scene.state_dir
    small_disk(directory, "size=64m")
    if options == "ro":
        scene.send(10)
        scene.run()
        scene.send(10)
    small_disk(directory, options)
    with pytest.raises((BrokerError, StateDirectoryError)) as error:
        for _ in range(30):
            scene.send(300, padding=1500)
            scene.run()
    assert str(directory) in str(error.value)
    assert said in str(error.value)
    assert error.value.hint
    small_disk(directory, "rw,nr_inodes=10000")
    scene.run()
    scene.check()


def test_a_limit_on_the_size_of_files_is_like_a_full_disk(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.send(300, padding=2000)
    code, said = scene.run_worker({}, "limit=300000", "batch=300")
    assert code == 1, said
    assert re.search(rf"{scene.directory}\S+( could not be used)?\n  detail: .*\n  hint: ", said), said
    scene.run()
    scene.check()


@pytest.mark.parametrize("action", ["enospc", "raise"])
@pytest.mark.parametrize(
    "point",
    [
        "state.before-version",
        "state.before-chunk",
        "state.after-chunk",
        "before-catalog",
        "inside-catalog",
        "segment-written",
    ],
)
def test_a_disk_that_fails_anywhere_in_a_batch_is_like_a_crash(tmp_path: Path, point: str, action: str) -> None:
    scene = Scene(tmp_path)
    scene.send(60, padding=4000 if point == "segment-written" else 0)
    for nth in (1, 2):
        failpoints.arm(f"{point}:{nth}:{action}")
        with pytest.raises((OSError, StreamsError), match=r"No space left|Input/output error"):
            scene.run({"max.records.per.batch": 40})
        failpoints.arm(None)
    scene.run()
    scene.check()


def test_a_failed_flush_is_final(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scene = Scene(tmp_path)
    scene.send(100, padding=3000)
    flushed: list[str] = []

    def failing(descriptor: int) -> None:
        flushed.append(os.readlink(f"/proc/self/fd/{descriptor}"))
        if flushed[-1].endswith(".arrow"):
            raise OSError(errno.EIO, os.strerror(errno.EIO))

    from_scene = scene.broker()
    from_scene._disk.fsync = True
    with closing(from_scene) as broker, LocalEngine(topology(), scene.settings(), broker) as engine:
        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", failing)
            with pytest.raises(BrokerError, match=r"the disk failed at .*arrow\n.*\n  hint: Nothing was committed"):
                engine.run_batch()
        assert len({file for file in flushed if file.endswith(".arrow")}) == sum(
            file.endswith(".arrow") for file in flushed
        ), "the same file was flushed again"
        engine.run_until_idle()
    scene.check()


def test_a_read_that_fails_stops_the_batch_and_skips_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scene = Scene(tmp_path)
    scene.send(200, padding=2000)
    settings = scene.settings(
        **{"processing.exception.handler": "log_and_continue", "deserialization.exception.handler": "log_and_continue"}
    )

    def failing(descriptor: int, size: int, start: int) -> bytes:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with closing(scene.broker()) as broker, LocalEngine(topology(), settings, broker) as engine:
        with monkeypatch.context() as patch:
            patch.setattr(os, "pread", failing)
            with pytest.raises(BrokerError, match=r"the disk failed at .*arrow\n.*\n  hint: "):
                engine.run_batch()
        assert not engine.dropped_records
        engine.run_until_idle()
    scene.check()


@pytest.mark.parametrize("handler", ["production.exception.handler", "processing.exception.handler"])
def test_no_handler_goes_on_without_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, handler: str) -> None:
    scene = Scene(tmp_path)
    scene.send(200, padding=2000)
    choice = "continue" if handler.startswith("production") else "log_and_continue"

    def full(descriptor: int, data: memoryview) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with (
        closing(scene.broker()) as broker,
        LocalEngine(topology(), scene.settings(**{handler: choice}), broker) as engine,
    ):
        with monkeypatch.context() as patch:
            patch.setattr("headrace.broker.disk.os.write", full)
            with pytest.raises(BrokerError, match=r"no space left to write [\d,]+ bytes"):
                engine.run_batch()
        assert not engine.dropped_records
        engine.run_until_idle()
    scene.check()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
@pytest.mark.parametrize("owned", ["broker", "state"])
def test_a_directory_of_somebody_else_is_an_error_that_tells_what_to_do(owned: str) -> None:
    # Not below pytest's directory: nobody else may look into that.
    directory = Path(tempfile.mkdtemp(prefix="headrace-faults-"))
    directory.chmod(0o755)
    try:
        scene = Scene(directory)
        scene.send(10)
        if owned == "state":
            _give_away(scene.broker_dir)
            scene.state_dir.mkdir(mode=0o700)
        elif owned == "broker":
            scene.state_dir.mkdir()
            _give_away(scene.state_dir)
        code, said = scene.run_worker({"PYTHONDONTWRITEBYTECODE": "1"}, f"user={NOBODY}")
        assert code == 1, said
        assert (
            f"no access to {scene.state_dir if owned == 'state' else ''}" in said or "no access to the catalog" in said
        )
        assert "must be writable by, and belong to, the user who runs Headrace" in said
        scene.run()
        scene.check()
    finally:
        _remove(directory)


def test_a_state_directory_that_is_a_file_is_an_error_that_names_it(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.send(10)
    scene.state_dir.write_text("")
    with pytest.raises(StateDirectoryError, match=rf"the disk failed at {scene.state_dir}"):
        scene.run()
    scene.state_dir.unlink()
    scene.run()
    scene.check()


def _give_away(path: Path) -> None:
    for each in (path, *path.rglob("*")):
        os.chown(each, NOBODY, NOBODY)


def _remove(directory: Path) -> None:
    for path in sorted(directory.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    directory.rmdir()
