"""Consumer groups."""

from __future__ import annotations

import pytest

from headrace.broker.embedded import EmbeddedBroker
from headrace.broker.port import OffsetAndMetadata
from headrace.errors import ArgumentError, UnknownTopicError
from tests.unit.broker.scene import put


def test_a_group_remembers_how_far_it_read(broker: EmbeddedBroker) -> None:
    broker.create_topic("clicks", partitions=2)
    put(broker, "clicks", *[(b"k", b"v")] * 5)
    broker.commit_offsets("readers", {("clicks", 0): OffsetAndMetadata(1), ("clicks", 1): OffsetAndMetadata(0, "note")})
    broker.commit_offsets("readers", {("clicks", 0): OffsetAndMetadata(3)})
    assert broker.committed("readers") == {("clicks", 0): (3, ""), ("clicks", 1): (0, "note")}
    assert broker.lag("readers") == {("clicks", 0): 2, ("clicks", 1): 0}
    assert broker.groups() == ["readers"]
    broker.delete_group("readers")
    assert (broker.committed("readers"), broker.groups(), broker.lag("readers")) == ({}, [], {})


def test_lag_counts_only_what_is_still_there(broker: EmbeddedBroker) -> None:
    broker.create_topic("clicks")
    put(broker, "clicks", *[(b"k", b"v")] * 5)
    broker.commit_offsets("readers", {("clicks", 0): OffsetAndMetadata(1)})
    broker.delete_records({("clicks", 0): 4})
    assert broker.lag("readers") == {("clicks", 0): 1}


@pytest.mark.parametrize("where", [("views", 0), ("clicks", 1)])
def test_refuses_what_is_not_there(broker: EmbeddedBroker, where: tuple[str, int]) -> None:
    broker.create_topic("clicks")
    with pytest.raises(UnknownTopicError):
        broker.commit_offsets("readers", {("clicks", 0): OffsetAndMetadata(0), where: OffsetAndMetadata(0)})
    assert broker.groups() == []


def test_refuses_negative_offsets_and_bad_names(broker: EmbeddedBroker) -> None:
    broker.create_topic("clicks")
    with pytest.raises(ArgumentError, match="cannot commit the offset -1 of clicks-0"):
        broker.commit_offsets("readers", {("clicks", 0): OffsetAndMetadata(-1)})
    with pytest.raises(ArgumentError, match=r"the group name '../up' is illegal"):
        broker.commit_offsets("../up", {})
