"""A batch takes about two seconds, whatever the rate is."""

from __future__ import annotations

import pytest

from headrace.batch.batch_size import FIRST, LEAST, SECONDS, BatchSize

FIXED = 0.3


class Load:
    """Batches with a fixed cost and a rate."""

    def __init__(self, rate: float) -> None:
        self.now, self.rate = 0.0, rate
        self.size = BatchSize(lambda: self.now)

    def batch(self, waiting: int = 10**9) -> float:
        self.size.end()
        records = min(waiting, self.size.limit)
        self.size.begin(records)
        seconds = FIXED + records / self.rate
        self.now += seconds
        return seconds


@pytest.mark.parametrize("rate", [900, 10_000, 200_000])
def test_a_backlog_is_read_in_batches_of_two_seconds_after_a_few(rate: int) -> None:
    load = Load(rate)
    for _ in range(12):
        load.batch()
    assert load.batch() == pytest.approx(SECONDS, rel=0.15)


def test_a_rate_that_falls_is_followed_at_once() -> None:
    load = Load(100_000)
    for _ in range(12):
        load.batch()
    load.rate = 10_000
    assert load.batch() > 10
    load.batch()
    assert load.batch() < 3


def test_the_first_batch_and_small_ones_say_little() -> None:
    load = Load(10)
    load.batch()
    load.size.end()
    assert load.size.limit == FIRST
    load.rate = 1000
    for _ in range(5):
        load.batch(waiting=1)
    assert load.size.limit == FIRST


def test_it_is_never_less_than_some() -> None:
    load = Load(1)
    for _ in range(10):
        load.batch()
    assert load.size.limit == LEAST
