"""SIGTERM and Ctrl-C are a wish; a second Ctrl-C is an order."""

from __future__ import annotations

import os
import signal
import sysconfig
import threading

import pytest

from headrace.lifecycle.signals import signals_later, stop_signals
from headrace.spark.worker_path import shared_import_path


def send(number: int) -> None:
    os.kill(os.getpid(), number)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_is_a_wish(number: int) -> None:
    before = signal.getsignal(number)
    with stop_signals() as wish:
        assert not wish.is_there
        send(number)
        assert wish.is_there
    assert signal.getsignal(number) is before


def test_a_second_interrupt_is_raised() -> None:
    before = signal.getsignal(signal.SIGINT)
    with stop_signals():
        send(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            send(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before


def test_sigterm_may_come_often() -> None:
    with stop_signals() as wish:
        send(signal.SIGTERM)
        send(signal.SIGTERM)
        assert wish.is_there


def test_other_threads_leave_signals_alone() -> None:
    before = signal.getsignal(signal.SIGINT)
    handlers = []

    def look() -> None:
        with stop_signals():
            handlers.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    assert handlers == [before]


def test_signals_come_when_the_block_has_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    came: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, frame: came.append(number))
    try:
        with pytest.raises(KeyboardInterrupt), signals_later():
            send(signal.SIGINT)
            assert not came
        with pytest.raises(KeyboardInterrupt), signals_later():
            send(signal.SIGINT)
            with pytest.raises(KeyboardInterrupt):
                send(signal.SIGINT)
        # Ctrl-C ends what follows it: SIGTERM is heard before.
        with pytest.raises(KeyboardInterrupt):
            _with_both()
        assert came.count(signal.SIGTERM) >= 1
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGTERM, before)


def _with_both() -> None:
    with signals_later():
        send(signal.SIGINT)
        send(signal.SIGTERM)


@pytest.mark.parametrize("before", [None, "/somewhere"])
def test_processes_find_what_this_one_finds(monkeypatch: pytest.MonkeyPatch, before: str | None) -> None:
    monkeypatch.setattr("sys.path", ["", "/lib/one", os.path.dirname(os.__file__), sysconfig.get_paths()["purelib"]])
    if before is None:
        monkeypatch.delenv("PYTHONPATH", raising=False)
    else:
        monkeypatch.setenv("PYTHONPATH", before)
    with shared_import_path():
        assert os.environ["PYTHONPATH"] == f"{os.getcwd()}:/lib/one"
    assert os.environ.get("PYTHONPATH") == before
