"""A batch takes about two seconds, whatever the rate is."""

from __future__ import annotations

import random
import statistics

import pytest

from headrace.batch.batch_size import FIRST, LEAST, SECONDS, BatchSize

FIXED = 0.3


class Load:
    """Batches with a fixed cost and a rate."""

    def __init__(self, rate: float, fixed: float = FIXED) -> None:
        self.now, self.rate, self.fixed = 0.0, rate, fixed
        self.disturbed = 1.0
        self.size = BatchSize(lambda: self.now)

    def batch(self, waiting: int = 10**9) -> float:
        self.size.end()
        records = min(waiting, self.size.limit)
        self.size.begin(records)
        seconds = (self.fixed + records / self.rate) * self.disturbed
        self.now += seconds
        return seconds


@pytest.mark.parametrize("rate", [900, 10_000, 200_000])
def test_a_backlog_is_read_in_batches_of_two_seconds_after_a_few(rate: int) -> None:
    load = Load(rate)
    for _ in range(12):
        load.batch()
    later = [load.batch() for _ in range(20)]
    assert statistics.median(later) > 0.9 * SECONDS and max(later) < 1.1 * (SECONDS + FIXED)


@pytest.mark.parametrize("fixed", [1.0, 2.5, 5.0])
def test_a_busy_machine_does_not_make_batches_smaller_and_smaller(fixed: float) -> None:
    load = Load(200_000)
    for _ in range(12):
        load.batch()
    load.fixed = fixed
    for _ in range(40):
        load.batch()
    assert load.size.limit > 20_000
    load.fixed = FIXED
    for _ in range(30):
        load.batch()
    assert load.batch() < 1.3 * (SECONDS + FIXED)


@pytest.mark.parametrize("seed", range(40))
def test_a_loaded_machine_from_the_start_with_times_that_differ_by_chance(seed: int) -> None:
    chance = random.Random(seed)
    load = Load(8_000)
    left, batches = 1_000_000, 0
    while left > 0 and batches < 150:
        load.fixed, load.disturbed = chance.uniform(1.8, 4.4), chance.uniform(0.8, 1.6)
        left -= min(left, load.size.limit)
        load.batch()
        batches += 1
    assert left <= 0


def test_a_rate_that_falls_is_followed_at_once() -> None:
    load = Load(100_000)
    for _ in range(8):
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


def test_a_batch_that_only_punctuates_says_nothing() -> None:
    load = Load(1000)
    load.batch()
    load.fixed = 2 * SECONDS
    for _ in range(5):
        load.batch(waiting=0)
    assert load.size.limit == FIRST


def test_it_is_never_less_than_some() -> None:
    load = Load(1)
    for _ in range(10):
        load.batch()
    assert load.size.limit == LEAST
    load.rate = 100_000
    for _ in range(12):
        load.batch()
    assert load.size.limit > 50_000
