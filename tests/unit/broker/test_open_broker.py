"""Opening: which broker, what can be wrong with its directory, and what happens on a full or broken disk."""

from __future__ import annotations

import errno
import fcntl
import os
import resource
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from headrace import failpoints
from headrace.broker import catalog, crash_points, open_broker
from headrace.broker.disk import Disk
from headrace.broker.embedded import EmbeddedBroker
from headrace.broker.port import Broker, Lease, Stage
from headrace.broker.staging import unpack
from headrace.errors import ArgumentError, BrokerError, ConfigError, CorruptLogError, UnsupportedError
from tests.time_limit import time_limit
from tests.unit.broker.scene import BIG, batch, files, put, staged, values


def test_opens_the_same_data_again(tmp_path: Path) -> None:
    broker = open_broker(f"embedded:{tmp_path}/a/b")
    broker.create_topic("clicks")
    broker.close()
    again = open_broker(broker.address, fsync="never")
    assert again.topics() == {"clicks": 1}
    again.close()


def test_is_what_the_port_says(broker: EmbeddedBroker) -> None:
    port: Broker = broker  # the type checker compares the signatures
    lease: Lease = port.acquire_lease("app")
    stage: Stage = port.stage("app", lease.epoch, 0, "0")
    assert unpack(stage.finish()) == []


def test_a_closed_broker_can_be_used_again(tmp_path: Path) -> None:
    broker = open_broker(f"embedded:{tmp_path}")
    broker.close()
    assert broker.topics() == {}
    broker.close()


def test_a_host_and_a_port_are_kafka_which_is_not_asked_before_it_is_needed() -> None:
    with closing(open_broker("localhost:1,[::1]:2")) as broker:
        assert broker.address == "localhost:1,[::1]:2"


@pytest.mark.parametrize("address", ["localhost", "localhost:", "localhost:port", "a:1,,b:2", "", 9092])
def test_what_is_neither_is_refused(address: Any) -> None:
    with pytest.raises(UnsupportedError, match=r"no broker can be opened at .*\n  hint: Kafka's brokers are given as"):
        open_broker(address)


def test_refuses_bad_arguments(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="'embedded:' names no directory"):
        open_broker("embedded:")
    with pytest.raises(ConfigError, match="fsync must be 'always' or 'never'"):
        open_broker(f"embedded:{tmp_path}", fsync="sometimes")  # type: ignore[arg-type]


def test_says_what_to_install_where_pyarrow_is_missing(tmp_path: Path) -> None:
    program = (
        "import sys; sys.modules['pyarrow'] = None\n"
        "from headrace.broker import open_broker\n"
        "from headrace.errors import UnsupportedError\n"
        "try: open_broker('embedded:' + sys.argv[1])\n"
        "except UnsupportedError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=True, capture_output=True, text=True)
    assert "needs a package that is not installed: pyarrow" in done.stdout
    assert "Install it with: pip install 'headrace[spark]'" in done.stdout


def test_the_port_can_be_had_without_pyarrow() -> None:
    program = "import sys; import headrace.broker.port; assert 'pyarrow' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True)


def test_refuses_a_catalog_of_another_version(tmp_path: Path) -> None:
    EmbeddedBroker(tmp_path).close()
    connection = sqlite3.connect(tmp_path / "catalog.db")
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(BrokerError, match="has version 99, this Headrace reads version 3"):
        EmbeddedBroker(tmp_path)


def test_says_that_a_catalog_is_corrupt(tmp_path: Path) -> None:
    (tmp_path / "catalog.db").write_bytes(b"this is no database" * 1000)
    with pytest.raises(CorruptLogError, match=r"the catalog .*catalog.db is corrupt"):
        EmbeddedBroker(tmp_path)


def test_says_that_a_directory_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(BrokerError, match=r"the disk failed at|no access to"):
        EmbeddedBroker(tmp_path / "file")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_says_who_may_write(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(BrokerError, match="no access to"):
        EmbeddedBroker(tmp_path / "data")


def test_a_full_disk_says_how_much_is_needed_and_leaves_the_data_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with EmbeddedBroker(tmp_path) as broker:
        broker.create_topic("clicks")
        put(broker, "clicks", (b"k", b"before"))
        write = os.write

        def full(descriptor: int, data: Any) -> int:
            if len(data) > 50_000:
                raise OSError(errno.ENOSPC, "No space left on device")
            return write(descriptor, data)

        with monkeypatch.context() as patch:
            patch.setattr(os, "write", full)
            with pytest.raises(BrokerError, match=r"no space left to write [\d,]+ bytes to .*arrow\n.*\n  hint: Free"):
                put(broker, "clicks", *[(b"k", BIG)] * 20)
        assert values(broker, "clicks") == [b"before"]
        assert files(broker) == []
        put(broker, "clicks", *[(b"k", BIG)] * 20)
        assert len(values(broker, "clicks")) == 21


def test_a_failing_flush_is_a_failed_append_and_not_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []

    def broken(descriptor: int) -> None:
        calls.append(descriptor)
        raise OSError(errno.EIO, "Input/output error")

    with EmbeddedBroker(tmp_path) as broker:
        broker.create_topic("clicks")
        monkeypatch.setattr(os, "fsync", broken)
        with pytest.raises(BrokerError, match=r"the disk failed at .*arrow\n  detail: .*Input/output error"):
            put(broker, "clicks", *[(b"k", BIG)] * 20)
        assert len(calls) == 1
        assert values(broker, "clicks") == []


def test_too_many_open_files_are_no_failure_of_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(descriptor: int) -> None:
        raise OSError(errno.EMFILE, "Too many open files")

    with EmbeddedBroker(tmp_path) as broker:
        broker.create_topic("clicks")
        monkeypatch.setattr(os, "fsync", refused)
        with pytest.raises(BrokerError, match=r"too many files are open: .*arrow\n.*\n  hint: .*ulimit -n"):
            put(broker, "clicks", *[(b"k", BIG)] * 20)


def test_too_many_open_files_are_no_lack_of_access_to_the_catalog(tmp_path: Path) -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    with EmbeddedBroker(tmp_path) as broker:
        broker.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (3, before[1]))
        try:
            with pytest.raises(BrokerError, match=r"too many files are open: .*catalog.db\n.*\n  hint: .*ulimit -n"):
                broker.topics()
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_an_error_of_the_disk_while_reading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> bytes:
        raise OSError(errno.EIO, "Input/output error")

    with EmbeddedBroker(tmp_path) as broker:
        broker.create_topic("clicks")
        put(broker, "clicks", *[(b"k", BIG)] * 20)
        monkeypatch.setattr(os, "pread", broken)
        with pytest.raises(BrokerError, match=r"the disk failed at .*arrow"):
            values(broker, "clicks")


def test_flushes_before_it_answers_and_only_where_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flushed: list[int] = []
    fsync = os.fsync

    def counted(descriptor: int) -> None:
        flushed.append(descriptor)
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", counted)
    for setting, expected in ((True, True), (False, False)):
        with EmbeddedBroker(tmp_path / str(setting), fsync=setting) as broker:
            broker.create_topic("clicks")
            flushed.clear()
            put(broker, "clicks", *[(b"k", BIG)] * 20)
            assert bool(flushed) is expected
            with broker._catalog.read() as connection:
                assert connection.execute("PRAGMA synchronous").fetchone()[0] == (2 if setting else 0)


class NotingDisk(Disk):
    """A disk that notes what a power loss would take."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.unsafe: set[str] = set()

    def create(self, file: str, data: bytes) -> None:
        super().create(file, data)
        self.unsafe.add(file)

    def append(self, file: str, data: memoryview) -> None:
        super().append(file, data)
        self.unsafe.add(file)

    def flush(self, file: str) -> None:
        super().flush(file)
        self.unsafe.discard(file)


def test_no_file_is_registered_before_a_power_loss_could_not_take_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reached: list[str] = []
    EmbeddedBroker(tmp_path).close()
    disk = NotingDisk(tmp_path / "topics")

    def check(name: str) -> None:
        reached.append(name)
        if name in {crash_points.INSIDE_CATALOG, crash_points.COMPACTION_SWAP}:
            assert disk.unsafe == set()

    monkeypatch.setattr(failpoints, "on_reached", check)
    with EmbeddedBroker(tmp_path, disk=disk) as broker:
        broker.create_topic("t", config={"cleanup.policy": "compact"})
        for _ in range(2):
            put(broker, "t", *[(b"%d" % number, BIG) for number in range(20)])
        lease = broker.acquire_lease("app")
        broker.decide(batch(lease.epoch, 0, staged(broker, lease.epoch, 0, "t", *[BIG] * 20)))
        broker.merge("t", at=2)
        broker.compact("t", force=True)
    assert reached.count(crash_points.INSIDE_CATALOG) == 3
    assert reached.count(crash_points.COMPACTION_SWAP) == 2


class TestFailpoints:
    @pytest.mark.parametrize(
        ("armed", "number"), [("here:1:raise", errno.EIO), ("here::enospc", errno.ENOSPC), ("here:3:raise", errno.EIO)]
    )
    def test_acts_at_the_visit_it_was_told(self, armed: str, number: int, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(failpoints, "_armed", None)
        failpoints.arm(armed)
        for _ in range(int(armed.split(":")[1] or 1) - 1):
            failpoints.reach("here")
        failpoints.reach("elsewhere")
        with pytest.raises(OSError, match="failpoint here") as raised:
            failpoints.reach("here")
        assert raised.value.errno == number
        failpoints.reach("here")

    def test_a_simulation_is_told_of_every_one(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        seen: list[str] = []
        monkeypatch.setattr(failpoints, "on_reached", seen.append)
        with EmbeddedBroker(tmp_path) as broker:
            broker.create_topic("clicks")
            put(broker, "clicks", *[(b"k", BIG)] * 20)
        assert seen == ["segment-written", "before-catalog", "inside-catalog", "after-catalog"]

    def test_an_error_inside_the_transaction_undoes_it(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def fail(name: str) -> None:
            if name == crash_points.INSIDE_CATALOG:
                raise KeyboardInterrupt

        with EmbeddedBroker(tmp_path) as broker:
            broker.create_topic("clicks")
            with monkeypatch.context() as patch:
                patch.setattr(failpoints, "on_reached", fail)
                with pytest.raises(KeyboardInterrupt):
                    put(broker, "clicks", (b"k", b"lost"))
            put(broker, "clicks", (b"k", b"kept"))
            assert values(broker, "clicks") == [b"kept"]


def test_a_second_broker_of_a_process_takes_no_locks_from_the_first(tmp_path: Path) -> None:
    """Closing a file drops every lock that a process has on it: then others remove the write-ahead log."""
    with closing(open_broker(f"embedded:{tmp_path}")) as broker:
        broker.create_topic("events")
        open_broker(f"embedded:{tmp_path}").close()
        look = "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute('SELECT * FROM topics'); c.close()"
        subprocess.run([sys.executable, "-c", look, tmp_path / "catalog.db"], check=True)
        assert (tmp_path / "catalog.db-wal").exists()


def test_a_broker_that_is_there_waits_for_nobody_who_was_stopped_while_opening_it(tmp_path: Path) -> None:
    with EmbeddedBroker(tmp_path) as broker:
        broker.create_topic("clicks")
    with (tmp_path / ".lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with time_limit(), EmbeddedBroker(tmp_path) as broker:
            assert broker.topics() == {"clicks": 1}


def test_a_broker_that_another_process_never_ends_making_is_waited_for_with_a_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalog, "_BUSY_SECONDS", 0.1)
    with (tmp_path / ".lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with time_limit(), pytest.raises(BrokerError, match=r"catalog.db was locked for .*\n  hint: Another process"):
            EmbeddedBroker(tmp_path)
