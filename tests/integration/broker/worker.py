"""What the processes of these tests do. Each function runs in a process of its own, which a failpoint may end."""

from __future__ import annotations

import multiprocessing
import os
import random
import resource
import signal
import sys
import time
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from typing import Any

from headrace import failpoints
from headrace.broker.embedded import EmbeddedBroker
from headrace.broker.port import Decision, NewRecord, OffsetAndMetadata
from headrace.errors import BrokerError, FencedError

BIG = b"x" * 5000
STUCK_SECONDS = 300
"""When a process counts as stuck; a busy machine takes minutes for what is done in seconds otherwise."""

_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload([__name__])


def start(work: Callable[..., None], *arguments: Any, failpoint: str | None = None) -> BaseProcess:
    """Run ``work(*arguments)`` in another process."""
    process = _context.Process(target=_armed, args=(failpoint, work, arguments), daemon=True)
    process.start()
    return process


def finish(process: BaseProcess, *, killed: bool = False) -> None:
    """Wait for a process that ends by itself, or by its failpoint."""
    process.join(STUCK_SECONDS)
    assert process.exitcode == (-signal.SIGKILL if killed else 0), process.exitcode


def _armed(failpoint: str | None, work: Callable[..., None], arguments: tuple[Any, ...]) -> None:
    failpoints.arm(failpoint)
    work(*arguments)


def value(writer: int, number: int, size: int) -> bytes:
    """A value that says who wrote it, and is larger in some."""
    return b"%d:%d:" % (writer, number) + b"x" * size


def append_in_order(directory: str, writer: int, appends: int, seed: int) -> None:
    """Append batches of random size to ``log``; each record says its number."""
    chance = random.Random(seed)
    number = 0
    with EmbeddedBroker(directory) as broker:
        for _ in range(appends):
            size, count = chance.choice([(10, 1), (10, 30), (3000, 30)])
            batch = [NewRecord("log", b"%d" % writer, value(writer, number + n, size)) for n in range(count)]
            broker.append(batch)
            number += count


def append_the_rest(directory: str, appends: int) -> None:
    """Append numbered batches to ``out``, small and large in turn; go on where a killed predecessor was."""
    with EmbeddedBroker(directory) as broker:
        for sequence in range(_appended(broker), appends):
            size = 5000 if sequence % 2 else 1
            batch = [NewRecord("out", b"k", value(0, sequence, size))] * 20
            broker.append(batch)


def _appended(broker: EmbeddedBroker) -> int:
    """How many appends arrived."""
    return broker.end_offsets([("out", 0)])["out", 0] // 20


def run_batches(directory: str, batches: int) -> None:
    """What an engine does: read ``in``, write ``out`` and ``changes``, commit; until a number of batches is done."""
    with EmbeddedBroker(directory) as broker, broker.acquire_lease("app") as lease:
        last = broker.last_decided("app")
        for batch_id in range(0 if last is None else last.batch_id, batches):
            committed = broker.committed("app").get(("in", 0), OffsetAndMetadata(0)).offset
            # The last batch may have been committed before the kill: running it again must change nothing.
            again = last is not None and batch_id == last.batch_id
            first = committed - 10 if again else committed
            with broker.stage("app", lease.epoch, batch_id, "task") as stage:
                for chunk in broker.read("in", 0, first, first + 10):
                    for _, _, _, timestamp, key, data, headers in chunk:
                        stage.append("out", 0, timestamp, key, data, headers)
                        stage.append("changes", 0, timestamp, key, b"%d" % batch_id + BIG * (batch_id % 3))
                staged = stage.finish()
            offsets = {("in", 0): OffsetAndMetadata(first + 10)}
            broker.decide(Decision("app", lease.epoch, batch_id, [staged], offsets, {"batch": str(batch_id)}))


def compact(directory: str) -> None:
    """Compact ``changes``."""
    with EmbeddedBroker(directory) as broker:
        broker.compact("changes", force=True)


def merge(directory: str) -> None:
    """Merge the segments of ``changes``."""
    with EmbeddedBroker(directory) as broker:
        broker.merge("changes", at=2)


def sweep(directory: str) -> None:
    """Sweep, however young the orphans are."""
    with EmbeddedBroker(directory) as broker:
        broker.sweep(grace_ms=0)


def maintain_until(directory: str, file: str) -> None:
    """Merge, compact and sweep all the time, until a file exists."""
    with EmbeddedBroker(directory) as broker:
        while not os.path.exists(file):
            broker.maintain()
            broker.merge("log", at=2)


def follow(directory: str, partition: int, expected: int) -> None:
    """Read a partition while it grows: no record twice, none left out, each writer's in order."""
    position = 0
    latest: dict[bytes, int] = {}
    deadline = time.monotonic() + STUCK_SECONDS
    with EmbeddedBroker(directory) as broker:
        while time.monotonic() < deadline:
            end = broker.end_offsets([("log", partition)])["log", partition]
            for chunk in broker.read("log", partition, position, end):
                for _, _, offset, _, key, data, _ in chunk:
                    assert key is not None
                    assert data is not None
                    assert offset == position, (offset, position)
                    number = int(data.split(b":")[1])
                    assert number == latest.get(key, -1) + 1, (key, number, latest)
                    latest[key] = number
                    position += 1
            assert position == end
            if position >= expected:
                return
            time.sleep(0.005)
    sys.exit(f"only {position} of {expected} records came")


def hold_lease(directory: str, file: str, ttl_ms: int) -> None:
    """Take a lease, stage output, wait until a file exists, and try to commit."""
    with EmbeddedBroker(directory) as broker:
        lease = broker.acquire_lease("app", ttl_ms=ttl_ms)
        with broker.stage("app", lease.epoch, 0, "zombie") as stage:
            for _ in range(20):
                stage.append("out", 0, 0, b"k", BIG)
            staged = stage.finish()
        with open(f"{file}.staged", "w"):
            pass
        while not os.path.exists(file):
            time.sleep(0.01)
        try:
            broker.decide(Decision("app", lease.epoch, 0, [staged]))
        except FencedError:
            return
        sys.exit("the zombie could commit")


def fill_the_disk(directory: str, limit: int) -> None:
    """Append until no file may grow beyond ``limit`` bytes; the error must say what is wrong."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    with EmbeddedBroker(directory) as broker:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        try:
            for sequence in range(1000):
                size = 5000 if sequence % 2 else 1
                batch = [NewRecord("out", b"k", value(0, sequence, size))] * 20
                broker.append(batch)
        except BrokerError as error:
            assert "space" in str(error) or "catalog" in str(error), error
            assert error.hint
            return
    sys.exit("nothing failed")
