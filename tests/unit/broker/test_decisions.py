"""Staged output and its decision: together or not at all, once, by the right process."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from headrace.broker.embedded import EmbeddedBroker
from headrace.broker.port import Decided, Decision, NewRecord, OffsetAndMetadata, Outcome
from headrace.broker.staging import pack, unpack
from headrace.errors import (
    ArgumentError,
    BrokerError,
    FencedError,
    IllegalStateError,
    LeaseHeldError,
    RecordTooLargeError,
    UnknownTopicError,
)
from headrace.records import Headers
from tests.unit.broker.scene import BIG, batch, entries, files, put, records, staged, values


@pytest.fixture(autouse=True)
def _topics(broker: EmbeddedBroker) -> None:
    broker.create_topic("in", partitions=2)
    broker.create_topic("out", partitions=2)
    broker.create_topic("log", config={"cleanup.policy": "compact"})


@pytest.fixture
def epoch(broker: EmbeddedBroker) -> int:
    return broker.acquire_lease("app").epoch


def test_nothing_is_visible_before_the_commit_and_all_after_it(broker: EmbeddedBroker, epoch: int) -> None:
    put(broker, "in", *[(b"k", b"v")] * 3)
    headers = Headers([("trace", b"1")])
    with broker.stage("app", epoch, 0, "task-0_1.2") as stage:
        stage.append("out", 1, 7, b"a", b"1", headers)
        stage.append("log", 0, 8, b"a", BIG)
        stage.append("out", 1, 9, None, None)
        handed_over = stage.finish()
    assert stage.counts == {"out": 2, "log": 1}
    assert values(broker, "out", 1) == values(broker, "log") == []
    offsets = {("in", 0): OffsetAndMetadata(3, "note")}
    assert broker.decide(Decision("app", epoch, 0, [handed_over], offsets, {"store": "0"})) is Outcome.DONE
    assert records(broker, "out", 1) == [("out", 1, 0, 7, b"a", b"1", headers), ("out", 1, 1, 9, None, None, ())]
    assert values(broker, "log") == [BIG]
    assert broker.committed("app") == offsets
    assert broker.last_decided("app") == Decided(0, epoch, {"store": "0"})


def test_small_output_travels_and_large_output_is_a_file(broker: EmbeddedBroker, epoch: int) -> None:
    (small,) = staged(broker, epoch, 0, "out", b"1")
    (large,) = staged(broker, epoch, 0, "out", *[BIG] * 20)
    assert (small.built.file, large.built.payload) == (None, None)
    assert small.built.payload is not None
    assert [path.relative_to(broker.directory / "topics").as_posix() for path in files(broker)] == [large.built.file]


def test_output_of_several_tasks_goes_in_the_order_given(broker: EmbeddedBroker, epoch: int) -> None:
    segments = [segment for value in (b"1", b"2", BIG) for segment in staged(broker, epoch, 0, "out", *[value] * 20)]
    put(broker, "out", (b"k", b"0"))
    broker.decide(batch(epoch, 0, segments))
    assert values(broker, "out") == [b"0", *[b"1"] * 20, *[b"2"] * 20, *[BIG] * 20]


def test_the_same_batch_again_is_done_and_changes_nothing(broker: EmbeddedBroker, epoch: int) -> None:
    first = staged(broker, epoch, 4, "out", *[BIG] * 20, attempt="a")
    broker.decide(Decision("app", epoch, 4, [pack(first)], {("in", 0): OffsetAndMetadata(0)}, {"store": "4"}))
    for again in (first, staged(broker, epoch, 4, "out", *[BIG] * 30, attempt="b")):
        repeated = Decision("app", epoch, 4, [pack(again)], {("in", 1): OffsetAndMetadata(0)}, {"store": "5"})
        assert broker.decide(repeated) is Outcome.DONE
        assert broker.last_decided("app") == Decided(4, epoch, {"store": "4"})
    assert values(broker, "out") == [BIG] * 20
    assert broker.committed("app") == {("in", 0): OffsetAndMetadata(0)}
    assert len(files(broker)) == 1


def test_what_became_of_a_decision_can_be_asked(broker: EmbeddedBroker, epoch: int) -> None:
    decision = batch(epoch, 0, staged(broker, epoch, 0, "out", b"1"))
    assert broker.outcome(decision) is Outcome.NOT_DONE
    broker.decide(decision)
    assert broker.outcome(decision) is Outcome.DONE


def test_only_the_parts_of_one_partition_are_read_back_before_the_decision(broker: EmbeddedBroker, epoch: int) -> None:
    with broker.stage("app", epoch, 0, "0") as stage:
        for number in range(4):
            stage.append("out", number % 2, number, b"k", b"%d" % number)
        handed_over = stage.finish()
    found = [record for records in broker.read_staged(handed_over, ("out", 1)) for record in records]
    assert [(record[2], record[5]) for record in found] == [(0, b"1"), (1, b"3")]


def test_an_older_batch_is_an_error(broker: EmbeddedBroker, epoch: int) -> None:
    broker.decide(batch(epoch, 7))
    message = r"application app decided batch 7: batch 6 is too old\n  hint: Did two processes use one lease"
    with pytest.raises(IllegalStateError, match=message):
        broker.decide(batch(epoch, 6))
    broker.decide(batch(epoch, 9))


def test_a_new_holder_recognises_the_batch_of_the_last_one(broker: EmbeddedBroker) -> None:
    with broker.acquire_lease("app") as lease:
        broker.decide(batch(lease.epoch, 3, staged(broker, lease.epoch, 3, "out", b"1")))
    with broker.acquire_lease("app") as lease:
        last = broker.last_decided("app")
        assert last is not None
        assert (last.batch_id, last.epoch) == (3, 1)
        broker.decide(batch(lease.epoch, 3, staged(broker, lease.epoch, 3, "out", b"1")))
        broker.decide(batch(lease.epoch, 4, staged(broker, lease.epoch, 4, "out", b"2")))
    assert values(broker, "out") == [b"1", b"2"]


def test_a_stale_epoch_is_refused_and_changes_nothing(broker: EmbeddedBroker) -> None:
    old = broker.acquire_lease("app")
    segments = staged(broker, old.epoch, 0, "out", *[BIG] * 20)
    old.release()
    broker.acquire_lease("app")
    with pytest.raises(FencedError):
        broker.decide(
            Decision("app", old.epoch, 0, [pack(segments)], {("in", 0): OffsetAndMetadata(0)}, {"store": "0"})
        )
    assert values(broker, "out") == []
    assert broker.committed("app") == {}
    assert broker.last_decided("app") is None


def test_notes_are_kept_until_they_are_replaced_or_removed(broker: EmbeddedBroker, epoch: int) -> None:
    broker.decide(Decision("app", epoch, 0, notes={"a": "1", "b": "1"}))
    broker.decide(Decision("app", epoch, 1, notes={"b": "2", "c": "2"}))
    broker.decide(Decision("app", epoch, 2, notes={"a": None}))
    assert broker.last_decided("app") == Decided(2, epoch, {"b": "2", "c": "2"})


def test_a_failure_undoes_the_whole_commit(broker: EmbeddedBroker, epoch: int) -> None:
    segments = staged(broker, epoch, 0, "out", b"1")
    with pytest.raises(UnknownTopicError):
        broker.decide(Decision("app", epoch, 0, [pack(segments)], {("nowhere", 0): OffsetAndMetadata(0)}))
    assert values(broker, "out") == []
    broker.decide(batch(epoch, 0, segments))
    assert values(broker, "out") == [b"1"]


def test_a_topic_deleted_meanwhile_refuses_the_commit(broker: EmbeddedBroker, epoch: int) -> None:
    segments = staged(broker, epoch, 0, "out", b"1")
    broker.delete_topic("out")
    with pytest.raises(UnknownTopicError, match="topic out was deleted after records for it were staged"):
        broker.decide(batch(epoch, 0, segments))
    broker.create_topic("out")
    with pytest.raises(UnknownTopicError, match="was deleted"):
        broker.decide(batch(epoch, 0, segments))


@pytest.mark.parametrize("damage", ["missing", "short", "foreign"])
def test_a_staged_file_that_is_not_whole_refuses_the_commit(broker: EmbeddedBroker, epoch: int, damage: str) -> None:
    segments = staged(broker, epoch, 0, "out", *[BIG] * 20)
    (path,) = files(broker)
    if damage == "missing":
        path.unlink()
    elif damage == "short":
        path.write_bytes(path.read_bytes()[:-1])
    else:
        other = path.parent.parent / "1" / path.name
        other.parent.mkdir()
        path.rename(other)
        segments = unpack(pack(segments).replace(b"/0/staged", b"/1/staged"))
    with pytest.raises(BrokerError, match=r"the staged segment .* cannot be committed: it has"):
        broker.decide(batch(epoch, 0, segments))
    assert values(broker, "out") == []


@pytest.mark.parametrize("file", ["../../catalog.db", "/etc/passwd", "2-out/0/../../../x.arrow"])
def test_a_manifest_cannot_name_a_file_elsewhere(broker: EmbeddedBroker, epoch: int, file: str) -> None:
    (segment,) = staged(broker, epoch, 0, "out", *[BIG] * 20)
    forged = msgspec.structs.replace(segment, built=segment.built._replace(file=file))
    with pytest.raises(BrokerError):
        broker.decide(batch(epoch, 0, [forged]))


def test_a_manifest_is_never_unpickled(tmp_path: Path) -> None:
    with pytest.raises(BrokerError, match="this is no manifest of staged segments"):
        unpack(b"\x80\x04cos\nsystem\n")


class TestStage:
    def test_an_unfinished_stage_leaves_nothing(self, broker: EmbeddedBroker, epoch: int) -> None:
        with pytest.raises(ZeroDivisionError), broker.stage("app", epoch, 0, "0") as stage:
            for _ in range(1000):
                stage.append("out", 0, 0, b"k", BIG)
            assert files(broker)
            _ = 1 / 0
        assert files(broker) == []

    def test_a_bad_record_is_refused_and_the_others_stay(self, broker: EmbeddedBroker, epoch: int) -> None:
        with broker.stage("app", epoch, 0, "0") as stage:
            stage.append("log", 0, 0, b"k", b"1")
            with pytest.raises(ArgumentError, match="without a key cannot go to log: the topic is compacted"):
                stage.append("log", 0, 0, None, b"2")
            with pytest.raises(RecordTooLargeError):
                stage.append("log", 0, 0, b"k", b"x" * 1_100_000)
            with pytest.raises(ArgumentError, match="topic log has no partition 1"):
                stage.append("log", 1, 0, b"k", b"2")
            with pytest.raises(UnknownTopicError):
                stage.append("nowhere", 0, 0, b"k", b"2")
            stage.append("log", 0, 0, b"k", b"3")
            handed_over = stage.finish()
        broker.decide(Decision("app", epoch, 0, [handed_over]))
        assert entries(broker, "log") == [(0, b"k", b"1"), (1, b"k", b"3")]

    def test_a_finished_stage_takes_nothing_more(self, broker: EmbeddedBroker, epoch: int) -> None:
        stage = broker.stage("app", epoch, 0, "0")
        assert unpack(stage.finish()) == []
        with pytest.raises(IllegalStateError, match="this stage is finished"):
            stage.append("out", 0, 0, b"k", b"v")
        with pytest.raises(IllegalStateError, match="this stage is finished"):
            stage.finish()

    @pytest.mark.parametrize("attempt", ["", "../x", "a/b", "x" * 65])
    def test_refuses_an_attempt_that_could_not_be_in_a_file_name(self, broker: EmbeddedBroker, attempt: str) -> None:
        with pytest.raises(ArgumentError, match="cannot name an attempt"):
            broker.stage("app", 1, 0, attempt)


def test_an_application_can_be_forgotten_when_it_does_not_run(broker: EmbeddedBroker) -> None:
    lease = broker.acquire_lease("app")
    broker.decide(Decision("app", lease.epoch, 5, (), {("in", 0): OffsetAndMetadata(0)}, {"a": "1"}))
    with pytest.raises(LeaseHeldError, match="application app is running"):
        broker.delete_application("app")
    lease.release()
    broker.delete_application("app")
    assert (broker.last_decided("app"), broker.groups(), broker.applications()) == (None, [], [])
    again = broker.acquire_lease("app")
    assert again.epoch > lease.epoch
    broker.decide(batch(again.epoch, 0))
    assert broker.last_decided("app") == Decided(0, again.epoch, {})


def test_a_negative_batch_is_refused(broker: EmbeddedBroker, epoch: int) -> None:
    with pytest.raises(ArgumentError, match="batch id is 0 or more"):
        broker.decide(batch(epoch, -1))


def test_the_record_of_a_plain_producer_is_in_between(broker: EmbeddedBroker, epoch: int) -> None:
    segments = staged(broker, epoch, 0, "out", b"staged")
    broker.append([NewRecord("out", None, b"plain", partition=0)])
    broker.decide(batch(epoch, 0, segments))
    assert values(broker, "out") == [b"plain", b"staged"]
