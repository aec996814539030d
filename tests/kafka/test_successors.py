"""Who comes after publishers that were killed while they committed does not wait for their transactions to time out.

Nor does it publish what somebody else has processed in the meantime. Who has set offsets by hand is heeded.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from confluent_kafka import Producer

from headrace.broker.kafka import publishing, staging
from headrace.broker.kafka.broker import KafkaBroker
from headrace.broker.kafka.control import MARK, MarkRecord, control_topic
from headrace.broker.kafka.following import FollowingPublisher
from headrace.broker.kafka.publishing import publisher_id
from headrace.broker.port import Decision, OffsetAndMetadata
from headrace.errors import FencedError
from tests.kafka.tally import Tally

_PATIENCE = 30.0
"""A transaction times out after 60 s."""
_NUMBERS = (1, 2, 3)


class Crash:
    """A batch was decided, and its publishers were killed when they had sent their marks; all but the second.

    What that published is hidden by what the first had under way.
    """

    def __init__(self, tally: Tally, ending: ExitStack) -> None:
        self.tally, self._ending = tally, ending
        self._out = f"{tally.name}-out"
        self.driver = self.broker()
        self.driver.create_topic(self._out, 5)
        self.epoch = self.driver.acquire_lease(tally.name).epoch
        staged = [self._stage(number) for number in _NUMBERS]
        self.places = [(self._out, number) for number in range(5)]
        self.driver.commit_offsets(tally.name, dict.fromkeys(self.places[:3], OffsetAndMetadata(3)))
        offsets = dict.fromkeys(self.places, OffsetAndMetadata(5))
        # Of the last two nothing is committed. One is read from its start, one from where it ended.
        begins = dict(zip(self.places[3:], (0, 3), strict=True))
        self.driver.decide(Decision(tally.name, self.epoch, 0, offsets=offsets, staged=staged, begins=begins))
        self._producers = [self._publish(number) for number in _NUMBERS]

    def broker(self, publisher: int = 0) -> KafkaBroker:
        return self._ending.enter_context(closing(KafkaBroker(replace(self.tally.config(), publisher=publisher))))

    def published(self) -> list[bytes]:
        return sorted(record[5] or b"" for records in self.broker().read(self._out, 0, 0) for record in records)

    def _stage(self, number: int) -> bytes:
        with self.broker(number).stage(self.tally.name, self.epoch, 0, f"0_0-0-{number}") as stage:
            stage.append(self._out, 0, 1, b"k", b"%d" % number)
            return stage.finish()

    def _publish(self, number: int) -> Producer:
        name = self.tally.name
        producer = Producer({"bootstrap.servers": self.tally.address, "transactional.id": publisher_id(name, number)})
        producer.init_transactions(_PATIENCE)
        producer.begin_transaction()
        producer.produce(self._out, b"%d" % number, b"k", 0)
        mark = msgspec.msgpack.encode(MarkRecord(0, {}))
        producer.produce(control_topic(name), mark, MARK + str(number).encode(), 0)
        producer.flush(_PATIENCE)
        if number == 2:
            producer.commit_transaction(_PATIENCE)
        return producer


@pytest.fixture
def crash(kafka_address: str, kafka_name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Crash]:
    monkeypatch.setattr(staging, "INLINE_BYTES", 0)
    monkeypatch.setattr(FollowingPublisher, "_run", lambda self: None)
    with ExitStack() as ending:
        yield Crash(Tally(kafka_address, kafka_name, tmp_path), ending)


@contextmanager
def at_once() -> Iterator[None]:
    begin = time.monotonic()
    yield
    assert time.monotonic() - begin < _PATIENCE


def test_a_new_driver_fences_them(crash: Crash) -> None:
    with at_once():
        assert crash.broker().lease_owner(crash.tally.name) is not None
        crash.broker().acquire_lease(crash.tally.name)
    assert crash.published() == [b"1", b"2", b"3"]


def test_the_same_driver_fences_them(crash: Crash, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(publishing, "_WAIT_SECONDS", 0.5)
    with at_once():
        crash.driver.publish(crash.tally.name, crash.epoch)
    assert crash.published() == [b"1", b"2", b"3"]


def test_a_new_host_fences_the_one_before_it(crash: Crash) -> None:
    with at_once():
        for number in (1, 3):
            crash.broker(number).stage(crash.tally.name, crash.epoch, 1, f"0_0-1-{number}").abort()


def test_what_kafka_streams_has_processed_since_is_not_published(crash: Crash) -> None:
    name, other, place = crash.tally.name, crash.broker(), crash.places[0]
    other.commit_offsets(name, {place: OffsetAndMetadata(4, "AQAAAAAAAAAB")})
    with pytest.raises(FencedError) as refused:
        crash.broker().acquire_lease(name)
    assert f"batch 0 of {name} was decided and not published, and somebody else has gone on since" in str(refused.value)
    assert f"{name}-out-0 3, 4." in str(refused.value)
    assert crash.published() == [b"2"]
    assert other.committed(name)[place].offset == 4
    assert other.lease_owner(name) is None
    other.delete_application(name)
    crash.broker().acquire_lease(name)


def test_what_was_decided_is_published_and_reading_goes_on_where_somebody_put_the_group(crash: Crash) -> None:
    back, forward, into, from_start, before_latest = crash.places
    by_hand = {back: 1, forward: 9, into: 4, from_start: 0, before_latest: 1}
    crash.broker().commit_offsets(crash.tally.name, {place: OffsetAndMetadata(at) for place, at in by_hand.items()})
    successor = crash.broker()
    successor.acquire_lease(crash.tally.name)
    assert crash.published() == [b"1", b"2", b"3"]
    for found in (successor, crash.broker()):
        offsets = {place: at.offset for place, at in found.committed(crash.tally.name).items()}
        assert offsets == {back: 1, forward: 9, into: 5, from_start: 5, before_latest: 1}
