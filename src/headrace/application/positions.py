"""From where a partition is read: what was committed, or what the reset policy finds. Nothing is skipped in silence.

And how much is yet to be read, from there on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from headrace.application.resets import DEFAULT, Reset, ResetPolicy
from headrace.commands import command
from headrace.errors import OffsetError

if TYPE_CHECKING:
    from headrace.application.layout import Application
    from headrace.broker.port import Log, TopicPartition

OffsetForTime: TypeAlias = Callable[[str, int, int], "int | None"]
"""``(topic, partition, timestamp_ms)``: the first offset with that time or a later one; None without one."""


@dataclass(frozen=True, slots=True)
class PartitionState:
    """What is known of one partition when a batch is planned."""

    topic: str
    partition: int
    log_start: int
    log_end: int
    """One past the last record that may be read: the last stable offset."""
    address: str
    """Of the broker, for commands that errors recommend."""
    committed: int | None = None
    reset: ResetPolicy = DEFAULT

    @property
    def name(self) -> str:
        return f"{self.topic}-{self.partition}"


@dataclass(frozen=True, slots=True)
class ReadPosition:
    offset: int
    is_reset: bool = False
    """It is not what was committed: commit it with the next batch, even if that reads nothing."""
    lost: tuple[int, int] | None = None
    """``(committed, log start)``: the records between were deleted unread, and the reset policy allows that."""


def position_of(state: PartitionState, now_ms: int, offset_for_time: OffsetForTime | None = None) -> ReadPosition:
    """Where to go on reading. An OffsetError where that cannot be decided without losing something unasked.

    Kafka follows its default reset policy, earliest, also where records were deleted before they were read. Here only
    a policy that somebody asked for does that.
    """
    committed = state.committed
    if committed is not None and state.log_start <= committed <= state.log_end:
        return ReadPosition(committed)
    if committed is not None and (state.reset.is_default or state.reset.reset is Reset.NONE):
        raise _out_of_range(state, committed)
    offset = _reset_offset(state, now_ms, offset_for_time)
    lost = (committed, state.log_start) if committed is not None and committed < state.log_start else None
    return ReadPosition(offset, is_reset=True, lost=lost)


def lags(application: Application, broker: Log) -> dict[TopicPartition, int]:
    """Offsets still to be read, by partition, before the first commit as well.

    A topic that nothing was committed for yet counts whole where it will be read from its beginning; one with another
    reset policy counts from its first commit on.
    """
    found = broker.lag(application.id)
    begun, there = {topic for topic, _ in found}, broker.topics()
    whole = [
        (topic, number)
        for topic, policy in application.reset_policies().items()
        if topic not in begun and policy.reset is Reset.EARLIEST
        for number in range(there.get(topic, 0))
    ]
    starts, ends = broker.start_offsets(whole), broker.end_offsets(whole)
    return found | {partition: ends[partition] - starts[partition] for partition in whole}


def _reset_offset(state: PartitionState, now_ms: int, offset_for_time: OffsetForTime | None) -> int:
    reset = state.reset.reset
    if reset is Reset.EARLIEST:
        return state.log_start
    if reset is Reset.LATEST:
        return state.log_end
    if reset is Reset.NONE:
        message = f"there is no committed offset for {state.name} and the reset policy is none"
        hint = "Commit a position first, or set offset_reset of the source or consumer.auto.offset.reset to earliest."
        raise OffsetError(message, detail=_range(state), hint=hint)
    assert offset_for_time is not None, "a policy by duration needs the broker"
    found = offset_for_time(state.topic, state.partition, now_ms - state.reset.duration_ms)
    # As in Kafka: where no record has that time or a later one, reading starts at the end.
    return state.log_end if found is None else min(max(found, state.log_start), state.log_end)


def _out_of_range(state: PartitionState, committed: int) -> OffsetError:
    if committed < state.log_start:
        gone = state.log_start - committed
        message = f"{gone} records of {state.name} were deleted before they were read"
        look = command(f"topics describe {state.topic}", state.address)
        hint = (
            f"See what retention removed: {look}. To go on without them set "
            "consumer.auto.offset.reset to earliest or latest."
        )
    else:
        message = f"the committed offset of {state.name} is beyond the end of the topic"
        hint = (
            "Was the topic deleted and created again, or cut? To read it from the start set "
            "consumer.auto.offset.reset to earliest, or reset the application."
        )
    return OffsetError(message, detail=f"committed offset {committed}, {_range(state)}", hint=hint)


def _range(state: PartitionState) -> str:
    return f"the topic has offsets {state.log_start} to {state.log_end}"
