"""Two hosts for the same task: one keeps it open from the first batch to the last, one puts it down after each."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from headrace import failpoints, serdes
from headrace.config import StreamsConfig
from headrace.records import NO_HEADERS, Headers, RawRecord, raw_record
from headrace.state.rocksdb.visits import CHUNK_BYTES
from headrace.state.snapshots import layers
from headrace.state.version import Version, Visit
from headrace.task.stream_task import StreamTask
from headrace.task.versioned_task import VersionedTask
from headrace.topology.task_plan import TaskPlan
from headrace.windows import MAX_TIMESTAMP
from tests.property import operators

Produced = tuple[str, int | None, int | None, bytes | None, bytes | None, Headers]


class Input(NamedTuple):
    """A record to feed. Keys and values are text."""

    topic: str
    key: str | None
    value: str | None
    timestamp: int
    header: bytes | None = None


class Batch(NamedTuple):
    """What comes between two commits, and how far the clock on the wall moves."""

    records: list[Input]
    wait_ms: int


@dataclass(frozen=True)
class Program:
    """What runs, and with which settings."""

    parts: tuple[operators.Part, ...]
    settings: tuple[tuple[str, Any], ...] = ()

    def config(self) -> StreamsConfig:
        return StreamsConfig({"application.id": "app", **dict(self.settings)})

    @property
    def topics(self) -> list[str]:
        """What it reads from outside."""
        return sorted(topic for topic in self.plan().source_topics if not topic.startswith("app-"))

    def plan(self) -> TaskPlan:
        """A new one each time, as another process would have it."""
        topology = operators.topology(self.parts, dict(self.settings))
        return topology.configured(self.config()).task_plan()


@dataclass
class Result:
    """Everything that can be seen of a run."""

    produced: list[list[Produced]] = field(default_factory=list)
    """By batch."""
    dropped: Counter[str] = field(default_factory=Counter)
    offsets: dict[Any, Any] = field(default_factory=dict)
    stores: dict[str, Any] = field(default_factory=dict)


class Driver:
    """Feeds one task object; what it writes to topics that it reads comes back in."""

    def __init__(self, program: Program, now_ms: int, offsets: dict[str, int], state_dir: Path) -> None:
        plan = program.plan()
        self._topics = plan.source_topics
        self.offsets = dict(offsets)
        self.produced: list[Produced] = []
        self.now_ms = now_ms
        self._loop: deque[tuple[str, RawRecord]] = deque()
        partitions = [(topic, 0) for topic in self._topics]
        self.task = StreamTask(
            plan, program.config(), self, partitions=partitions, clock=lambda: self.now_ms, state_dir=state_dir
        )

    def run(self, batch: Batch) -> None:
        """Process a batch and everything that follows from it."""
        text = serdes.string()
        self.now_ms += batch.wait_ms
        for topic, key, value, timestamp, header in batch.records:
            if topic in self._topics:
                headers = NO_HEADERS if header is None else Headers([("h", header)])
                self._enqueue(topic, timestamp, text.serialize("", key), text.serialize("", value), headers)
        self._work()
        self.task.punctuate_wall_clock()
        self._work()

    def settle(self) -> dict[Any, Any]:
        """Let the caches go, and what comes back from that, until nothing moves any more; the offsets done."""
        offsets: dict[Any, Any] = {}
        while self.task.commit_needed:
            offsets = self.task.prepare_commit()
            self.task.post_commit()
            self._work()
        return offsets

    def send(
        self,
        topic: str,
        partition: int | None,
        timestamp: int | None,
        key: bytes | None,
        value: bytes | None,
        headers: Headers,
    ) -> None:
        """Take a record from the task."""
        self.produced.append((topic, partition, timestamp, key, value, headers))
        if topic in self._topics:
            self._enqueue(topic, timestamp or 0, key, value, headers)

    def partitions_for(self, topic: str) -> int:
        """One, always."""
        return 1

    def flush(self) -> None:
        """Nothing is under way."""

    def _enqueue(self, topic: str, timestamp: int, key: bytes | None, value: bytes | None, headers: Headers) -> None:
        offset = self.offsets[topic] = self.offsets.get(topic, -1) + 1
        self._loop.append((topic, raw_record(topic, 0, offset, timestamp, key, value, headers)))

    def _work(self) -> None:
        while self._loop:
            by_topic: dict[str, list[RawRecord]] = {}
            while self._loop:
                topic, record = self._loop.popleft()
                by_topic.setdefault(topic, []).append(record)
            for topic, records in by_topic.items():
                self.task.add_records((topic, 0), records)
            self.task.process_all(self.now_ms)
            self.task.punctuate_stream_time()


def stay_open(program: Program, batches: Sequence[Batch], directory: Path) -> Result:
    """Run all batches in one task. Caches are emptied at each commit: being put down cannot keep them."""
    result = Result()
    driver = Driver(program, 0, {}, directory)
    task = driver.task
    task.initialize()
    task.start()
    for batch in batches:
        before = len(driver.produced)
        driver.run(batch)
        result.offsets.update(driver.settle())
        task.registry.clear_caches()
        result.produced.append(driver.produced[before:])
    result.dropped.update(task.context.metrics.dropped_records_by_reason)
    result.stores = {store.name: contents(store) for store in task.registry}
    task.suspend()
    task.close()
    return result


class Crash(BaseException):
    """The process ends here."""


@dataclass(frozen=True)
class Plan:
    """How a host puts tasks down: how often it crashes where, and in how many visits it works through a batch."""

    crashes: tuple[tuple[str, int] | None, ...] = ()
    """For each batch the failpoint of a first attempt, and which time it is reached."""
    levels: int = 1
    chunk_bytes: int = CHUNK_BYTES


def put_down(program: Program, batches: Sequence[Batch], directory: Path, plan: Plan) -> Result:
    """Run each batch in new tasks that are opened and closed for it; attempts that crash are repeated."""
    host = Host(program, directory, plan)
    for number, batch in enumerate(batches):
        crash = plan.crashes[number] if number < len(plan.crashes) else None
        if crash is not None:
            with crashing(*crash):
                host.attempt(number, batch)
        host.attempt(number, batch)
        host.accept()
    host.look()
    return host.result


class Host:
    """Knows what was committed, and takes tasks up from there."""

    def __init__(
        self,
        program: Program,
        directory: Path,
        plan: Plan,
        committed: tuple[Version | None, int, dict[str, int], bytes | None] = (None, 0, {}, None),
        result: Result | None = None,
    ) -> None:
        self.committed = committed
        """The version, the time on the wall, the ends of the input topics, and what the task remembers."""
        self.result = result or Result()
        self._program, self._directory, self._plan = program, directory, plan
        self._attempted: Any = None

    def attempt(self, number: int, batch: Batch) -> None:
        """One attempt at a batch, from what was committed."""
        base, now_ms, offsets, snapshot = self.committed
        produced: list[Produced] = []
        dropped: Counter[str] = Counter()
        committed: dict[Any, Any] = {}
        for level, part in enumerate(_parts(batch, self._plan.levels)):
            target = Version(number, level)
            driver = Driver(self._program, now_ms, offsets, self._directory)
            with _visiting(driver.task) as versioned:
                opening = versioned.open(Visit(base, target), snapshot=snapshot, chunk_bytes=self._plan.chunk_bytes)
                assert not opening.stale
                versioned.start()
                driver.run(part)
                driver.settle()
                committed, snapshot = versioned.commit()
            produced += driver.produced
            dropped.update(driver.task.context.metrics.dropped_records_by_reason)
            base, now_ms, offsets = target, driver.now_ms, driver.offsets
        self._attempted = (base, now_ms, offsets, snapshot), produced, dropped, committed

    def accept(self) -> None:
        """The last attempt is the one that counts."""
        self.committed, produced, dropped, committed = self._attempted
        self.result.produced.append(produced)
        self.result.dropped.update(dropped)
        self.result.offsets.update(committed)

    def look(self) -> None:
        """Read the stores as they are on disk."""
        base, now_ms, offsets, snapshot = self.committed
        driver = Driver(self._program, now_ms, offsets, self._directory)
        with _visiting(driver.task) as versioned:
            versioned.open(Visit(base, Version(10**9)), snapshot=snapshot)
            versioned.start()
            self.result.stores = {store.name: contents(store) for store in driver.task.registry}
            versioned.abandon()


@contextmanager
def _visiting(task: StreamTask) -> Iterator[VersionedTask]:
    versioned = VersionedTask(task)
    try:
        yield versioned
        task.suspend()
        versioned.close()
    except BaseException:
        versioned.abandon()
        raise


@contextmanager
def crashing(name: str, times: int) -> Iterator[None]:
    """Inside, the failpoint ``name`` ends everything when it is reached for the given time."""
    reached: Counter[str] = Counter()

    def on_reached(place: str) -> None:
        reached[place] += 1
        if place == name and reached[place] == times:
            raise Crash

    failpoints.on_reached = on_reached
    try:
        yield
    except Crash:
        pass
    finally:
        failpoints.on_reached = None


def _parts(batch: Batch, levels: int) -> list[Batch]:
    if levels == 1:
        return [batch]
    middle = len(batch.records) // 2
    return [Batch(batch.records[:middle], batch.wait_ms), Batch(batch.records[middle:], 0)]


def cut_as_visited(batches: Sequence[Batch], levels: int) -> list[Batch]:
    """Where a task that stays open has to commit to have committed at the same places."""
    return [part for batch in batches for part in _parts(batch, levels)]


def contents(store: Any) -> Any:
    """All there is to see of a store."""
    kind = str(store.kind)
    if kind in ("suppress_buffer", "stream_table_buffer"):
        return store.num_records, store.buffer_size, store.min_timestamp
    if kind == "versioned":
        keys = ("a", "b", "c", "x", "y", "z")
        return [list(store.versions(key, 0, MAX_TIMESTAMP, descending=False)) for key in keys], store.position
    entries: Callable[[], Any] = (lambda: store.fetch_keys(None, None)) if kind.startswith("session") else store.all
    with entries() as found:
        shown = [(str(key), value) for key, value in found]
    bytes_store = list(layers(store))[-1]
    return shown, getattr(store, "position", None), getattr(bytes_store, "_stream_time", None)
