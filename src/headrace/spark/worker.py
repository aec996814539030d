"""What runs inside a Spark task: a level of a batch, for the tasks of one group. The group's host does the work."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import msgspec
from pyspark import Broadcast, TaskContext

from headrace.batch.parcels import Kind as ParcelKind
from headrace.batch.parcels import Parcel
from headrace.broker import BrokerConfig, opener
from headrace.errors import TaskMigratedError
from headrace.spark import hosts
from headrace.spark.crash_notes import Crash, read_crash
from headrace.spark.host_wire import Kind, PeerGoneError, Wire, directory_of
from headrace.spark.parcel_rows import from_batches, to_batches


@dataclass(frozen=True)
class Shipment:
    """An application on its way to the hosts. Only the driver makes one. Headrace never writes it to a disk."""

    run: str
    """Names one start of the application."""
    broker: BrokerConfig
    application: bytes
    silent_seconds: float
    """A host that gives no sign of life for so long is ended, and Spark tries the group again with a new one."""


class LevelFunction:
    """The function of one stage: parcels in, parcels out."""

    def __init__(self, shipment: Broadcast[Shipment], batch: bytes, number: int) -> None:
        self._shipment = shipment
        self._batch = batch
        self._number = number

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Run the level for the tasks that parcels came for."""
        return to_batches(self._run(from_batches(batches)))

    def _run(self, parcels: Iterator[Parcel]) -> Iterator[Parcel]:
        """Hand on what is for later levels; the rest is for the host, if there is any."""
        with ExitStack() as ending:
            host: Wire | None = None
            for parcel in parcels:
                # A visit may need the results of earlier ones.
                if parcel.kind != ParcelKind.RESULT and not parcel.is_opened_at(self._number):
                    yield parcel
                    continue
                if host is None:
                    host = ending.enter_context(_connection(self._shipment.value))
                    self._ask(host)
                host.send_parcel(parcel)
            if host is not None:
                host.send(Kind.END, at_once=True)
                yield from _answers(host)

    def _ask(self, host: Wire) -> None:
        shipment = self._shipment.value
        head = msgspec.msgpack.encode((shipment.run, self._number, shipment.silent_seconds))
        host.send(Kind.LEVEL, head, self._batch, at_once=True)
        if host.receive().kind == Kind.UNKNOWN:
            data = msgspec.msgpack.encode((shipment.run, shipment.broker, shipment.application))
            host.send(Kind.SHIPMENT, data=data, at_once=True)


class FirstLevelFunction(LevelFunction):
    """The function of the first stage. Its parcels come with it, by group; rows only say which group it is."""

    def __init__(self, shipment: Broadcast[Shipment], batch: bytes, groups: list[list[Parcel]]) -> None:
        super().__init__(shipment, batch, 0)
        self._groups = groups

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        numbers = (number for batch in batches for number in batch.column(0).to_pylist())
        return to_batches(self._run(parcel for number in numbers for parcel in self._groups[number]))


class FirstImports:
    """Does nothing but import: hosts are forked from workers, and have what these have imported."""

    def __init__(self, address: str) -> None:
        """``address`` is that of the broker whose client is imported, too."""
        self._address = address

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """As many parcels as come batches, for nobody."""
        opener(self._address)
        return to_batches(Parcel(0, ParcelKind.RESULT, level=0) for _ in batches)


@contextmanager
def _connection(shipment: Shipment) -> Iterator[Wire]:
    """To the host of this group. One that is gone or silent is ended: Spark tries the task again with a new one."""
    group = _group()
    with hosts.host_of(shipment.run, group, shipment.silent_seconds) as host:
        try:
            yield host
        except PeerGoneError as gone:
            if not gone.is_silent:
                raise ended_host(read_crash(directory_of(shipment.run) / str(group))) from gone
            hosts.kill(host)
            message = f"the process of the tasks gave no sign of life for {shipment.silent_seconds:g} s"
            raise TaskMigratedError(message, detail=str(gone)) from gone


def ended_host(crash: Crash) -> TaskMigratedError:
    """The error where a host has ended in the middle of its work."""
    if crash.cause is None:
        message = "the process of the tasks was killed: it had too little memory, or somebody ended it"
        return TaskMigratedError(message, at=crash.at)
    message = f"a function crashed the process of the tasks: {crash.cause}"
    hint = "Mend the function, or the library in which it crashes: no Exception is raised that could be handled."
    return TaskMigratedError(message, hint=hint, at=crash.at)


def _answers(host: Wire) -> Iterator[Parcel]:
    while (frame := host.receive()).kind != Kind.END:
        if frame.kind == Kind.PARCEL:
            yield frame.parcel


def _group() -> int:
    """Which group this Spark task has: each level has as many partitions as there are groups."""
    context = TaskContext.get()
    assert context is not None
    return context.partitionId()
