"""A task that is driven by hand: the input can be cut into commits anywhere, with any size of cache.

The test driver commits after every record. Here records go in, and what stays in caches stays there until ``commit``.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from headrace import StreamsBuilder, serdes
from headrace.config import StreamsConfig
from headrace.records import NO_HEADERS, Headers, ValueAndTimestamp, raw_record
from headrace.task.stream_task import StreamTask

Program = Callable[[StreamsBuilder], None]

NO_SETTINGS: Mapping[str, Any] = {}

_NOW_MS = 0
_SHARED_MEMORY = Path("/dev/shm")


class Input(NamedTuple):
    """A record to feed. Keys and values are text."""

    topic: str
    key: str
    value: str | None
    timestamp: int


class HandDrivenTask:
    """One task of a whole topology, and the producer that it writes to: what it reads itself comes back in."""

    def __init__(self, program: Program, *, cache_bytes: int, settings: Mapping[str, Any]) -> None:
        config = StreamsConfig(
            {
                "application.id": "app",
                "dsl.store.suppliers.class": "in_memory",
                "statestore.cache.max.bytes": cache_bytes,
                **settings,
            }
        )
        builder = StreamsBuilder()
        program(builder)
        topology = builder.build()
        planned = topology.configured(config)
        self._plan = planned.task_plan()
        self.topics = self._plan.source_topics
        self._loop: deque[tuple[str, int, bytes | None, bytes | None, Headers]] = deque()
        self._offsets: dict[str, int] = {}
        self.written: dict[str, dict[bytes | None, bytes]] = {}
        """The last value of each key, by topic: what a table of the topic would hold."""
        self.sent: list[tuple[str, bytes | None, bytes | None]] = []
        """Everything that was written, in order: topic, key and value."""
        partitions = [(topic, 0) for topic in self._plan.source_topics]
        self.task = StreamTask(self._plan, config, self, partitions=partitions, clock=lambda: _NOW_MS)
        self.task.initialize()
        self.task.start()

    def feed(self, record: Input) -> None:
        """Process one record and what follows from it, without a commit."""
        key, value = serdes.string().serialize("", record.key), serdes.string().serialize("", record.value)
        self._enqueue(record.topic, record.timestamp, key, value, NO_HEADERS)
        self._work()

    def commit(self) -> None:
        """Commit, and again as long as that lets something go on."""
        while self.task.commit_needed:
            self.task.prepare_commit()
            self.task.post_commit()
            self._work()

    def tables(self) -> dict[str, dict[Any, Any]]:
        """What the stores with names of the user's hold, without timestamps, and what was written to ``out``."""
        named = (store for store in self.task.registry if "-0000" not in store.name)
        found = {store.name: dict(_rows(store)) for store in named}
        found["out"] = dict(self.written.get("out", {}))
        return found

    def close(self) -> None:
        """Let go of nodes and stores."""
        self.task.suspend()
        self.task.close()

    # The producer

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
        self.sent.append((topic, key, value))
        table = self.written.setdefault(topic, {})
        table.pop(key, None)
        if value is not None:
            table[key] = value
        if topic in self._plan.source_topics:
            self._loop.append((topic, timestamp or 0, key, value, headers))

    def partitions_for(self, topic: str) -> int:
        """One, always."""
        return 1

    def flush(self) -> None:
        """Nothing is under way."""

    def _work(self) -> None:
        while self._loop or self.task.has_records:
            while self._loop:
                self._enqueue(*self._loop.popleft())
            self.task.process(_NOW_MS)

    def _enqueue(self, topic: str, timestamp: int, key: bytes | None, value: bytes | None, headers: Headers) -> None:
        offset = self._offsets[topic] = self._offsets.get(topic, -1) + 1
        self.task.add_records((topic, 0), [raw_record(topic, 0, offset, timestamp, key, value, headers)])


def final_tables(
    program: Program, records: Sequence[Input], *, cache_bytes: int, commit_after: Collection[int] = ()
) -> dict[str, dict[Any, Any]]:
    """All tables after ``records``, with a commit after those at the positions ``commit_after`` and at the end."""
    with running(program, cache_bytes=cache_bytes) as task:
        for position, record in enumerate(records):
            task.feed(record)
            if position in commit_after:
                task.commit()
        task.commit()
        return task.tables()


@contextmanager
def running(
    program: Program, *, cache_bytes: int, settings: Mapping[str, Any] = NO_SETTINGS
) -> Iterator[HandDrivenTask]:
    """A task that is closed at the end. Its databases are in memory where there is such a directory."""
    with TemporaryDirectory(dir=_SHARED_MEMORY if _SHARED_MEMORY.is_dir() else None) as directory:
        task = HandDrivenTask(program, cache_bytes=cache_bytes, settings={"state.dir": directory, **settings})
        try:
            yield task
        finally:
            task.close()


def _rows(cached: Any) -> Iterator[tuple[Any, Any]]:
    # Beneath the cache: it may show windows that have expired in the store since it read them.
    store = cached.uncached()
    entries = store.fetch_keys(None, None) if store.kind.shape == "session" else store.all()
    with entries:
        for key, value in entries:
            yield str(key), value.value if isinstance(value, ValueAndTimestamp) else value
