"""How hosts end, and what killed drivers leave behind."""

from __future__ import annotations

import fcntl
import os
import signal
import socket
import tempfile
import threading
import uuid
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from headrace.errors import StreamsError
from headrace.private_directories import make_private
from headrace.spark import host_wire, hosts
from headrace.spark.host_wire import Kind, Wire, directory_of, sign_on, sign_on_as_driver
from headrace.spark.hosts import end_hosts, remove_abandoned


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Of a run on a machine where nobody else has one."""
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path))
    monkeypatch.setattr(host_wire, "_LONGEST_PARENT", 1000)
    return directory_of("run")


def stopped_host(directory: Path) -> int:
    """A process that has signed on as a host and was stopped then."""
    host = os.fork()
    if not host:
        os.setsid()
        with sign_on(directory / "0"):
            os.kill(os.getpid(), signal.SIGSTOP)
        os._exit(0)
    os.waitpid(host, os.WUNTRACED)
    return host


def test_a_host_that_is_stopped_and_has_lost_its_driver_is_ended(directory: Path) -> None:
    sign_on_as_driver(directory).close()
    host = stopped_host(directory)
    remove_abandoned()
    assert not directory.exists()
    assert os.waitstatus_to_exitcode(os.waitpid(host, 0)[1]) == -signal.SIGKILL


def test_a_directory_that_another_start_removes_meanwhile_is_no_failure(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory.mkdir(parents=True)

    def removed_by_another(found: Path) -> bool:
        found.rmdir()
        return False

    monkeypatch.setattr(hosts, "has_lost_driver", removed_by_another)
    remove_abandoned()
    assert not directory.exists()


def test_the_directory_of_a_driver_that_signs_on_this_moment_stays(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def flock_after_another_start(file: Any, kind: int) -> None:
        remove_abandoned()
        flock(file, kind)

    flock = fcntl.flock
    with monkeypatch.context() as racing:
        racing.setattr(fcntl, "flock", flock_after_another_start)
        driver = sign_on_as_driver(directory)
    with driver:
        remove_abandoned()
        assert directory.exists()


def test_a_worker_that_keeps_others_from_a_host_is_named(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hosts, "_ALONE_SECONDS", 0.1)
    directory.mkdir(parents=True, mode=0o700)
    with (directory / "0.lock").open("w") as other:
        other.write("4711\n")
        other.flush()
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(StreamsError, match=r"process 4711, a worker of Spark, has kept .*0\.lock") as raised:
            hosts.host_of("run", 0, 5.0)
    assert "kill -9 4711" in (raised.value.hint or "")


@pytest.mark.parametrize("is_on_this_machine", [True, False])
def test_a_host_is_left_alone_whose_driver_lives_or_is_elsewhere(directory: Path, is_on_this_machine: bool) -> None:
    directory.mkdir(parents=True)
    driver = sign_on_as_driver(directory) if is_on_this_machine else None
    host = stopped_host(directory)
    try:
        remove_abandoned()
        assert os.waitpid(host, os.WNOHANG) == (0, 0)
        assert directory.exists()
    finally:
        os.kill(host, signal.SIGKILL)
        os.waitpid(host, 0)
        if driver is not None:
            driver.close()


def test_hosts_take_their_leave_at_the_same_time() -> None:
    run = uuid.uuid4().hex
    directory = directory_of(run)
    make_private(directory)
    all_told = threading.Barrier(2, timeout=8.0)

    def serve(listener: socket.socket) -> None:
        with closing(listener), Wire(listener.accept()[0]) as wire:
            assert wire.receive().kind == Kind.QUIT
            all_told.wait()

    with ThreadPoolExecutor(2) as threads:
        serving = []
        for group in ("0", "1"):
            listener = socket.socket(socket.AF_UNIX)
            listener.bind(str(directory / group))
            listener.listen()
            serving.append(threads.submit(serve, listener))
        end_hosts(run)
        for each in serving:
            each.result()
