"""Exactly once on Kafka: whatever ends a process, and whenever, each result is seen once."""

from __future__ import annotations

import os
import signal
from contextlib import closing
from pathlib import Path

import pytest

from headrace.batch.local import LocalEngine
from headrace.broker.kafka import crash_points, groups, staging
from headrace.broker.port import Decision, Outcome
from headrace.errors import ConfigError, FencedError
from headrace.kafka_server import KafkaServer
from headrace.query.replicas import Replicas
from tests.kafka.proxy import END_TXN, Proxy
from tests.kafka.running import member, wait_for
from tests.kafka.tally import Tally, topology

_DRIVER = [crash_points.STAGED, crash_points.BEFORE_DECISION, crash_points.DECIDED, crash_points.BEFORE_OWNER]
_PUBLICATION = [
    crash_points.DECIDED,
    crash_points.PUBLISHING,
    crash_points.PART_PUBLISHED,
    crash_points.BEFORE_OFFSETS,
    crash_points.PUBLISHED,
    crash_points.SWEPT,
]
_SECONDS = 120.0


@pytest.fixture
def tally(kafka_address: str, kafka_name: str, tmp_path: Path) -> Tally:
    return Tally(kafka_address, kafka_name, tmp_path)


@pytest.mark.parametrize("hosts", [0, 1], ids=["with the decision", "after it"])
def test_every_result_is_seen_once(tally: Tally, monkeypatch: pytest.MonkeyPatch, hosts: int) -> None:
    monkeypatch.setattr(staging, "INLINE_BYTES", 0)
    tally.send(120)
    assert tally.run(hosts=hosts) >= 3
    tally.send(30)
    tally.run(hosts=hosts)
    tally.check()
    assert not list((tally.directory / "state" / ".staging").rglob("*.staged"))


@pytest.mark.parametrize("hosts", [0, 1], ids=["with the decision", "after it"])
def test_nothing_is_decided_while_somebody_reads_as_the_group(
    tally: Tally, monkeypatch: pytest.MonkeyPatch, hosts: int
) -> None:
    monkeypatch.setattr(staging, "INLINE_BYTES", 0)
    tally.send(20)
    tally.run(hosts=hosts)
    tally.send(20)
    with monkeypatch.context() as joined_later, member(tally.address, tally.name, f"{tally.name}-events"):
        joined_later.setattr(groups, "check_empty", lambda clients, group: None)
        with pytest.raises(FencedError, match="was taken over: its consumer group has members"):
            tally.run(hosts=hosts)
    tally.run(hosts=hosts)
    tally.check()


@pytest.mark.parametrize("point", _DRIVER)
def test_a_driver_that_is_killed_while_it_decides(tally: Tally, point: str) -> None:
    tally.send(120)
    _killed(tally, f"{point}:{1 if point == crash_points.BEFORE_OWNER else 2}")
    tally.run()
    tally.check()


def test_what_a_killed_driver_left_open_keeps_nobody_waiting_who_only_looks(tally: Tally) -> None:
    tally.send(120)
    _killed(tally, f"{crash_points.BEFORE_DECISION}:2")
    # The transaction of the one that was killed times out after 60 s.
    tally.timeout_ms = 20_000
    with closing(tally.broker()) as broker:
        assert tally.name in broker.applications()
        last = broker.last_decided(tally.name)
        assert last is not None and last.batch_id == 0
        with Replicas.of(topology(tally.name), tally.settings(), broker) as replicas:
            assert sum(row["value"] for row in replicas.rows("totals")) == 50


@pytest.mark.parametrize("point", _PUBLICATION)
def test_a_process_that_is_killed_between_the_decision_and_the_end_of_publication(tally: Tally, point: str) -> None:
    tally.send(120)
    _killed(tally, f"{point}:2", "hosts=1", "inline=0")
    tally.run()
    tally.check()


@pytest.mark.parametrize(
    "point", [crash_points.STAGED, crash_points.BEFORE_DECISION, crash_points.PUBLISHING, crash_points.BEFORE_OFFSETS]
)
def test_a_driver_that_wakes_up_late_writes_nothing_that_anyone_sees(tally: Tally, tmp_path: Path, point: str) -> None:
    tally.send(120)
    process = tally.spawn({"HEADRACE_FAILPOINT": f"{point}:2:stop"}, "hosts=1", "inline=0")
    _, status = os.waitpid(process.pid, os.WUNTRACED)
    assert os.WIFSTOPPED(status), process.communicate()[1]
    # Its tasks are open still: the successor has directories of its own, but for what is staged.
    other = Tally(tally.address, tally.name, tmp_path / "other")
    other.sent = tally.sent
    (tmp_path / "other" / "state").mkdir(parents=True)
    (tmp_path / "other" / "state" / ".staging").symlink_to(tmp_path / "state" / ".staging")
    other.run()
    other.check()
    os.kill(process.pid, signal.SIGCONT)
    _, said = process.communicate(timeout=_SECONDS)
    assert process.returncode == 1
    assert f"FencedError: application {tally.name} was taken over" in said
    other.check()
    other.send(20)
    other.run()
    other.check()


def test_a_successor_that_knows_the_cluster_by_another_address_takes_over(tally: Tally) -> None:
    tally.send(10)
    other = Tally(tally.address.replace("127.0.0.1", "localhost"), tally.name, tally.directory)
    with closing(tally.broker()) as broker, LocalEngine(topology(tally.name), tally.settings(), broker):
        other.run()
    tally.check()


def test_two_that_take_turns_fence_each_other(tally: Tally) -> None:
    tally.send(10)
    with closing(tally.broker()) as one, closing(tally.broker()) as two:
        first = one.acquire_lease(tally.name)
        first.renew()
        second = two.acquire_lease(tally.name, note="the second")
        assert second.epoch > first.epoch
        with pytest.raises(FencedError, match=f"{tally.name} was taken over"):
            first.renew()
        with pytest.raises(FencedError):
            one.decide(Decision(tally.name, first.epoch, 0, notes={"a": "1"}))
        # The first one asked in a new session, and fenced the second by that: it goes on.
        decision = Decision(tally.name, second.epoch, 0, notes={"a": "2"})
        if two.decide(decision) is Outcome.UNKNOWN:
            assert two.outcome(decision) is Outcome.NOT_DONE
        assert two.decide(decision) is Outcome.DONE
        owner = one.lease_owner(tally.name)
        assert owner is not None and owner.note == "the second"
        two.check_lease(tally.name, second.epoch)
        with pytest.raises(FencedError):
            two.check_lease(tally.name, first.epoch)
        # Who only looks is told what was committed this moment a little later.
        wait_for(lambda: (decided := one.last_decided(tally.name)) is not None and decided.notes == {"a": "2"})
        assert tally.name in one.applications()
        second.release()
        wait_for(lambda: one.lease_owner(tally.name) is None)
        one.delete_application(tally.name)
        assert one.last_decided(tally.name) is None


@pytest.mark.parametrize("closes", [True, False], ids=["and the connection", "and nothing follows"])
def test_a_commit_whose_answer_is_lost_is_asked_for(
    kafka_behind_proxy: tuple[KafkaServer, Proxy], kafka_name: str, tmp_path: Path, closes: bool
) -> None:
    server, proxy = kafka_behind_proxy
    tally = Tally(server.address, kafka_name, tmp_path)
    tally.send(200)
    process = Tally(proxy.address, kafka_name, tmp_path).spawn({}, "hosts=1", "inline=0", "batch=20", "timeout=8000")
    for _ in range(3):
        lost = proxy.lose_replies(END_TXN, 1, closes=closes)
        if not lost.wait(_SECONDS):
            process.kill()
            pytest.fail(f"no commit came: {process.communicate(timeout=_SECONDS)[1]}")
    _, said = process.communicate(timeout=_SECONDS)
    assert process.returncode == 0, said
    tally.check()


def test_at_least_once_loses_nothing(kafka_address: str, kafka_name: str, tmp_path: Path) -> None:
    tally = Tally(kafka_address, kafka_name, tmp_path, "at_least_once")
    tally.send(120)
    tally.run()
    tally.check()
    tally.send(50)
    _killed(tally, f"{crash_points.STAGED}:3", "guarantee=at_least_once", "batch=20")
    tally.run()
    with closing(tally.broker()) as broker:
        echo = {
            record[5] for number in (0, 1) for each in broker.read(f"{kafka_name}-echo", number, 0) for record in each
        }
        assert len(echo) == 170
        assert sum(broker.lag(kafka_name).values()) == 0


def test_a_staging_directory_that_is_not_shared_is_refused(tally: Tally, tmp_path: Path) -> None:
    tally.send(10)
    elsewhere = Tally(tally.address, tally.name, tmp_path / "elsewhere")
    with closing(tally.broker()) as driver, closing(elsewhere.broker()) as host:
        lease = driver.acquire_lease(tally.name)
        with pytest.raises(ConfigError, match=r"not the same place for all processes(.|\n)*Set staging.dir"):
            host.stage(tally.name, lease.epoch, 0, "0_0-0-a")


def _killed(tally: Tally, failpoint: str, *options: str) -> None:
    process = tally.spawn({"HEADRACE_FAILPOINT": failpoint}, *options)
    _, said = process.communicate(timeout=_SECONDS)
    assert process.returncode == -signal.SIGKILL, said
