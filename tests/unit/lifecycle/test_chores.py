"""Chores are done again and again, and one that fails does not keep the others from being done."""

from __future__ import annotations

import threading

import pytest

from headrace.errors import BrokerError
from headrace.lifecycle.chores import Chore, Chores


class Times:
    """Work that says when it has been done so many times."""

    def __init__(self, wanted: int) -> None:
        self.count, self._wanted, self._reached = 0, wanted, threading.Event()

    def __call__(self) -> None:
        self.count += 1
        if self.count >= self._wanted:
            self._reached.set()

    def wait(self) -> bool:
        return self._reached.wait(30)


def test_each_chore_is_done_again_and_again() -> None:
    often, twice = Times(5), Times(2)
    chores = Chores("test", Chore("often", often, 0.001), Chore("twice", twice, 0.002, delay=0.01))
    chores.start()
    assert often.wait()
    assert twice.wait()
    chores.stop()

    done = often.count
    assert not chores._thread.is_alive()
    assert often.count == done


def test_a_chore_that_fails_is_told_and_tried_again(caplog: pytest.LogCaptureFixture) -> None:
    tries, other = Times(2), Times(2)

    def fails() -> None:
        tries()
        raise BrokerError("the disk is full", detail="0 bytes free", hint="Make room.")

    chores = Chores("test", Chore("sweeping", fails, 0.001), Chore("other", other, 0.001))
    chores.start()
    assert tries.wait()
    assert other.wait()
    chores.stop()
    assert "sweeping failed and is tried again in 0.001 s: the disk is full: 0 bytes free" in caplog.messages


def test_a_chore_may_stop_them_all() -> None:
    stopped = threading.Event()

    def last() -> None:
        chores.stop()
        stopped.set()

    chores = Chores("test", Chore("last", last, 0.001))
    chores.start()
    assert stopped.wait(30)
    chores._thread.join(30)
    assert not chores._thread.is_alive()


def test_they_can_be_stopped_before_they_start() -> None:
    work = Times(1)
    chores = Chores("test", Chore("never", work, 0.001))
    chores.stop()
    chores.start()
    chores._thread.join(30)
    assert work.count == 0
