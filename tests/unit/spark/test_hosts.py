"""What killed drivers leave behind."""

from __future__ import annotations

import os
import signal
import tempfile
from pathlib import Path

import pytest

from headrace.spark import host_wire
from headrace.spark.host_wire import directory_of, sign_on, sign_on_as_driver
from headrace.spark.hosts import remove_abandoned


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
