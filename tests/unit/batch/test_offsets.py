from __future__ import annotations

import pytest

from headrace.application.positions import PartitionState
from headrace.application.resets import DEFAULT, Reset, ResetPolicy
from headrace.batch.offsets import BatchPlan, LostRecords, ReadRange, fair_shares, plan_batch
from headrace.config import StreamsConfig
from headrace.errors import OffsetError

EARLIEST, LATEST, NONE = (ResetPolicy(reset) for reset in (Reset.EARLIEST, Reset.LATEST, Reset.NONE))


def state(
    topic: str, committed: int | None, log: tuple[int, int], partition: int = 0, **more: object
) -> PartitionState:
    return PartitionState(topic, partition, *log, "h:1", committed, **more)  # type: ignore[arg-type]


def spans(plan: BatchPlan) -> dict[str, tuple[int, int]]:
    return {f"{each.topic}-{each.partition}": (each.start, each.end) for each in plan.ranges}


def test_a_batch_reads_from_what_is_committed_to_the_end() -> None:
    plan = plan_batch([state("a", 5, (0, 9)), state("b", 3, (1, 4), partition=2)], now_ms=0)
    assert spans(plan) == {"a-0": (5, 9), "b-2": (3, 4)}
    assert (plan.records, plan.lost) == (5, ())


def test_nothing_to_read_is_no_batch() -> None:
    plan = plan_batch([state("a", 9, (0, 9))], now_ms=0)
    assert plan.ranges == ()


# The rate limit


def test_the_limit_is_spread_evenly_and_what_is_left_over_goes_to_the_others() -> None:
    states = [state("a", 0, (0, 1000)), state("b", 0, (0, 10)), state("c", 0, (0, 1000))]
    plan = plan_batch(states, now_ms=0, limit=110)
    assert spans(plan) == {"a-0": (0, 50), "b-0": (0, 10), "c-0": (0, 50)}
    assert [each.lag for each in plan.ranges] == [950, 0, 950]


def test_what_cannot_be_divided_goes_to_the_first() -> None:
    states = [state("c", 0, (0, 9)), state("a", 0, (0, 9)), state("b", 0, (0, 9))]
    assert spans(plan_batch(states, now_ms=0, limit=8)) == {"a-0": (0, 3), "b-0": (0, 3), "c-0": (0, 2)}
    assert spans(plan_batch(states, now_ms=0, limit=7)) == {"a-0": (0, 3), "b-0": (0, 2), "c-0": (0, 2)}


@pytest.mark.parametrize(
    ("waiting", "limit", "shares"),
    [
        ([], 5, []),
        ([0, 0], 5, [0, 0]),
        ([7, 2], None, [7, 2]),
        ([7, 2], 9, [7, 2]),
        ([7, 2], 8, [6, 2]),
        ([5, 0, 5], 2, [1, 0, 1]),
        ([5, 5, 5], 1, [1, 1, 1]),
        ([100, 1, 60, 30], 100, [35, 1, 34, 30]),
    ],
)
def test_shares(waiting: list[int], limit: int | None, shares: list[int]) -> None:
    assert fair_shares(waiting, limit) == shares


def test_the_limit_is_a_setting() -> None:
    assert StreamsConfig({"application.id": "app"})["max.records.per.batch"] is None
    assert StreamsConfig({"application.id": "app", "max.records.per.batch": "500"})["max.records.per.batch"] == 500


# Nothing committed


@pytest.mark.parametrize(("policy", "start"), [(EARLIEST, 3), (LATEST, 9)])
def test_without_a_committed_offset_the_policy_decides(policy: ResetPolicy, start: int) -> None:
    (planned,) = plan_batch([state("a", None, (3, 9), reset=policy)], now_ms=0).ranges
    assert planned == ReadRange("a", 0, start, 9, 9, is_reset=True)


def test_a_position_that_was_found_is_committed_even_if_there_is_nothing_to_read() -> None:
    """Otherwise 'latest' would be looked up again in the next batch, and skip what came in between."""
    plan = plan_batch([state("a", None, (0, 9), reset=LATEST)], now_ms=0)
    assert plan.ranges
    assert plan.records == 0


def test_the_default_is_the_beginning() -> None:
    assert spans(plan_batch([state("a", None, (3, 9))], now_ms=0)) == {"a-0": (3, 9)}


def test_without_a_committed_offset_and_without_a_policy_there_is_no_start() -> None:
    with pytest.raises(OffsetError, match="no committed offset for a-0 and the reset policy is none") as error:
        plan_batch([state("a", None, (3, 9), reset=NONE)], now_ms=0)
    assert "the topic has offsets 3 to 9" in str(error.value)


@pytest.mark.parametrize(("found", "start"), [(5, 5), (None, 9), (1, 3)])
def test_by_duration_starts_that_long_ago(found: int | None, start: int) -> None:
    asked = []

    def offset_for_time(topic: str, partition: int, timestamp_ms: int) -> int | None:
        asked.append((topic, partition, timestamp_ms))
        return found

    policy = ResetPolicy(Reset.BY_DURATION, 400)
    plan = plan_batch([state("a", None, (3, 9), reset=policy)], now_ms=1000, offset_for_time=offset_for_time)
    assert asked == [("a", 0, 600)]
    assert spans(plan) == {"a-0": (start, 9)}


# What is committed is gone


@pytest.mark.parametrize("policy", [DEFAULT, NONE])
def test_records_that_were_deleted_unread_are_an_error(policy: ResetPolicy) -> None:
    with pytest.raises(OffsetError, match="4 records of a-0 were deleted before they were read") as error:
        plan_batch([state("a", 1, (5, 9), reset=policy)], now_ms=0)
    assert "committed offset 1, the topic has offsets 5 to 9" in str(error.value)
    assert "consumer.auto.offset.reset" in str(error.value)


@pytest.mark.parametrize(("policy", "start"), [(EARLIEST, 5), (LATEST, 9)])
def test_a_policy_that_was_asked_for_goes_on_and_the_loss_is_reported(policy: ResetPolicy, start: int) -> None:
    plan = plan_batch([state("a", 1, (5, 9), reset=policy)], now_ms=0)
    assert plan.ranges == (ReadRange("a", 0, start, 9, 9, is_reset=True),)
    assert plan.lost == (LostRecords("a", 0, 1, 5),)


def test_a_position_beyond_the_end_is_an_error_unless_a_policy_says_otherwise() -> None:
    with pytest.raises(OffsetError, match="beyond the end") as error:
        plan_batch([state("a", 12, (0, 9))], now_ms=0)
    assert "created again" in str(error.value)
    again = plan_batch([state("a", 12, (0, 9), reset=EARLIEST)], now_ms=0)
    assert (spans(again), again.lost) == ({"a-0": (0, 9)}, ())
