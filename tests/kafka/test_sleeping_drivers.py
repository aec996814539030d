"""Who sleeps while Kafka Streams runs the application, and ends, neither turns its group back nor counts twice."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from headrace import failpoints
from headrace.broker.kafka import crash_points, held_group, publishing, staging
from headrace.broker.kafka.broker import KafkaBroker
from headrace.broker.kafka.following import FollowingPublisher
from headrace.broker.port import Decision, OffsetAndMetadata
from headrace.errors import FencedError
from tests.kafka.running import wait_for
from tests.kafka.tally import Tally

_BY_STREAMS = OffsetAndMetadata(7, "AQAAAAAAAAAB")
_BY_HAND = OffsetAndMetadata(7)


class Scene:
    """A driver, a host beside it if there is one, and somebody else who moves the group."""

    def __init__(self, tally: Tally, ending: ExitStack, *, has_host: bool) -> None:
        self.tally, self.name, self._ending = tally, tally.name, ending
        self.driver, self.other = self.broker(), self.broker()
        self._stager = self.broker(publisher=1) if has_host else self.driver
        self.out = f"{self.name}-out"
        self.driver.create_topic(self.out, 2)
        self.epoch = self.driver.acquire_lease(self.name).epoch

    def broker(self, publisher: int = 0) -> KafkaBroker:
        return self._ending.enter_context(closing(KafkaBroker(replace(self.tally.config(), publisher=publisher))))

    def decide(self, number: int, partition: int = 0, *, begins: int | None = None) -> None:
        """A batch that has read up to ``number + 1``, and says its number in a record."""
        with self._stager.stage(self.name, self.epoch, number, f"{number}") as stage:
            stage.append(self.out, 0, 1, b"k", b"%d" % number)
            staged = stage.finish()
        place = self.out, partition
        decision = Decision(
            self.name,
            self.epoch,
            number,
            [staged],
            {place: OffsetAndMetadata(number + 1, "AQAAAAAAAAAA")},
            begins={} if begins is None else {place: begins},
        )
        self.driver.decide(decision)

    def publish(self) -> None:
        self.driver.publish(self.name, self.epoch)

    def moved(self, at: OffsetAndMetadata = _BY_STREAMS) -> None:
        self.other.commit_offsets(self.name, {(self.out, 0): at})

    def at(self) -> OffsetAndMetadata:
        return self.other.committed(self.name)[self.out, 0]

    def published(self, count: int) -> list[bytes]:
        """What can be read: a commit is answered a little before that."""
        found: list[bytes] = []

        def are_there() -> bool:
            found[:] = [record[5] or b"" for records in self.other.read(self.out, 0, 0) for record in records]
            return len(found) >= count

        wait_for(are_there)
        return found


@pytest.fixture
def scene_with(
    kafka_address: str, kafka_name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., Scene]]:
    monkeypatch.setattr(staging, "INLINE_BYTES", 0)
    monkeypatch.setattr(publishing, "_WAIT_SECONDS", 0.0)
    monkeypatch.setattr(held_group, "_LATE_SECONDS", 0.1)
    monkeypatch.setattr(FollowingPublisher, "_run", lambda self: None)
    with ExitStack() as ending:
        yield lambda guarantee="exactly_once_v2", has_host=False: Scene(
            Tally(kafka_address, kafka_name, tmp_path, guarantee), ending, has_host=has_host
        )


@pytest.mark.parametrize("has_host", [False, True], ids=["with the decision", "after it"])
@pytest.mark.parametrize("number", [0, 1], ids=["the first", "another"])
def test_a_decision_does_not_count_after_kafka_streams_ran(
    scene_with: Callable[..., Scene], has_host: bool, number: int
) -> None:
    scene = scene_with(has_host=has_host)
    for before in range(number):
        scene.decide(before)
        scene.publish()
    scene.moved()
    with pytest.raises(FencedError, match="was taken over: its consumer group moved") as refused:
        # It reads another partition: what Kafka Streams has read would be its next.
        scene.decide(number, partition=number)
    assert f"{scene.out}-0 {1 if number else 'none'}, 7." in str(refused.value)
    assert scene.at() == _BY_STREAMS
    assert len(scene.published(number)) == number


def test_at_least_once_the_group_is_not_turned_back(scene_with: Callable[..., Scene]) -> None:
    scene = scene_with("at_least_once")
    scene.decide(0)
    scene.moved()
    with pytest.raises(FencedError, match="was taken over: its consumer group moved"):
        scene.decide(1)
    assert scene.at() == _BY_STREAMS


def test_a_batch_that_was_decided_is_not_published_after_kafka_streams_ran(scene_with: Callable[..., Scene]) -> None:
    scene = scene_with(has_host=True)
    scene.decide(0, begins=0)
    wait_for(lambda: scene.at() == OffsetAndMetadata(0))
    scene.moved()
    with pytest.raises(FencedError, match=f"batch 0 of {scene.name} was decided and not published") as refused:
        scene.publish()
    assert f"{scene.out}-0 0, 7." in str(refused.value)
    assert scene.at() == _BY_STREAMS
    assert scene.published(0) == []


def test_the_group_is_not_turned_back_when_all_is_published(
    scene_with: Callable[..., Scene], monkeypatch: pytest.MonkeyPatch
) -> None:
    scene = scene_with(has_host=True)
    scene.decide(0, begins=0)
    monkeypatch.setattr(failpoints, "on_reached", lambda at: scene.moved() if at == crash_points.PART_PUBLISHED else 0)
    with pytest.raises(FencedError, match="was taken over: its consumer group moved"):
        scene.publish()
    assert scene.at() == _BY_STREAMS


@pytest.mark.parametrize(
    ("has_host", "point"),
    [
        (False, crash_points.BEFORE_DECISION),
        (True, crash_points.BEFORE_DECISION),
        (True, crash_points.PUBLISHING),
        (True, crash_points.BEFORE_OFFSETS),
    ],
)
def test_who_joins_while_something_comes_to_count_waits_for_its_end(
    scene_with: Callable[..., Scene], monkeypatch: pytest.MonkeyPatch, has_host: bool, point: str
) -> None:
    """So a process may sleep between looking where the group is and its commit: nobody has begun before the commit."""
    scene = scene_with(has_host=has_host)
    consumer = Consumer({"bootstrap.servers": scene.tally.address, "group.id": scene.name})
    codes = []

    def ask(at: str) -> None:
        if at == point:
            with pytest.raises(KafkaException) as raised:
                consumer.committed([TopicPartition(scene.out, 0)], 0.5)
            codes.append(raised.value.args[0].code())

    with closing(consumer):
        consumer.committed([TopicPartition(scene.out, 1)], 30)
        monkeypatch.setattr(failpoints, "on_reached", ask)
        scene.decide(0, begins=0)
        scene.publish()
    assert codes == [KafkaError._TIMED_OUT]
    assert scene.published(1) == [b"0"]


@pytest.mark.parametrize("has_host", [False, True], ids=["with the decision", "after it"])
def test_offsets_that_are_set_by_hand_while_it_runs_end_it(scene_with: Callable[..., Scene], has_host: bool) -> None:
    scene = scene_with(has_host=has_host)
    scene.decide(0)
    scene.publish()
    scene.moved(_BY_HAND)
    with pytest.raises(FencedError, match=f"offsets of application {scene.name} were set by hand while it ran"):
        scene.decide(1)
    assert scene.published(1) == [b"0"]
    successor = scene.broker()
    successor.acquire_lease(scene.name)
    assert successor.committed(scene.name) == {(scene.out, 0): _BY_HAND}
