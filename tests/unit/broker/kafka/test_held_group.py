"""A publisher leaves the group where it is: what it sends is what it finds, however slow the answers are."""

from __future__ import annotations

from typing import Any
from unittest import mock

import pytest

from headrace.broker.config import BrokerConfig
from headrace.broker.kafka import held_group
from headrace.broker.kafka.clients import Clients
from headrace.broker.kafka.control import DecisionRecord
from headrace.broker.kafka.held_group import HeldGroup
from headrace.broker.port import OffsetAndMetadata
from headrace.errors import FencedError

_PLACE = ("in", 0)
_DECISION = DecisionRecord(1, 1, [("in", 0, 9, "")], 1, [("in", 0, 3)])


def _group(monkeypatch: pytest.MonkeyPatch, answers: list[int]) -> tuple[HeldGroup, list[int]]:
    group, sent = HeldGroup(Clients(BrokerConfig("127.0.0.1:1")), "app"), list[int]()

    def send(producer: Any, offsets: Any) -> None:
        sent.append(offsets[_PLACE].offset)

    monkeypatch.setattr(group, "_committed", lambda places: {_PLACE: OffsetAndMetadata(answers.pop(0))})
    monkeypatch.setattr(group, "_send", send)
    return group, sent


def test_offsets_are_sent_also_where_the_first_answer_was_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(held_group, "_LATE_SECONDS", -60.0)
    group, sent = _group(monkeypatch, [3, 4, 4])
    group.keep(mock.Mock(), _DECISION)
    assert sent == [3, 4]


def test_a_group_that_somebody_goes_on_moving_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    group, _ = _group(monkeypatch, list(range(3, 20)))
    producer = mock.Mock()
    with pytest.raises(FencedError, match="offsets of application app were set by hand while it ran"):
        group.keep(producer, _DECISION)
    producer.abort_transaction.assert_called_once()
