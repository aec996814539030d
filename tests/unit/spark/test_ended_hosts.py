"""A function that ends the process of its task is told with its line, its task and its records. Without Spark."""

from __future__ import annotations

import os
import signal
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from headrace import StreamsBuilder
from headrace.batch.coordinator import Coordinator
from headrace.batch.failures import unpack_failure
from headrace.batch.parcels import Kind, Parcel
from headrace.clock import now_ms
from headrace.errors import HeadraceError, ProcessingError, TaskMigratedError
from headrace.spark import worker
from headrace.spark.hosts import end_hosts, host_of
from headrace.spark.shipping import packed
from headrace.spark.worker import LevelFunction, Shipment
from tests.integration.batch.programs import append, open_at, settings


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """One start of an application with one group of tasks."""
    monkeypatch.setattr(worker, "_group", lambda: 0)
    name = uuid.uuid4().hex
    # Its host is made before a broker is opened here: it must not inherit one.
    with host_of(name, 0, 30.0):
        pass
    yield name
    end_hosts(name)


def failure_of(function: Callable[[str], Any], run: str, directory: Path) -> HeadraceError:
    """What a batch comes to in which ``function`` is given the second of two records."""
    builder = StreamsBuilder()
    builder.stream("lines").map_values(lambda line: function(line) if line == "b" else line, name="read").to("out")
    with closing(open_at(directory)) as broker:
        broker.create_topic("lines")
        append(broker, "lines", [(None, "a"), (None, "b")])
        coordinator = Coordinator(builder.build(), settings(directory), broker, now_ms)
        shipment = Shipment(run, broker.config, packed(coordinator.application), 30.0)
        parcels = coordinator.parcels(coordinator.plan())
        order = msgspec.msgpack.encode(coordinator.begin())
        level = LevelFunction(SimpleNamespace(value=shipment), order, 0)  # type: ignore[arg-type]
        try:
            (failed,) = _failures(level._run(iter(parcels)))
        except TaskMigratedError as error:
            return error
        finally:
            coordinator.close()
        return unpack_failure(failed.data)


def _failures(parcels: Iterator[Parcel]) -> list[Parcel]:
    return [parcel for parcel in parcels if parcel.kind == Kind.FAILURE]


def test_by_os_exit(run: str, tmp_path: Path) -> None:
    def leave(_: str) -> None:
        os._exit(3)

    error = failure_of(leave, run, tmp_path)
    assert isinstance(error, ProcessingError)
    assert error.message == "a function ended its process (exit code 3)"
    line = leave.__code__.co_firstlineno + 1
    assert error.at == f"{__file__}:{line}, node read, task 0_0, record lines-0@1"


def test_by_a_crash(run: str, tmp_path: Path) -> None:
    def crash(_: str) -> None:
        signal.raise_signal(signal.SIGSEGV)

    error = failure_of(crash, run, tmp_path)
    assert error.message == "a function crashed the process of the tasks: Segmentation fault"
    line = crash.__code__.co_firstlineno + 1
    assert error.at == f"{__file__}:{line}, task 0_0, batch 0, records lines-0@0 to 1"
