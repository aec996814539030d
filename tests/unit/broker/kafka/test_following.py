"""The publisher that follows its control topic."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

import pytest

from headrace.broker.kafka import following
from headrace.broker.kafka.control import ControlState


def test_one_that_waits_for_news_ends_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing() -> None: ...

    reader = SimpleNamespace(state=ControlState(), follow=time.sleep, close=nothing)
    publisher = SimpleNamespace(number=0, begin=nothing, close=nothing)
    monkeypatch.setattr(following, "ControlReader", lambda *_: reader)
    monkeypatch.setattr(following, "Publisher", lambda *_: publisher)
    absent: Any = None

    def seconds() -> float:
        publisher = following.FollowingPublisher(absent, "app", 1, 0, absent)
        time.sleep(0.01)
        begun = time.monotonic()
        publisher.close()
        return time.monotonic() - begun

    assert min(seconds() for _ in range(3)) < 0.3
