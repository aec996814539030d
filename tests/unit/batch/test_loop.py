"""The thread that runs batch after batch."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest

from headrace.batch.loop import BatchLoop

LONG = 60.0


class Batches:
    """What is due, and a batch that takes as long as it is told to."""

    def __init__(self) -> None:
        self.due = self.done = 0
        self.failure: Exception | None = None
        self.begun, self.may_end = threading.Event(), threading.Event()
        self.may_end.set()
        self.failures: list[BaseException] = []
        self.loop = BatchLoop(self.run, LONG, self.failures.append)

    def run(self) -> bool:
        if self.failure is not None:
            raise self.failure
        if not self.due:
            return False
        self.begun.set()
        assert self.may_end.wait(LONG)
        self.due, self.done = self.due - 1, self.done + 1
        return True


@pytest.fixture
def batches() -> Iterator[Batches]:
    made = Batches()
    yield made
    made.may_end.set()
    made.loop.stop()


def test_whoever_waits_for_idleness_waits_for_what_was_due_when_he_asked(batches: Batches) -> None:
    for _ in range(3):
        batches.due = 5
        batches.loop.wait_until_idle()
        assert batches.due == 0
    assert batches.done == 15


def test_a_stop_waits_for_the_batch_at_hand_as_long_as_it_may(batches: Batches) -> None:
    batches.may_end.clear()
    batches.due = 2
    waiting = threading.Thread(target=batches.loop.wait_until_idle)
    waiting.start()
    assert batches.begun.wait(LONG)
    before = time.monotonic()
    assert not batches.loop.stop(timeout=0.05)
    assert time.monotonic() - before < LONG / 2
    batches.may_end.set()
    assert batches.loop.stop(timeout=LONG)
    waiting.join(LONG)
    assert batches.done == 1
    assert not batches.loop.is_active


def test_a_batch_cannot_wait_for_its_own_end() -> None:
    answers: list[bool] = []

    def stop_yourself() -> bool:
        made.wait(LONG)
        answers.append(loop.stop())
        return True

    made = threading.Event()
    loop = BatchLoop(stop_yourself, LONG, answers.append)  # type: ignore[arg-type]
    made.set()
    assert loop.stop()
    assert answers == [False]


def test_a_failure_ends_it_and_is_told_once_and_to_whoever_waits(batches: Batches) -> None:
    batches.failure = ValueError("no")
    with pytest.raises(ValueError, match="no"):
        batches.loop.wait_until_idle()
    # Those who hear of failures have heard of it by now.
    assert batches.failures == [batches.failure]
    assert batches.loop.stop()
    assert batches.failures == [batches.failure]
    assert not batches.loop.is_active
    with pytest.raises(ValueError, match="no"):
        batches.loop.wait_until_idle()


def test_it_looks_again_after_a_while() -> None:
    looks = threading.Semaphore(0)

    def look() -> bool:
        looks.release()
        return False

    loop = BatchLoop(look, 0.01, lambda _: None)
    assert all(looks.acquire(timeout=LONG) for _ in range(3))
    assert loop.stop()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_whoever_waits_is_woken_though_the_failure_cannot_be_told() -> None:
    may_fail = threading.Event()

    def fail() -> bool:
        may_fail.wait(LONG)
        raise SystemExit

    def cannot_tell(error: BaseException) -> None:
        raise BrokenPipeError

    loop = BatchLoop(fail, LONG, cannot_tell)
    threading.Timer(0.05, may_fail.set).start()
    with pytest.raises(SystemExit):
        loop.wait_until_idle()
    assert loop.stop() and not loop.is_active
