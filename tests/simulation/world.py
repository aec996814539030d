"""A machine on which processes of an application run: its clocks, its disk, and every step at which it may stop.

A *step* is anything after which the world outside differs: a failpoint of the product, a file that is created, written,
flushed or removed, a transaction of the catalog. At a step the world may end (``Crash``): the files are copied as they
are, what a power loss takes is taken from the copy, and only then does the exception go up, so that nothing that
``finally`` does on its way counts. Or something else happens there first (``disturb_in``): the process was stopped,
and others went on.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from random import Random
from typing import Any, ClassVar, TypeAlias
from unittest.mock import patch

from rocksdict import Rdict, WriteBatch

from headrace import failpoints
from headrace.batch import coordinator
from headrace.broker import rewriting, staging
from headrace.broker.disk import Disk
from headrace.broker.embedded import EmbeddedBroker
from headrace.clock import Clock
from headrace.state import shared_memory
from headrace.state.rocksdb import undo, visits
from tests.simulation.database import FakeBatch, FakeDatabase
from tests.simulation.medium import Medium
from tests.simulation.memory_broker import MemoryBroker, MemoryServer

AnyBroker: TypeAlias = EmbeddedBroker | MemoryBroker

START_MS = 1_700_000_000_000
LEASE_MS = 30_000
_FULL = 2


class Crash(BaseException):
    """The process, or the machine, is no more. Nothing may catch it but the simulation."""


class WorldClock(Clock):
    """Clocks that the simulation sets."""

    def __init__(self) -> None:
        self.now = START_MS
        self.uptime = 1_000_000

    def now_ms(self) -> int:
        return self.now

    def uptime_ms(self) -> int:
        return self.uptime

    def advance(self, ms: int) -> None:
        """Let time pass."""
        self.now += ms
        self.uptime += ms


class World:
    """One machine. ``trace`` gets a line for each thing of note."""

    def __init__(
        self,
        directory: Path,
        random: Random,
        *,
        real_databases: bool,
        trace: Callable[[str], None],
        is_elsewhere: bool = False,
    ) -> None:
        self.root = directory / "root"
        self.root.mkdir()
        self.random = random
        self.clock = WorldClock()
        self.medium = Medium(self.root, trace)
        self.trace = trace
        self.steps = 0
        self.crash_in: int | None = None
        self.crash_takes_power = False
        self.disturb_in: int | None = None
        self.disturbance: Callable[[], None] | None = None
        self.crashes = 0
        self._image = directory / "image"
        self._is_real = real_databases
        self._is_over = False
        self._writers = 0
        self.server = MemoryServer(random, self._reach) if is_elsewhere else None
        """A broker on another machine: it outlives the crashes of this one."""
        self._brokers: list[EmbeddedBroker] = []
        self._born: dict[str, int] = {}

    @contextmanager
    def running(self, *, inline_bytes: int, roll_segments: int) -> Iterator[None]:
        """Everything that runs meanwhile runs in this world. Files are made of little, so that few records suffice."""
        shared = self.root / "shm"
        with (
            patch.object(failpoints, "on_reached", self.step),
            patch.object(coordinator, "ASK_SECONDS", (0.0, 0.0)),
            patch.object(os, "fsync", self._fsync),
            patch.object(sqlite3, "connect", self._connect),
            patch.object(shared_memory, "SHARED_MEMORY", shared),
            patch.object(staging, "INLINE_BYTES", inline_bytes),
            patch.object(rewriting, "ROLL_SEGMENTS", roll_segments),
            patch.object(visits, "Rdict", NotingRdict if self._is_real else FakeDatabase),
            patch.object(undo, "WriteBatch", WriteBatch if self._is_real else FakeBatch),
            patch.object(FakeDatabase, "on_synced", self.medium.log_synced),
            patch.object(NotingRdict, "on_synced", self.medium.log_synced),
        ):
            shared.mkdir()
            try:
                yield
            finally:
                self._close_all()

    def open_broker(self) -> AnyBroker:
        """The broker as a process that starts now opens it."""
        return MemoryBroker(self.server) if self.server is not None else self.open_embedded()

    def open_embedded(self) -> EmbeddedBroker:
        """The one in a directory of this machine."""
        directory = self.root / "broker"
        broker = EmbeddedBroker(directory, clock=self.clock, disk=SteppingDisk(directory / "topics", self))
        self._brokers.append(broker)
        return broker

    def state_dir(self, number: int) -> Path:
        """One of the directories in which the application may keep its stores."""
        return self.root / f"state-{number}"

    # Steps

    def step(self, name: str) -> None:
        """Something is about to happen; the world may end before it does."""
        if self._is_over:
            return
        if self._is_last():
            self._end(name)
        self.pause(name)

    def pause(self, name: str) -> None:
        """The process may be stopped here for a while, and others go on meanwhile."""
        if self._is_over:
            return
        if self.disturb_in is not None and self.disturbance is not None and not self._writers:
            self.disturb_in -= 1
            if self.disturb_in <= 0:
                self._disturb(name)

    def _reach(self, name: str) -> None:
        """A process that is no more cannot reach another machine."""
        if self._is_over:
            raise Crash(name)
        self.step(name)

    def born_ms(self, file: str) -> int:
        """When a segment file was last written to, by the clock of this world."""
        return self._born.get(file, START_MS)

    def written(self, file: str) -> None:
        """A segment file is written to now."""
        self._born[file] = self.clock.now

    def recover(self) -> None:
        """After a crash: what was copied when it happened is all there is."""
        self._close_all()
        shutil.rmtree(self.root)
        self._image.rename(self.root)
        (self.root / "shm").mkdir(exist_ok=True)
        if self.crash_takes_power:
            self.medium.settle()
        self.clock.advance(LEASE_MS + 1_000)
        if self.server is not None:
            self.server.settle_all()
        self._is_over = False
        self._writers = 0
        self.crash_in = None

    def _is_last(self) -> bool:
        self.steps += 1
        if self.crash_in is None:
            return False
        self.crash_in -= 1
        return self.crash_in <= 0

    def _disturb(self, name: str) -> None:
        disturbance, self.disturbance, self.disturb_in = self.disturbance, None, None
        assert disturbance is not None
        self.trace(f"  stopped at {name}, others go on")
        disturbance()

    def _end(self, name: str, torn: tuple[bytes, bytes] | None = None) -> None:
        self.trace(f"  {'power lost' if self.crash_takes_power else 'killed'} at {name}")
        self.crashes += 1
        self._is_over = True
        shutil.copytree(self.root, self._image, ignore=shutil.ignore_patterns("*-shm"))
        if torn is not None:
            self.medium.tear_catalog(self._image, torn, self.random, in_order=not self.crash_takes_power)
        if self.crash_takes_power:
            self.medium.lose_power(self._image, self.random)
        raise Crash(name)

    def _close_all(self) -> None:
        brokers, self._brokers = self._brokers, []
        for broker in brokers:
            broker.close()

    # What the product does to the outside

    def _fsync(self, descriptor: int) -> None:
        self.step("fsync")
        self.medium.flushed(descriptor)

    def _connect(self, *arguments: Any, factory: Any = sqlite3.Connection, **options: Any) -> Any:
        connection: Any = _original_connect(*arguments, factory=_stepping(factory), **options)
        connection.world = self
        return connection

    def begin(self) -> None:
        """A transaction that excludes other writers begins: a process that is stopped now would stop them all."""
        self._writers += 1

    def rolled_back(self) -> None:
        """It did not come to its end."""
        self._writers = 0

    def commit(self, synchronous: int, commit: Callable[[], Any]) -> Any:
        """A transaction is committed: before it, in the middle of it, or not at all may be the end."""
        self.step("catalog.commit")
        is_last = not self._is_over and self._is_last()
        before = self.medium.catalog() if is_last or synchronous < _FULL else (b"", b"")
        result = commit()
        self._writers = 0
        if is_last:
            self._end("half a catalog.commit", before)
        if not self._is_over:
            if synchronous < _FULL:
                self.medium.catalog_not_synced(before)
            else:
                self.medium.catalog_synced()
        return result


class SteppingDisk(Disk):
    """The broker's disk: every change is a step."""

    def __init__(self, root: Path, world: World) -> None:
        super().__init__(root)
        self._world = world

    def create(self, file: str, data: bytes) -> None:
        self._world.step("disk.create")
        super().create(file, data)
        self._world.written(file)

    def append(self, file: str, data: memoryview) -> None:
        self._world.step("disk.append")
        super().append(file, data)
        self._world.written(file)

    def remove(self, file: str) -> bool:
        self._world.step("disk.remove")
        return super().remove(file)

    def files(self) -> Iterator[tuple[str, float]]:
        for file, _ in super().files():
            yield file, self._world.born_ms(file) / 1000


class NotingRdict:
    """RocksDB that tells when its log was flushed."""

    on_synced: ClassVar[Callable[[Path], None] | None] = None

    def __init__(self, *arguments: Any, **options: Any) -> None:
        self._rdict = Rdict(*arguments, **options)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._rdict, name)

    def flush_wal(self, sync: bool) -> None:
        self._rdict.flush_wal(sync)
        if sync and NotingRdict.on_synced is not None:
            for log in Path(self._rdict.path()).glob("*.log"):
                NotingRdict.on_synced(log)


_original_connect = sqlite3.connect


@lru_cache(maxsize=4)
def _stepping(factory: Any) -> Any:
    class SteppingConnection(factory):  # type: ignore[misc]
        """Tells the world when transactions begin and end."""

        world: World | None = None

        def execute(self, statement: str, *values: Any) -> Any:
            execute, world = super().execute, self.world
            if world is None:
                return execute(statement, *values)
            if statement == "COMMIT":
                synchronous = execute("PRAGMA synchronous").fetchone()[0]
                return world.commit(synchronous, lambda: execute(statement))
            if statement == "BEGIN IMMEDIATE":
                result = execute(statement)
                world.begin()
                return result
            if statement == "ROLLBACK":
                world.rolled_back()
            elif statement == "BEGIN":
                world.pause("catalog.read")
            return execute(statement, *values)

    return SteppingConnection
