"""Many processes at once, processes that die anywhere, and disks that lie."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from headrace import failpoints
from headrace.broker import crash_points
from headrace.broker.embedded import EmbeddedBroker
from headrace.broker.port import Lease, NewRecord, OffsetAndMetadata
from headrace.errors import CorruptLogError, LeaseHeldError
from headrace.partitioning import default_partition
from headrace.records import RawRecord
from tests.integration.broker import worker
from tests.integration.broker.worker import BIG, finish, start

KEEP = {"retention.ms": -1}


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker(tmp_path / "data") as opened:
        opened.create_topic("in", config=KEEP)
        opened.create_topic("out", config=KEEP)
        opened.create_topic("log", partitions=2, config=KEEP)
        opened.create_topic("changes", config={"cleanup.policy": "compact"})
        yield opened


def records(broker: EmbeddedBroker, topic: str, partition: int = 0) -> list[RawRecord]:
    return [record for chunk in broker.read(topic, partition, 0) for record in chunk]


def values(broker: EmbeddedBroker, topic: str, partition: int = 0) -> list[bytes | None]:
    return [record[5] for record in records(broker, topic, partition)]


def unregistered(broker: EmbeddedBroker) -> set[str]:
    with broker._catalog.read() as connection:
        known = {row[0] for row in connection.execute("SELECT file FROM segments WHERE file IS NOT NULL")}
    return {file for file, _ in broker._disk.files()} - known


def latest(broker: EmbeddedBroker, topic: str) -> dict[bytes | None, bytes | None]:
    return {record[4]: record[5] for record in records(broker, topic)}


def test_many_processes_append_and_read_at_once(broker: EmbeddedBroker, tmp_path: Path) -> None:
    """Four writers, a reader per partition, and one that merges under their feet."""
    directory, done = str(broker.directory), str(tmp_path / "done")
    appends, seeds = 40, [random.randrange(10**9) for _ in range(4)]
    upkeep = start(worker.maintain_until, directory, done)
    try:
        writers = [start(worker.append_in_order, directory, number, appends, seed) for number, seed in enumerate(seeds)]
        for writer in writers:
            finish(writer)
        ends = broker.end_offsets([("log", 0), ("log", 1)])
        readers = [start(worker.follow, directory, partition, ends["log", partition]) for partition in range(2)]
        for reader in readers:
            finish(reader)
    finally:
        Path(done).touch()
    finish(upkeep)
    counts = dict.fromkeys(range(4), 0)
    for partition in range(2):
        for record in records(broker, "log", partition):
            counts[int(record[4] or b"")] += 1
    assert counts == {number: expected(seed, appends) for number, seed in enumerate(seeds)}, seeds
    assert unregistered(broker) == set()


def expected(seed: int, appends: int) -> int:
    chance = random.Random(seed)
    return sum(chance.choice([(10, 1), (10, 30), (3000, 30)])[1] for _ in range(appends))


def test_readers_follow_while_writers_write(broker: EmbeddedBroker) -> None:
    directory, seed = str(broker.directory), random.randrange(10**9)
    total = expected(seed, 30)
    reader = start(worker.follow, directory, default_partition(b"7", 2), total)
    finish(start(worker.append_in_order, directory, 7, 30, seed))
    finish(reader)


COMMIT_POINTS = [
    crash_points.SEGMENT_WRITTEN,
    crash_points.BEFORE_CATALOG,
    crash_points.INSIDE_CATALOG,
    crash_points.AFTER_CATALOG,
]


class TestKills:
    @pytest.mark.parametrize("nth", [1, 2, 4])
    @pytest.mark.parametrize("point", COMMIT_POINTS)
    def test_while_appending(self, broker: EmbeddedBroker, point: str, nth: int) -> None:
        directory = str(broker.directory)
        finish(start(worker.append_the_rest, directory, 9, failpoint=f"{point}:{nth}"), killed=True)
        finish(start(worker.append_the_rest, directory, 9))
        whole = [worker.value(0, sequence, 5000 if sequence % 2 else 1) for sequence in range(9) for _ in range(20)]
        assert values(broker, "out") == whole
        broker.sweep(grace_ms=0)
        assert unregistered(broker) == set()

    @pytest.mark.parametrize("nth", [1, 3])
    @pytest.mark.parametrize("point", COMMIT_POINTS)
    def test_while_committing(self, broker: EmbeddedBroker, point: str, nth: int) -> None:
        """Output is staged by a task and committed by a driver; the next driver goes on where this one was."""
        directory = str(broker.directory)
        broker.append([NewRecord("in", b"%d" % (number % 7), b"%d" % number + BIG * 2, number) for number in range(60)])
        finish(start(worker.run_batches, directory, 6, failpoint=f"{point}:{nth}"), killed=True)
        finish(start(worker.run_batches, directory, 6))
        assert values(broker, "out") == values(broker, "in")
        assert len(values(broker, "changes")) == 60
        assert broker.committed("app") == {("in", 0): OffsetAndMetadata(60)}
        assert broker.lag("app") == {("in", 0): 0}
        last = broker.last_decided("app")
        assert last is not None
        assert (last.batch_id, last.notes) == (5, {"batch": "5"})
        broker.sweep()  # no grace is needed: the names say that nobody can commit these any more
        assert unregistered(broker) == set()

    @pytest.mark.parametrize(
        "point", [crash_points.SEGMENT_WRITTEN, crash_points.COMPACTION_SWAP, crash_points.COMPACTION_SWAPPED]
    )
    @pytest.mark.parametrize("work", [worker.compact, worker.merge])
    def test_while_rewriting(self, broker: EmbeddedBroker, point: str, work: object) -> None:
        for number in range(4):
            broker.append([NewRecord("changes", b"%d" % key, b"%d" % number + BIG) for key in range(20)])
        before = latest(broker, "changes")
        finish(start(work, str(broker.directory), failpoint=point), killed=True)  # type: ignore[arg-type]
        assert latest(broker, "changes") == before
        assert broker.problems("changes") == []
        broker.sweep(grace_ms=0)
        assert unregistered(broker) == set()
        broker.compact("changes", force=True)
        assert len(values(broker, "changes")) == 20
        assert latest(broker, "changes") == before

    def test_while_sweeping(self, broker: EmbeddedBroker) -> None:
        broker.append([NewRecord("out", b"k", BIG)] * 20)
        for _ in range(3):
            with broker.stage("app", 1, 0, "0") as stage:
                for _ in range(20):
                    stage.append("out", 0, 0, b"k", BIG)
                stage.finish()
        finish(start(worker.sweep, str(broker.directory), failpoint=f"{crash_points.SWEEP}:2"), killed=True)
        assert len(unregistered(broker)) == 2
        broker.sweep(grace_ms=0)
        assert unregistered(broker) == set()
        assert values(broker, "out") == [BIG] * 20

    def test_by_the_environment_variable(self, broker: EmbeddedBroker) -> None:
        program = (
            "import sys; from headrace.broker import open_broker; from headrace.broker.port import NewRecord\n"
            "open_broker(sys.argv[1]).append([NewRecord('out', b'k', b'v')])"
        )
        environment = {**os.environ, failpoints.VARIABLE: crash_points.INSIDE_CATALOG}
        done = subprocess.run([sys.executable, "-c", program, broker.address], env=environment, check=False)
        assert done.returncode == -signal.SIGKILL
        assert values(broker, "out") == []


class TestTwoDrivers:
    def test_a_second_one_is_refused_while_the_first_lives(self, broker: EmbeddedBroker, tmp_path: Path) -> None:
        file = str(tmp_path / "go")
        first = start(worker.hold_lease, str(broker.directory), file, 30_000)
        wait_for(Path(f"{file}.staged"))
        owner = broker.lease_owner("app")
        assert owner is not None
        assert owner.pid == first.pid
        with pytest.raises(LeaseHeldError, match=rf"application app is already running: process {first.pid} on host"):
            broker.acquire_lease("app")
        first.kill()
        first.join()
        assert broker.acquire_lease("app").epoch == 2

    def test_one_that_slept_through_its_lease_is_fenced(self, broker: EmbeddedBroker, tmp_path: Path) -> None:
        file = str(tmp_path / "go")
        zombie = start(worker.hold_lease, str(broker.directory), file, 300)
        wait_for(Path(f"{file}.staged"))
        assert zombie.pid is not None
        os.kill(zombie.pid, signal.SIGSTOP)
        lease = take_over(broker)
        os.kill(zombie.pid, signal.SIGCONT)
        Path(file).touch()
        finish(zombie)
        assert values(broker, "out") == []
        assert lease.epoch == 2
        broker.sweep()
        assert unregistered(broker) == set()


def take_over(broker: EmbeddedBroker) -> Lease:
    deadline = time.monotonic() + worker.STUCK_SECONDS
    while True:
        try:
            return broker.acquire_lease("app")
        except LeaseHeldError:
            assert time.monotonic() < deadline
            time.sleep(0.05)


def wait_for(path: Path) -> None:
    deadline = time.monotonic() + worker.STUCK_SECONDS
    while not path.exists():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.parametrize("limit", [20_000, 300_000])
def test_a_disk_that_is_full_loses_nothing_and_goes_on_when_there_is_space(broker: EmbeddedBroker, limit: int) -> None:
    """The limit meets segment files first where it is small, else the catalog's log."""
    directory = str(broker.directory)
    finish(start(worker.fill_the_disk, directory, limit))
    arrived = len(values(broker, "out"))
    assert arrived % 20 == 0
    finish(start(worker.append_the_rest, directory, arrived // 20 + 3))
    whole = arrived // 20 + 3
    assert values(broker, "out") == [
        worker.value(0, sequence, 5000 if sequence % 2 else 1) for sequence in range(whole) for _ in range(20)
    ]
    broker.sweep(grace_ms=0)
    assert unregistered(broker) == set()


def test_every_flipped_bit_in_a_segment_is_found_or_harmless(broker: EmbeddedBroker) -> None:
    broker.append([NewRecord("out", b"%d" % number, os.urandom(50), number) for number in range(1500)])
    ((file, _),) = broker._disk.files()
    path = broker._disk.path(file)
    whole, before = path.read_bytes(), records(broker, "out")
    chance, found = random.Random(1), 0
    for _ in range(1000):
        damaged = bytearray(whole)
        damaged[chance.randrange(len(whole))] ^= 1 << chance.randrange(8)
        path.write_bytes(damaged)
        problems = broker.problems("out")
        if problems:
            found += 1
            assert str(path) in str(problems[0])
        else:
            assert records(broker, "out") == before
    assert found > 950


@pytest.mark.parametrize("cut", [1, 9, 100, 4096])
def test_a_truncated_segment_is_found(broker: EmbeddedBroker, cut: int) -> None:
    broker.append([NewRecord("out", b"%d" % number, os.urandom(50), number) for number in range(1500)])
    before = records(broker, "out")
    ((file, _),) = broker._disk.files()
    path = broker._disk.path(file)
    os.truncate(path, path.stat().st_size - cut)
    with EmbeddedBroker(broker.directory) as fresh:
        if cut <= 8:  # the end mark of the Arrow stream: no record is in it
            assert records(fresh, "out") == before
        else:
            with pytest.raises(CorruptLogError, match=r"out-0 is corrupt at offsets 0 to 1499"):
                records(fresh, "out")


def test_a_fork_uses_connections_of_its_own(broker: EmbeddedBroker) -> None:
    broker.append([NewRecord("out", b"k", b"parent")])
    child = os.fork()
    if child == 0:
        try:
            broker.append([NewRecord("out", b"k", b"child")])
            os._exit(0)
        except BaseException:
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    broker.append([NewRecord("out", b"k", b"parent again")])
    assert values(broker, "out") == [b"parent", b"child", b"parent again"]
