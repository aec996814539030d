"""Waits have a limit; where it passes, the error says who waits for what, and the log has all stacks."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest

from headrace.errors import StreamsError
from headrace.waiting import LimitedLock, join, within


@pytest.fixture
def stuck() -> Iterator[threading.Thread]:
    over = threading.Event()

    def wait_in_vain() -> None:
        over.wait(30)

    thread = threading.Thread(target=wait_in_vain, name="the-stuck-one", daemon=True)
    thread.start()
    yield thread
    over.set()
    thread.join(30)


def test_a_thread_that_does_not_end_is_named_and_the_log_shows_where_it_is(
    stuck: threading.Thread, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(StreamsError, match=r"MainThread waited 0\.01 s for the thread the-stuck-one to end"):
        join(stuck, 0.01)
    assert "wait_in_vain" in caplog.text


def test_a_thread_that_has_ended_or_asks_itself_is_no_matter(stuck: threading.Thread) -> None:
    join(threading.current_thread(), 0.01)
    over = threading.Thread(target=int)
    over.start()
    join(over, 30)


def test_a_call_that_does_not_come_back_is_an_error_and_what_it_raises_is_raised() -> None:
    with pytest.raises(StreamsError, match=r"waited 0\.01 s for the query to stop"):
        within(0.01, "the query to stop", lambda: time.sleep(0.5))
    with pytest.raises(ZeroDivisionError):
        within(30, "a result", lambda: 1 // 0)
    within(30, "nothing", lambda: None)


def test_the_limit_of_a_call_does_not_run_while_something_is_done() -> None:
    looks: list[None] = []
    done = threading.Event()

    def is_busy() -> bool:
        looks.append(None)
        if len(looks) == 5:
            done.set()
        return True

    within(0.01, "a slow answer", lambda: done.wait(30), is_busy)
    assert len(looks) >= 5


def test_a_lock_that_is_held_too_long_names_its_holder() -> None:
    lock = LimitedLock("stopping the engine", 0.01)
    held, over = threading.Event(), threading.Event()

    def hold() -> None:
        with lock, lock:
            held.set()
            over.wait(30)

    holder = threading.Thread(target=hold, name="the-holder", daemon=True)
    holder.start()
    assert held.wait(30)
    with pytest.raises(StreamsError, match=r"waited 0\.01 s for the-holder, which is stopping the engine"), lock:
        pass
    over.set()
    join(holder, 30)
    with lock:
        pass
