"""The driver waits for its publishers, which it cannot do before it sees what there is to publish."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from headrace.broker.config import BrokerConfig
from headrace.broker.kafka import publishing
from headrace.broker.kafka.clients import Clients
from headrace.broker.kafka.control import ControlState, DecisionRecord, MarkRecord
from headrace.broker.kafka.publishing import Publishers, patience
from headrace.broker.kafka.staging import Staged
from headrace.errors import BrokerUnreachableError

BATCH = 3


class LateReader:
    """What the control topic says comes bit by bit, as it does when a commit is answered before its end is written."""

    application = "app"

    def __init__(self, *events: Callable[[ControlState], None] | None) -> None:
        self.state = ControlState(decision=DecisionRecord(BATCH - 1, 1, [], 0), published=BATCH - 1)
        self._events = list(events)

    @property
    def left(self) -> int:
        return len(self._events)

    def follow(self, seconds: float) -> bool:
        event = self._events.pop(0) if self._events else None
        if event is not None:
            event(self.state)
        return event is not None

    def catch_up(self) -> ControlState:
        """What can be read now."""
        return self.state


def decided(state: ControlState) -> None:
    state.stages[0] = BATCH, msgspec.msgpack.encode(Staged(1, 40_000, "a file"))
    state.decision = DecisionRecord(BATCH, 1, [], 1)


def marked(state: ControlState) -> None:
    state.marks[1] = MarkRecord(BATCH, {})


def publishers(reader: LateReader, timeout_ms: int = 60_000) -> Publishers:
    config = BrokerConfig("127.0.0.1:1", {"admin.default.api.timeout.ms": timeout_ms})
    given: Any = reader
    nowhere: Any = None
    return Publishers(Clients(config), given, 1, nowhere)


def test_a_batch_is_published_when_its_marks_are_there_and_not_while_its_decision_cannot_be_read_yet() -> None:
    reader = LateReader(None, None, decided, None, marked)
    publishers(reader).wait_and_finish(BATCH)
    assert not reader.left
    assert reader.state.marks[1].batch_id == BATCH


@pytest.mark.parametrize("name", ["wait_and_finish", "finish"])
def test_a_decision_that_never_comes_is_no_published_batch(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(publishing, "_LOOK_SECONDS", 0.0)
    with pytest.raises(BrokerUnreachableError, match="batch 3 of app cannot be read"):
        getattr(publishers(LateReader(), timeout_ms=50), name)(BATCH)


def test_publishers_get_more_time_for_more_records() -> None:
    state = ControlState()
    least = patience(state)
    decided(state)
    assert patience(state) == least + 2
