"""A thousand worlds that end, in every way and at every step, and come out right all the same."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from random import Random

import pytest

from headrace.broker.embedded import EmbeddedBroker
from headrace.broker.port import NewRecord
from tests.simulation.__main__ import fault_of
from tests.simulation.database import FakeBatch, FakeDatabase
from tests.simulation.scheduler import Report, simulate
from tests.simulation.world import Crash, World

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="what was flushed is learned from /proc")

SEEDS = 500
ELSEWHERE_SEEDS = 150
AT_ONCE = 50


@pytest.mark.parametrize("first", range(0, SEEDS, AT_ONCE))
def test_nothing_is_lost_doubled_or_invented(first: int) -> None:
    faults = [fault for seed in range(first, first + AT_ONCE) if (fault := fault_of(seed)) is not None]
    assert not faults, "\n\n".join(faults)


@pytest.mark.parametrize("first", range(0, ELSEWHERE_SEEDS, AT_ONCE))
def test_nothing_is_lost_doubled_or_invented_on_a_broker_that_fences_and_loses_answers(first: int) -> None:
    reports: list[Report] = []
    seeds = range(first, first + AT_ONCE)
    faults = [fault for seed in seeds if (fault := fault_of(seed, is_elsewhere=True, reports=reports)) is not None]
    assert not faults, "\n\n".join(faults)
    assert sum(report.unknown for report in reports) > AT_ONCE / 4


def test_a_seed_replays_to_the_letter() -> None:
    traces: list[list[str]] = [[], []]
    for trace in traces:
        simulate(3, trace.append)
    assert traces[0] == traces[1]
    assert any("at " in line for line in traces[0])


class TestWorld:
    """What the simulation itself promises: without it a run could pass for want of faults."""

    def test_a_file_that_was_not_flushed_may_be_gone_after_a_power_loss(self, tmp_path: Path) -> None:
        survivors = {self._power_loss(tmp_path / str(seed), Random(seed), flush=False) for seed in range(20)}
        assert False in survivors

    def test_a_file_that_was_flushed_is_there_after_a_power_loss(self, tmp_path: Path) -> None:
        survivors = {self._power_loss(tmp_path / str(seed), Random(seed), flush=True) for seed in range(20)}
        assert survivors == {True}

    def _power_loss(self, directory: Path, random: Random, *, flush: bool) -> bool:
        """Whether a file of the broker's is whole after the power was lost."""
        directory.mkdir()
        world = World(directory, random, real_databases=False, trace=lambda _: None)
        with world.running(inline_bytes=100, roll_segments=1024):
            disk = world.open_embedded()._disk
            disk.create("1-t/0/a.arrow", b"x" * 2_000)
            if flush:
                disk.flush("1-t/0/a.arrow")
            world.crash_in, world.crash_takes_power = 1, True
            with pytest.raises(Crash):
                world.step("here")
            world.recover()
            return disk.size("1-t/0/a.arrow") == 2_000 and disk.path("1-t/0/a.arrow").read_bytes() == b"x" * 2_000

    def test_a_transaction_that_was_under_way_is_done_or_not_done(self, tmp_path: Path) -> None:
        world = World(tmp_path, Random(1), real_databases=False, trace=lambda _: None)
        with world.running(inline_bytes=64 * 1024, roll_segments=1024):
            broker = world.open_embedded()
            broker.create_topic("t")
            broker.append([NewRecord("t", b"k", b"acknowledged", 1)])
            world.crash_in, world.crash_takes_power = 4, True
            with pytest.raises(Crash, match=r"half a catalog\.commit"):
                broker.append([NewRecord("t", b"k", b"under way", 1)])
            world.recover()
            found = _values(world.open_embedded())
        assert found in ([b"acknowledged"], [b"acknowledged", b"under way"])

    def test_what_is_cleaned_up_while_the_crash_goes_up_does_not_count(self, tmp_path: Path) -> None:
        world = World(tmp_path, Random(1), real_databases=False, trace=lambda _: None)
        with world.running(inline_bytes=100, roll_segments=1024):
            broker = world.open_embedded()
            broker.create_topic("t")
            with pytest.raises(Crash), broker.acquire_lease("app"):
                world.crash_in = 1
                world.step("here")
            world.recover()
            world.clock.uptime -= 2_000
            assert world.open_embedded().lease_owner("app") is not None

    def test_a_database_loses_a_tail_of_what_was_written_since_it_was_opened(self, tmp_path: Path) -> None:
        database = FakeDatabase(str(tmp_path / "d"))
        for number in range(3):
            batch = FakeBatch()
            batch.put(b"a", b"%d" % number)
            batch.put(b"b", b"%d" % number)
            database.write(batch)
        log = tmp_path / "d" / "000002.log"
        os.truncate(log, log.stat().st_size - 1)
        assert dict(FakeDatabase(str(tmp_path / "d")).items()) == {b"a": b"1", b"b": b"1"}


def _values(broker: EmbeddedBroker) -> list[bytes | None]:
    return [record[5] for records in broker.read("t", 0, 0) for record in records]
