"""Which applications there are: asked of no control topic that is not needed."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from headrace.broker.config import BrokerConfig
from headrace.broker.kafka.clients import Clients
from headrace.broker.kafka.control import ControlState, DecisionRecord, control_topic
from headrace.broker.kafka.ownership import KafkaOwnership
from headrace.broker.kafka.staging_directory import StagingDirectory


def test_only_control_topics_of_names_that_are_asked_for_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = {control_topic(name): 1 for name in ("a-one", "a-two", "b-one")}
    log = cast("Any", SimpleNamespace(topics=lambda: there))
    directory = StagingDirectory(str(tmp_path), lambda: "cluster")
    ownership = KafkaOwnership(Clients(BrokerConfig("127.0.0.1:1")), log, directory)
    read: list[str] = []

    def settled(name: str) -> ControlState:
        read.append(name)
        return ControlState(decision=DecisionRecord(0, 1, [], 0) if name == "a-two" else None)

    monkeypatch.setattr(ownership.topics, "settled", settled)
    assert ownership.applications("a-") == ["a-two"]
    assert read == ["a-one", "a-two"]
