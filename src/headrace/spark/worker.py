"""What runs inside a Spark task: a level of a batch, for the tasks of one group.

A worker process lives longer than a batch: it keeps the application, the broker and the global stores.
"""

from __future__ import annotations

import atexit
import io
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec
from pyspark import Broadcast, cloudpickle

from headrace.batch.application import Application
from headrace.batch.failures import pack_failure
from headrace.batch.global_stores import GlobalStores
from headrace.batch.level import Level
from headrace.batch.order import BatchOrder
from headrace.batch.parcels import Kind, Parcel
from headrace.broker import open_broker
from headrace.spark.parcel_rows import from_batches, to_batches
from headrace.task.clock import clock_from, system_clock

if TYPE_CHECKING:
    from headrace.broker.port import Broker


@dataclass(frozen=True)
class Shipment:
    """An application on its way to the workers. Only the driver makes one. Headrace never writes it to a disk."""

    run: str
    """Names one start of the application."""
    broker: str
    application: bytes


class _Host:
    """What this process keeps for one run of an application."""

    def __init__(self, shipment: Shipment) -> None:
        # What functions print is to be seen when they print it, not when the process ends.
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(line_buffering=True)
        self.run = shipment.run
        self.application: Application = cloudpickle.loads(shipment.application)
        self.broker: Broker = open_broker(shipment.broker)
        self.global_stores = GlobalStores(self.application, self.broker, system_clock)

    def close(self) -> None:
        self.global_stores.close()
        self.broker.close()


_hosts: dict[str, _Host] = {}


class LevelFunction:
    """The function of one stage: parcels in, parcels out. An error becomes one, so that Spark does not try it again."""

    def __init__(self, shipment: Broadcast[Shipment], batch: bytes, number: int) -> None:
        self._shipment = shipment
        self._batch = batch
        self._number = number

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Run the level for the tasks that parcels came for."""
        return to_batches(self._run(from_batches(batches)))

    def _run(self, parcels: Iterator[Parcel]) -> Iterator[Parcel]:
        try:
            host = _host(self._shipment.value)
            batch = msgspec.msgpack.decode(self._batch, type=BatchOrder)
            stores = host.global_stores.at(batch.global_ends)
            # The clock of the driver decides what is due: that of another machine may be wrong.
            clock = clock_from(batch.now_ms)
            level = Level(host.application, batch, self._number, host.broker, clock=clock, global_stores=stores)
            yield from level.run(parcels)
        except Exception as error:
            yield Parcel(0, Kind.FAILURE, self._number, self._number, 0, 0, "", "", pack_failure(error))


class FirstLevelFunction(LevelFunction):
    """The function of the first stage. Its parcels come with it, by group; rows only say which group it is."""

    def __init__(self, shipment: Broadcast[Shipment], batch: bytes, groups: list[list[Parcel]]) -> None:
        super().__init__(shipment, batch, 0)
        self._groups = groups

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        numbers = (number for batch in batches for number in batch.column(0).to_pylist())
        return to_batches(self._run(parcel for number in numbers for parcel in self._groups[number]))


def _host(shipment: Shipment) -> _Host:
    host = _hosts.get(shipment.run)
    if host is None:
        _close_hosts()
        host = _hosts[shipment.run] = _Host(shipment)
    return host


def _close_hosts() -> None:
    while _hosts:
        # An application that has ended may have been removed with its directories.
        with suppress(Exception):
            _hosts.popitem()[1].close()


atexit.register(_close_hosts)
