"""Leases: one process at a time, and none that was replaced."""

from __future__ import annotations

import os
import shutil
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import pytest

from headrace.broker import leases
from headrace.broker.embedded import EmbeddedBroker
from headrace.broker.port import NewRecord, Outcome
from headrace.broker.seal import SealedConnection
from headrace.errors import ArgumentError, BrokerError, BrokerGoneError, FencedError, LeaseHeldError
from tests.unit.broker.scene import FakeClock, batch


def test_a_live_lease_is_refused_by_name(broker: EmbeddedBroker, clock: FakeClock) -> None:
    broker.acquire_lease("app", note="shop.py")
    clock.uptime += 10_000
    message = (
        rf"application app is already running: process {os.getpid()} on host {socket.gethostname()}, since 1970-01-01"
        r"[^\n]*\n  detail: epoch 1, shop.py\n  hint: Stop that process, .*its lease ends in 20 s"
    )
    with pytest.raises(LeaseHeldError, match=message):
        broker.acquire_lease("app")
    assert broker.lease_owner("app") == (socket.gethostname(), os.getpid(), 1_000_000, "shop.py")


def test_applications_have_leases_of_their_own(broker: EmbeddedBroker) -> None:
    assert broker.acquire_lease("one").epoch == 1
    assert broker.acquire_lease("two").epoch == 1
    assert broker.applications() == ["one", "two"]


def test_a_released_lease_is_free_and_the_epoch_grows(broker: EmbeddedBroker) -> None:
    with broker.acquire_lease("app") as lease:
        assert (lease.application, lease.epoch) == ("app", 1)
    assert broker.lease_owner("app") is None
    assert broker.acquire_lease("app").epoch == 2


def test_a_lease_that_could_not_be_given_back_is_taken_again_by_the_process_that_ended_it(
    broker: EmbeddedBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    lease = broker.acquire_lease("app")
    with monkeypatch.context() as full:
        full.setattr(SealedConnection, "seal", raise_full)
        with pytest.raises(BrokerError, match="no space left for the catalog"):
            lease.release()
    assert broker.lease_owner("app") is None
    again = broker.acquire_lease("app")
    assert again.epoch == 2
    with pytest.raises(LeaseHeldError):
        broker.acquire_lease("app")
    with pytest.raises(FencedError):
        lease.renew()


def raise_full(connection: SealedConnection) -> NoReturn:
    raise sqlite3.OperationalError("database or disk is full")


def test_an_expired_lease_is_taken_over_and_its_holder_fenced(broker: EmbeddedBroker, clock: FakeClock) -> None:
    old = broker.acquire_lease("app", ttl_ms=100)
    clock.uptime += 100
    new = broker.acquire_lease("app")
    assert new.epoch == 2
    message = rf"application app was taken over: epoch 1 .*\n  detail: Epoch 2 belongs to process {os.getpid()}"
    with pytest.raises(FencedError, match=message):
        old.renew()
    with pytest.raises(FencedError, match=message):
        broker.decide(batch(1, 0))
    old.release()
    assert broker.lease_owner("app") is not None


def test_renewing_keeps_it(broker: EmbeddedBroker, clock: FakeClock) -> None:
    lease = broker.acquire_lease("app", ttl_ms=100)
    for _ in range(5):
        clock.uptime += 99
        lease.renew()
    with pytest.raises(LeaseHeldError):
        broker.acquire_lease("app")


def test_a_holder_that_slept_goes_on_where_nobody_took_over(broker: EmbeddedBroker, clock: FakeClock) -> None:
    lease = broker.acquire_lease("app", ttl_ms=100)
    clock.uptime += 1_000
    lease.renew()
    assert broker.decide(batch(1, 0)) is Outcome.DONE


def test_a_holder_that_released_it_may_not_commit(broker: EmbeddedBroker) -> None:
    broker.acquire_lease("app").release()
    with pytest.raises(FencedError, match="Nobody holds its lease now"):
        broker.decide(batch(1, 0))


def test_setting_the_clock_of_the_machine_changes_nothing(broker: EmbeddedBroker, clock: FakeClock) -> None:
    broker.acquire_lease("app", ttl_ms=1_000)
    clock.now += 3_600_000
    with pytest.raises(LeaseHeldError):
        broker.acquire_lease("app")
    clock.now -= 7_200_000
    clock.uptime += 1_000
    broker.acquire_lease("app")


def test_the_lease_of_a_dead_process_is_taken_at_once(broker: EmbeddedBroker) -> None:
    program = (
        "import os, sys; from headrace.broker import open_broker\n"
        "open_broker(sys.argv[1]).acquire_lease('app', ttl_ms=10**9); os._exit(0)"
    )
    subprocess.run([sys.executable, "-c", program, broker.address], check=True)
    with broker._catalog.write() as connection:  # the child looked at the real clock
        connection.execute("UPDATE leases SET renewed = 0, expires = 1000000000")
    assert broker.lease_owner("app") is None
    assert broker.acquire_lease("app").epoch == 2


def test_a_process_with_a_number_that_was_used_before_is_another(
    broker: EmbeddedBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker.acquire_lease("app")
    monkeypatch.setattr(leases, "_start_of", lambda pid: "later")
    assert broker.acquire_lease("app").epoch == 2


def test_after_a_restart_of_the_machine_nobody_holds_it(
    broker: EmbeddedBroker, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker.acquire_lease("app")
    with monkeypatch.context() as patch:
        patch.setattr(leases, "boot_id", lambda: "another")
        assert broker.acquire_lease("app").epoch == 2
    clock.uptime = 10
    assert broker.acquire_lease("app").epoch == 3


def test_a_process_that_cannot_be_seen_is_believed_until_its_time_is_up(
    broker: EmbeddedBroker, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker.acquire_lease("app", ttl_ms=100)
    monkeypatch.setattr(leases, "_start_of", lambda pid: "gone")
    with monkeypatch.context() as patch:
        patch.setattr(leases, "_namespace", lambda: "another container")
        with pytest.raises(LeaseHeldError):
            broker.acquire_lease("app")
    with monkeypatch.context() as patch:
        patch.setattr(socket, "gethostname", lambda: "another host")
        with pytest.raises(LeaseHeldError):
            broker.acquire_lease("app")
        clock.uptime += 100
        broker.acquire_lease("app")


def test_refuses_bad_arguments(broker: EmbeddedBroker) -> None:
    with pytest.raises(ArgumentError, match="1 ms or more"):
        broker.acquire_lease("app", ttl_ms=0)
    with pytest.raises(ArgumentError, match="the application name 'a/b' is illegal"):
        broker.acquire_lease("a/b")


def test_a_lease_that_is_taken_while_another_waits_for_the_catalog_is_not_taken_over(
    broker: EmbeddedBroker, clock: FakeClock
) -> None:
    class Busy:
        """The catalog, which another one writes to first."""

        def write(self) -> Any:
            clock.uptime += 10
            broker.acquire_lease("app")
            return broker._catalog.write()

    with pytest.raises(LeaseHeldError):
        leases.acquire(Busy(), clock, "app", 5000, "")  # type: ignore[arg-type]


def test_a_directory_that_is_removed_or_made_again_is_no_longer_held(tmp_path: Path) -> None:
    home = tmp_path / "data"
    with EmbeddedBroker(home) as broker:
        lease = broker.acquire_lease("app")
        lease.renew()
        shutil.rmtree(home)
        with pytest.raises(BrokerGoneError, match="was removed or replaced while it was in use"):
            lease.renew()
        with EmbeddedBroker(home):
            pass
        with pytest.raises(BrokerGoneError):
            lease.renew()


@pytest.mark.parametrize(
    "use",
    [
        lambda broker: broker.append([NewRecord("in", b"k", b"lost")]),
        lambda broker: broker.create_topic("more"),
        lambda broker: broker.delete_topic("in"),
        lambda broker: broker.topics(),
    ],
    ids=["append", "create", "delete", "read"],
)
def test_who_had_a_directory_open_does_no_harm_to_the_one_that_took_its_place(
    tmp_path: Path, use: Callable[[EmbeddedBroker], object]
) -> None:
    home = tmp_path / "data"
    with EmbeddedBroker(home) as old:
        old.create_topic("in")
        for _ in range(30):
            old.append([NewRecord("in", b"k", b"old")])
        home.rename(tmp_path / "put aside")
        with EmbeddedBroker(home) as new:
            new.create_topic("in")
            new.append([NewRecord("in", b"k", b"new")])
        with pytest.raises(BrokerGoneError, match="was removed or replaced while it was in use"):
            use(old)
    with EmbeddedBroker(home) as new:
        assert new.topics() == {"in": 1}
        assert new.end_offsets([("in", 0)]) == {("in", 0): 1}
