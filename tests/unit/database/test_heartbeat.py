"""Signs of life: who gives none for long counts as gone, who gives one does not."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from headrace.broker import open_broker
from headrace.broker.port import Broker, Decision, Owner
from headrace.database.heartbeat import Heartbeat

OWNER = Owner("elsewhere", 1, 0)


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    with closing(open_broker(f"embedded:{tmp_path}", fsync="never")) as found:
        yield found


def test_an_owner_is_silent_when_nothing_changes_for_long(broker: Broker) -> None:
    watched = Heartbeat(broker, "runner", silent_seconds=-1)
    assert watched.is_silent(OWNER)
    patient = Heartbeat(broker, "runner", silent_seconds=3600)
    assert not patient.is_silent(OWNER)


def test_a_sign_and_another_owner_begin_the_time_anew(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr("headrace.database.heartbeat.time.monotonic", lambda: now)
    watched = Heartbeat(broker, "runner", silent_seconds=30)
    assert not watched.is_silent(OWNER)
    now = 29.0
    with broker.acquire_lease("runner") as lease:
        broker.decide(Decision("runner", lease.epoch, 0))
        assert not watched.is_silent(OWNER)
    now = 58.0
    assert not watched.is_silent(OWNER)
    assert not watched.is_silent(OWNER._replace(pid=2))
    now = 89.0
    assert watched.is_silent(OWNER._replace(pid=2))


def test_an_embedded_broker_needs_no_signs(broker: Broker) -> None:
    with broker.acquire_lease("runner") as lease:
        Heartbeat(broker, "runner").beat(lease)
    assert broker.last_decided("runner") is None
