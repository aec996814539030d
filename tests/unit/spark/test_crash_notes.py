"""What is known of a host that a function has ended."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

import pytest

from headrace.lifecycle.failures import StreamThreadExceptionResponse, response_to
from headrace.spark.crash_notes import Crash, CrashNote, raise_exits, read_crash
from headrace.spark.worker import ended_host

DOING = "task 0_0, batch 7, records lines-0@10 to 24"


def crashed(host: Path, number: signal.Signals) -> Crash:
    """What a process leaves in which a function sends it a signal."""

    def function(_: BaseException) -> StreamThreadExceptionResponse:
        signal.raise_signal(number)
        return StreamThreadExceptionResponse.SHUTDOWN_CLIENT

    child = os.fork()
    if not child:
        note = CrashNote(host)
        note.doing("the visit before this one, which was a longer one")
        note.doing(DOING)
        # One of ours that calls functions.
        response_to(ValueError(), function)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -number
    return read_crash(host)


def test_a_crash_is_told_with_the_line_the_task_and_its_records(tmp_path: Path) -> None:
    crash = crashed(tmp_path / "0", signal.SIGSEGV)
    line = crashed.__code__.co_firstlineno + 4
    assert crash == Crash("Segmentation fault", f"{__file__}:{line}, {DOING}")
    error = ended_host(crash)
    assert error.message == "a function crashed the process of the tasks: Segmentation fault"
    assert error.at == crash.at and error.hint is not None


def test_who_is_killed_cannot_say_more_than_what_it_was_doing(tmp_path: Path) -> None:
    crash = crashed(tmp_path / "0", signal.SIGKILL)
    assert crash == Crash(None, DOING)
    assert "was killed" in ended_host(crash).message


@pytest.mark.parametrize("content", [None, ""])
def test_a_host_that_never_began_leaves_nothing(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / "0.crash").write_text(content)
    assert read_crash(tmp_path / "0") == Crash(None, "")


class TestExits:
    @pytest.fixture(autouse=True)
    def _undone(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(os, "_exit", os._exit)
        raise_exits()

    def test_of_functions_are_raised(self) -> None:
        with pytest.raises(SystemExit) as raised:
            os._exit(3)
        assert raised.value.code == 3

    def test_of_other_processes_and_threads_are_what_they_are(self) -> None:
        child = os.fork()
        if not child:
            os._exit(4)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 4

        child = os.fork()
        if not child:
            raise_exits()
            thread = threading.Thread(target=os._exit, args=(5,))
            thread.start()
            thread.join()
            os.kill(os.getpid(), signal.SIGKILL)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 5
