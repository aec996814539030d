"""Sweeping: orphans go, and nothing else."""

from __future__ import annotations

import os

import pytest

from headrace.broker.embedded import SWEEP_GRACE_MS, EmbeddedBroker
from headrace.errors import BrokerError
from tests.unit.broker.scene import BIG, FakeClock, batch, files, put, staged, values


@pytest.fixture(autouse=True)
def _out(broker: EmbeddedBroker, clock: FakeClock) -> None:
    clock.now = 10**12
    broker.create_topic("out")


def age(broker: EmbeddedBroker, clock: FakeClock, ms: int) -> None:
    """Let all files be that old."""
    for path in files(broker):
        os.utime(path, ((clock.now - ms) / 1000,) * 2)


def test_what_is_registered_stays_however_old(broker: EmbeddedBroker, clock: FakeClock) -> None:
    put(broker, "out", *[(b"k", BIG)] * 20)
    age(broker, clock, 10**9)
    assert broker.sweep(grace_ms=0) == []
    assert len(values(broker, "out")) == 20


def test_what_may_still_be_committed_stays_until_the_grace_is_over(broker: EmbeddedBroker, clock: FakeClock) -> None:
    lease = broker.acquire_lease("app")
    (segment,) = staged(broker, lease.epoch, 0, "out", *[BIG] * 20)
    age(broker, clock, SWEEP_GRACE_MS - 1)
    assert broker.sweep() == []
    age(broker, clock, SWEEP_GRACE_MS)
    assert broker.sweep() == [segment.built.file]
    with pytest.raises(BrokerError, match="cannot be committed"):
        broker.decide(batch(lease.epoch, 0, [segment]))


def test_output_of_a_replaced_process_goes_at_once(broker: EmbeddedBroker, clock: FakeClock) -> None:
    old = broker.acquire_lease("app")
    (segment,) = staged(broker, old.epoch, 0, "out", *[BIG] * 20)
    age(broker, clock, 0)
    old.release()
    assert broker.sweep() == []
    broker.acquire_lease("app")
    assert broker.sweep() == [segment.built.file]


def test_another_attempt_of_a_committed_batch_goes_at_once(broker: EmbeddedBroker, clock: FakeClock) -> None:
    lease = broker.acquire_lease("app")
    attempts = [staged(broker, lease.epoch, number, "out", *[BIG] * 20)[0] for number in (3, 4, 4, 5)]
    broker.decide(batch(lease.epoch, 4, [attempts[1]]))
    age(broker, clock, 0)
    assert set(broker.sweep()) == {attempts[0].built.file, attempts[2].built.file}
    broker.decide(batch(lease.epoch, 5, [attempts[3]]))
    assert len(values(broker, "out")) == 40


def test_other_applications_are_left_alone(broker: EmbeddedBroker, clock: FakeClock) -> None:
    one, two = broker.acquire_lease("one"), broker.acquire_lease("two")
    broker.decide(batch(one.epoch, 9, application="one"))
    staged(broker, two.epoch, 0, "out", *[BIG] * 20, application="two")
    age(broker, clock, 0)
    assert broker.sweep() == []


def test_files_of_deleted_topics_go_with_their_directories(broker: EmbeddedBroker, clock: FakeClock) -> None:
    staged(broker, 1, 0, "out", *[BIG] * 20)
    broker.delete_topic("out")
    age(broker, clock, 0)
    assert len(broker.sweep()) == 1
    assert list((broker.directory / "topics").iterdir()) == []


def test_the_directory_of_a_live_topic_stays(broker: EmbeddedBroker) -> None:
    with broker.stage("app", 1, 0, "0") as stage:
        for _ in range(20):
            stage.append("out", 0, 0, b"k", BIG)
    broker.sweep(grace_ms=0)
    put(broker, "out", *[(b"k", BIG)] * 20)
    assert len(values(broker, "out")) == 20


def test_upkeep_is_done_by_one_at_a_time(broker: EmbeddedBroker, clock: FakeClock) -> None:
    staged(broker, 1, 0, "out", *[BIG] * 20)
    age(broker, clock, SWEEP_GRACE_MS)
    with broker._upkeep() as mine, broker._upkeep() as second:
        assert (mine, second) == (True, False)
        broker.maintain()
        assert len(files(broker)) == 1
    broker.maintain()
    assert files(broker) == []
