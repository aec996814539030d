"""One run: a seed chooses a program, what happens, and at which steps the world ends; then everything must add up."""

from __future__ import annotations

import logging
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

from headrace.batch.local import LocalEngine
from headrace.broker.embedded import EmbeddedBroker
from headrace.broker.port import NewRecord
from headrace.errors import FencedError, NotDecidedError, OutcomeUnknownError
from headrace.metrics import StreamsMetrics
from headrace.partitioning import default_partition
from tests.conformance.engines import HurriedEngine
from tests.simulation.programs import PROGRAMS, Program
from tests.simulation.verdict import check
from tests.simulation.world import LEASE_MS, START_MS, AnyBroker, Crash, World

APPLICATION = "app"
DEAD_LETTERS = "dead-letters"
_REAL_EVERY = 16
_SHARED_MEMORY = Path("/dev/shm")


@dataclass
class Report:
    """What a run did, for totals."""

    program: str
    steps: int = 0
    crashes: int = 0
    takeovers: int = 0
    fenced: int = 0
    records: int = 0
    stores: int = 0
    unknown: int = 0
    crashed_at: Counter[str] = field(default_factory=Counter)


def simulate(seed: int, trace: Callable[[str], None] = lambda _: None, *, is_elsewhere: bool = False) -> Report:
    """Run one seed; AssertionError where something does not add up.

    The broker is in a directory of the machine that crashes, or elsewhere, as ``memory_broker`` has it.
    """
    base = _SHARED_MEMORY if _SHARED_MEMORY.exists() else None
    with tempfile.TemporaryDirectory(prefix="simulation-", dir=base) as directory, _quiet():
        return _Run(seed, Path(directory), trace, is_elsewhere=is_elsewhere).go()


@dataclass
class _Process:
    """A process of the application: its own broker and engine."""

    broker: AnyBroker
    engine: LocalEngine
    state: int
    epoch: int


class _Attempt:
    """A batch that is being run. What it dropped counts when it was committed, however the attempt ended."""

    def __init__(self, process: _Process) -> None:
        last = process.broker.last_decided(APPLICATION)
        self._batch = 0 if last is None else last.batch_id + 1, process.epoch
        self.dropped: Counter[str] = Counter()

    def is_committed(self, broker: AnyBroker) -> bool:
        last = broker.last_decided(APPLICATION)
        return last is not None and (last.batch_id, last.epoch) == self._batch


class _Run:
    def __init__(self, seed: int, directory: Path, trace: Callable[[str], None], *, is_elsewhere: bool) -> None:
        self._random = random = Random(seed)
        self._trace = trace
        self._program: Program = random.choice(PROGRAMS)
        self._partitions = random.choice((1, 2, 2))
        self._in_memory = random.random() < 0.2
        is_real = seed % _REAL_EVERY == 0
        self._world = World(directory, random, real_databases=is_real, trace=trace, is_elsewhere=is_elsewhere)
        if self._world.server is not None:
            self._world.server.on_not_done = self._forget_drops
        self._produced: dict[tuple[str, int], list[NewRecord]] = {
            (topic, partition): [] for topic in self._program.topics for partition in range(self._partitions)
        }
        self._pending: list[NewRecord] = []
        self._number = 0
        self._process: _Process | None = None
        self._client: AnyBroker | None = None
        self._engines: list[LocalEngine] = []
        self._attempts: list[_Attempt] = []
        self._dropped: Counter[str] = Counter()
        self._report = Report(self._program.name)
        trace(
            f"seed {seed}: {self._program.name}, {self._partitions} partitions, RocksDB {'real' if is_real else 'fake'}"
        )

    def go(self) -> Report:
        random = self._random
        small = random.choice((100, 1_000, 64 * 1024))
        rolls = random.choice((3, 1024))
        with self._world.running(inline_bytes=small, roll_segments=rolls), self._counting_drops():
            self._surviving(self._set_up)
            for _ in range(random.randint(5, 9)):
                self._plan_trouble()
                self._surviving(random.choice(self._actions))
            self._world.crash_in = self._world.disturbance = None
            self._heal()
        report = self._report
        report.steps, report.crashes = self._world.steps, self._world.crashes
        report.unknown = 0 if self._world.server is None else self._world.server.unknown
        return report

    # What may go wrong

    def _plan_trouble(self) -> None:
        random, world = self._random, self._world
        if world.crash_in is None and world.crashes < 3:
            world.crash_in = random.randint(1, random.choice((10, 40, 120)))
            world.crash_takes_power = random.random() < 0.6
        if world.disturbance is None and random.random() < 0.4:
            world.disturb_in = random.randint(1, random.choice((40, 150)))
            world.disturbance = random.choice((self._take_over, self._take_over, self._neighbour_maintains))

    def _surviving(self, action: Callable[[], None]) -> None:
        """Do it, again and again if the world ends meanwhile."""
        while True:
            self._trace(action.__name__.strip("_"))
            try:
                action()
            except Crash as crash:
                self._report.crashed_at[str(crash)] += 1
                self._let_files_go()
                self._world.recover()
                self._process = self._client = None
                self._settle_attempts(self._outside())
            else:
                return

    def _let_files_go(self) -> None:
        """The kernel closes the files of processes that have ended; here they are all one process."""
        for engine in self._engines:
            with suppress(Exception):
                engine.tasks.close()
        self._engines.clear()

    def _settle_attempts(self, broker: AnyBroker) -> None:
        """Nobody works on the batches under way any more, or nobody may: what they dropped counts, or never will."""
        # Asking the broker may be where the process is stopped and another one comes to settle them.
        attempts, self._attempts = self._attempts, []
        for attempt in attempts:
            if attempt.is_committed(broker):
                self._dropped += attempt.dropped

    @contextmanager
    def _counting_drops(self) -> Iterator[None]:
        """Count what tasks drop. The engine reports it after the commit, so a crash in between would hide it."""
        drop = StreamsMetrics.drop

        def counted(metrics: StreamsMetrics, reason: str) -> int:
            if self._attempts:
                self._attempts[-1].dropped[reason] += 1
            return drop(metrics, reason)

        with patch.object(StreamsMetrics, "drop", counted):
            yield

    # What processes do

    def _outside(self) -> AnyBroker:
        """The broker as seen by the process that produces and does the upkeep."""
        if self._client is None:
            self._client = self._world.open_broker()
        return self._client

    @property
    def _actions(self) -> tuple[Callable[[], None], ...]:
        return (
            self._produce,
            self._produce,
            self._run_batches,
            self._run_batches,
            self._run_batches,
            self._maintain,
            self._rewrite,
            self._stop,
            self._wait,
            self._move_tasks,
        )

    def _set_up(self) -> None:
        broker = self._outside()
        there = broker.topics()
        for topic in (*self._program.topics, "out", DEAD_LETTERS):
            if topic not in there:
                partitions = self._partitions if topic != DEAD_LETTERS else 1
                broker.create_topic(topic, partitions)

    def _produce(self) -> None:
        """Append some records; where it is not known whether that was done, only if they are not there."""
        if not self._pending:
            self._pending = [self._new_record() for _ in range(self._random.randint(1, 5))]
            self._outside().append(self._pending)
        elif not self._has_arrived(self._pending[0]):
            self._outside().append(self._pending)
        self._acknowledged()

    def _has_arrived(self, record: NewRecord) -> bool:
        """Whether the first of those that are under way is there; then all of them are."""
        assert record.partition is not None
        place = record.topic, record.partition
        there = sum(len(records) for records in self._outside().read(*place, 0))
        return there > len(self._produced[place])

    def _acknowledged(self) -> None:
        for record in self._pending:
            assert record.partition is not None
            self._produced[record.topic, record.partition].append(record)
        self._pending = []

    def _new_record(self) -> NewRecord:
        random = self._random
        self._number += 1
        topic = random.choice(self._program.topics)
        late = random.choice((0, 0, 0, 700, 3_000))
        record = self._program.record(random, topic, self._number, self._world.clock.now - late)
        if record.key is None:
            return record._replace(partition=random.randrange(self._partitions))
        return record._replace(partition=default_partition(record.key, self._partitions))

    def _run_batches(self) -> None:
        process = self._process or self._start(self._random.choice((0, 0, 0, 1)))
        self._process = process
        for _ in range(self._random.randint(1, 3)):
            if not self._run_batch(process):
                return
            if self._random.random() < 0.3:
                self._move_tasks()

    def _start(self, state: int) -> _Process:
        self._trace(f"  a process starts, state {state}")
        broker = self._world.open_broker()
        limit = self._random.choice((1, 2, 3, 5, 1_000, None))
        settings: dict[str, Any] = {
            "application.id": APPLICATION,
            "state.dir": str(self._world.state_dir(state)),
            "statestore.cache.max.bytes": 0,
            "max.records.per.batch": limit,
            "deserialization.exception.handler": "log_and_continue",
            "processing.exception.handler": "log_and_continue",
            "errors.dead.letter.queue.topic.name": DEAD_LETTERS,
        }
        topology = self._program.build(self._in_memory)
        kind = LocalEngine if limit else HurriedEngine
        engine = kind(topology, settings, broker, clock=self._world.clock.now_ms)
        self._engines.append(engine)
        return _Process(broker, engine, state, engine._coordinator.lease.epoch)

    def _run_batch(self, process: _Process) -> bool:
        """One batch; False where there is nothing to do, or the process was replaced."""
        attempt, is_unsettled = _Attempt(process), False
        self._attempts.append(attempt)
        try:
            report = process.engine.run_batch()
        except FencedError:
            assert self._process is not process, "fenced, but nobody took over"
            self._trace("  fenced")
            self._report.fenced += 1
            report = None
        except OutcomeUnknownError:
            self._ask(process)
            report, is_unsettled = None, True
        except NotDecidedError:
            report, is_unsettled = None, True
        if report is not None:
            assert report.dropped == attempt.dropped, f"{report.dropped} reported, {attempt.dropped} dropped"
        if self._attempts:
            self._settle_attempts(process.broker)
        if self._process is not process:
            self._end(process)
            return False
        return report is not None or is_unsettled

    def _ask(self, process: _Process) -> None:
        """What became of the batch; the engine itself asks before the next one."""
        while True:
            try:
                process.engine._coordinator._settled()
            except OutcomeUnknownError:
                continue
            except FencedError:
                assert self._process is not process, "fenced, but nobody took over"
            return

    def _forget_drops(self) -> None:
        """The batch did not count; if the engine runs it again, it drops the same again."""
        if self._attempts:
            self._attempts[-1].dropped.clear()

    def _take_over(self) -> None:
        """The lease of the process that was stopped ends, and another takes its place and goes on."""
        old = self._process
        if old is None or not self._attempts:
            return
        if self._world.server is None:
            self._world.clock.advance(LEASE_MS + 1)
        self._process = None
        new = self._start(1 - old.state)
        self._settle_attempts(new.broker)
        self._report.takeovers += 1
        self._process = new
        for _ in range(self._random.randint(0, 2)):
            self._run_batch(new)

    def _neighbour_maintains(self) -> None:
        broker = self._world.open_broker()
        broker.maintain()
        broker.close()

    def _maintain(self) -> None:
        self._outside().maintain()

    def _rewrite(self) -> None:
        """Merge and compact what upkeep would leave alone because it is little."""
        broker = self._outside()
        for topic in broker.topics():
            if broker.describe_topic(topic).config.get("cleanup.policy", "delete") != "delete":
                broker.compact(topic, force=True)
            if isinstance(broker, EmbeddedBroker):
                broker.merge(topic, at=2)

    def _stop(self) -> None:
        """End all processes as they should end."""
        if self._process is not None:
            self._end(self._process)
            self._process = None
        if self._client is not None:
            self._client.close()
            self._client = None

    def _end(self, process: _Process) -> None:
        process.engine.close()
        process.broker.close()

    def _move_tasks(self) -> None:
        """Tasks are closed where they are; the next batch opens them as another process would, or without state."""
        process = self._process
        if process is None:
            return
        process.engine.tasks.close()
        if self._random.random() < 0.5:
            for directory in (self._world.state_dir(process.state) / APPLICATION).glob("*_*"):
                shutil.rmtree(directory)

    def _wait(self) -> None:
        self._world.clock.advance(self._random.choice((1, 300, 2_000)))

    # The end

    def _heal(self) -> None:
        if self._pending:
            self._produce()
        self._stop()
        process = self._process = self._start(0)
        batches = 0
        while self._run_batch(process):
            batches += 1
            assert batches < 200, "stuck: batch after batch and no end"
        broker = process.broker
        self._world.clock.now = START_MS + 3 * 60 * 60 * 1000
        broker.maintain()
        process.engine.tasks.close()
        self._report.stores = check(self._program, broker, process.engine, self._produced, self._dropped)
        self._report.records = sum(len(records) for records in self._produced.values())
        self._stop()


@contextmanager
def _quiet() -> Iterator[None]:
    """Dropped and restored records are meant here: no lines about them."""
    logger = logging.getLogger("headrace")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(level)
