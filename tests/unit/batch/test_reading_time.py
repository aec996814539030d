"""A batch reads for so long that all of its work takes about two seconds."""

from __future__ import annotations

import pytest

from headrace.batch.reading_time import FIRST, SECONDS, ReadingTime


@pytest.mark.parametrize("share", [1.0, 0.5, 0.1])
def test_the_work_takes_as_long_as_it_should_after_a_few_batches(share: float) -> None:
    time = ReadingTime()
    for _ in range(3):
        time.learn(time.seconds, time.seconds / share)
    assert time.seconds / share == pytest.approx(SECONDS)


@pytest.mark.parametrize("fixed", [0.1, 2.5, 10.0])
@pytest.mark.parametrize("share", [1.0, 0.25])
def test_work_that_does_not_depend_on_reading_makes_batches_longer_and_not_ever_smaller(
    fixed: float, share: float
) -> None:
    time = ReadingTime()
    for _ in range(20):
        time.learn(time.seconds, fixed + time.seconds / share)
    assert 0.9 * SECONDS <= time.seconds / share <= 1.1 * SECONDS + fixed


def test_a_batch_of_a_few_records_says_nothing() -> None:
    time = ReadingTime()
    time.learn(0.001, 0.01)
    assert time.seconds == FIRST


def test_a_batch_that_only_punctuates_says_nothing() -> None:
    time = ReadingTime()
    time.learn(0.0, 10.0)
    assert time.seconds == FIRST


def test_a_slow_batch_is_forgotten_where_those_after_it_are_too_small_to_say_anything() -> None:
    time = ReadingTime()
    time.learn(0.001, 10.0)
    for _ in range(10):
        # A backlog: all of the time is used, and it is too little to learn from.
        time.learn(time.seconds, time.seconds + 0.005)
    assert time.seconds == pytest.approx(SECONDS, rel=0.1)
