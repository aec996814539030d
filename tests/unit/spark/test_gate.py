"""The gate lets batches begin one after another until it is closed."""

from __future__ import annotations

import threading

import pytest

from headrace.spark.gate import BatchGate


def test_no_batch_begins_after_it_was_closed() -> None:
    gate = BatchGate()
    with gate.batch() as may_begin:
        assert may_begin
    assert gate.close(timeout=30)
    with gate.batch() as may_begin:
        assert not may_begin


def test_closing_waits_for_the_batch_under_way_and_no_longer_than_it_is_told() -> None:
    gate = BatchGate()
    begun, may_end = threading.Event(), threading.Event()

    def run() -> None:
        with gate.batch():
            begun.set()
            may_end.wait(30)

    batch = threading.Thread(target=run)
    batch.start()
    assert begun.wait(30)
    assert not gate.close(timeout=0.01)
    threading.Timer(0.05, may_end.set).start()
    assert gate.close(timeout=30)
    batch.join(30)


def test_a_batch_that_closes_it_does_not_wait_for_itself() -> None:
    gate = BatchGate()
    with gate.batch():
        assert not gate.close(timeout=30)
    assert gate.close(timeout=0)


def test_a_batch_that_fails_is_over() -> None:
    gate = BatchGate()
    with pytest.raises(ValueError, match="no"), gate.batch():
        raise ValueError("no")
    assert gate.close(timeout=0)


def test_whoever_lingers_between_two_batches_hears_of_the_end_at_once() -> None:
    gate = BatchGate()
    assert not gate.closes_within(0.01)
    threading.Timer(0.05, gate.close, [30]).start()
    assert gate.closes_within(30)
    assert gate.closes_within(0)


def test_who_hurries_ends_the_wait_at_hand_or_the_one_that_comes() -> None:
    gate = BatchGate()
    threading.Timer(0.05, gate.hurry).start()
    assert not gate.closes_within(30)
    gate.hurry()
    assert not gate.closes_within(30)
