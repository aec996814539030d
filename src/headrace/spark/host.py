"""A host: a process that keeps tasks open from batch to batch, beside the Python workers of Spark, which come and go.

There is one for each group of tasks. The first worker that needs it makes it; it ends with the process that all workers
come from, when the application has another owner or none, when its socket is gone, or when it is told to.
"""

from __future__ import annotations

import io
import logging
import os
import select
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from os import _exit  # Functions find another one here: see raise_exits.
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import msgspec
from pyspark import cloudpickle

from headrace.application.global_stores import GlobalStores
from headrace.application.layout import Application
from headrace.batch.failures import pack_failure
from headrace.batch.level import Level
from headrace.batch.order import BatchOrder
from headrace.batch.parcels import Kind as ParcelKind
from headrace.batch.parcels import Parcel
from headrace.batch.visiting import OpenTasks
from headrace.broker import BrokerConfig, open_broker
from headrace.clock import clock_from, now_ms
from headrace.errors import FencedError
from headrace.spark.crash_notes import CrashNote, raise_exits
from headrace.spark.host_wire import Kind, PeerGoneError, Wire, sign_on

if TYPE_CHECKING:
    from headrace.broker.port import Broker

log = logging.getLogger(__name__)

_IDLE_SECONDS = 1.0
"""How often an idle host looks whether the application is still its driver's."""
_SIGNS = 4
"""How many signs of life a working host gives in the time for which it must not be silent."""
_JOIN_SECONDS = 5.0
_WATCH_SECONDS = 1.0
_FIRST_FILE = 3
_MOST_FILES = 1 << 16
_read_shipment = msgspec.msgpack.Decoder(tuple[str, BrokerConfig, bytes]).decode


def fork_host(path: Path) -> None:
    """Make a process that listens at ``path``. It goes on when this one, a worker that Spark may end, is gone."""
    parent = os.getppid()
    if os.fork():
        return
    try:
        os.setsid()
        _be_host(path, parent)
    finally:
        _end()


def _end() -> NoReturn:
    """End this process, and those that functions have forked: they hold the locks of the tasks, too."""
    if os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    _exit(0)


def _be_host(path: Path, parent: int) -> None:
    """The rest of the life of a new process. ``parent`` is the process that all workers of the executor come from."""
    # The files are those of the worker: its connections to Spark must not stay open here.
    os.closerange(_FIRST_FILE, _MOST_FILES)
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)
    raise_exits()
    # Ctrl-C is for the driver, which lets the batch end.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(parent,), name="headrace-watch", daemon=True).start()
    if isinstance(sys.stdout, io.TextIOWrapper):
        # What functions print is to be seen when they print it, not when the process ends.
        sys.stdout.reconfigure(line_buffering=True)
    try:
        _Host(path).serve()
    except Exception:
        log.exception("the host %s failed", path)
    sys.stdout.flush()


def _end_with(parent: int) -> NoReturn:
    """End this process when ``parent`` ends. Stores can go back, so nothing needs to be closed."""
    with suppress(ProcessLookupError):
        if hasattr(os, "pidfd_open"):
            watch = select.poll()
            watch.register(os.pidfd_open(parent), select.POLLIN)
            watch.poll()
        else:
            while True:
                os.kill(parent, 0)
                time.sleep(_WATCH_SECONDS)
    _end()


class _Host:
    """Serves one worker after another: a group of tasks is never at work twice at the same time."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._hosted: HostedApplication | None = None
        self._note = CrashNote(path)
        self._listener = socket.socket(socket.AF_UNIX)
        draft = path.with_suffix(f".{os.getpid()}")
        self._listener.bind(str(draft))
        self._listener.listen()
        self._listener.settimeout(_IDLE_SECONDS)
        self._alive = sign_on(path)
        draft.rename(path)
        self._socket = path.stat()

    @property
    def _is_findable(self) -> bool:
        """Whether its socket is where workers look for it, and no other host's."""
        try:
            return os.path.samestat(self._path.stat(), self._socket)
        except FileNotFoundError:
            return False

    def serve(self) -> None:
        """Answer until the application is another's, or until told to end."""
        while self._serve_next():
            pass
        if self._is_findable:
            self._path.unlink(missing_ok=True)
        self._let_go()

    def _serve_next(self) -> bool:
        """Answer one worker, or look around; False when it is time to end."""
        try:
            connection, _ = self._listener.accept()
        except TimeoutError:
            # Without its socket nobody finds it, but it still has its tasks: the next host waits for them.
            return self._is_findable and (self._hosted is None or self._hosted.is_owned)
        connection.settimeout(None)
        with Wire(connection) as wire:
            # The directory keeps others out already.
            if wire.peer[1] != os.getuid():
                return True
            try:
                return self._answer(wire)
            except PeerGoneError as error:
                log.warning("a worker of Spark ended before it had its answer: %s", error)
                return True

    def _answer(self, wire: Wire) -> bool:
        """Do what one worker asks for; False where it was to end."""
        asked = wire.receive()
        if asked.kind == Kind.QUIT:
            # Who asked for it waits until the connection ends.
            self._let_go()
            return False
        run, number, silent_seconds = msgspec.msgpack.decode(asked.head, type=tuple[str, int, float])
        shipped = self._shipped(wire, run)
        incoming = _Incoming(wire)
        held: list[Parcel] = []
        with _signs_of_life(wire, silent_seconds / _SIGNS):
            try:
                if shipped is not None:
                    self._hosted = HostedApplication(
                        *_read_shipment(shipped), group=int(self._path.name), doing=self._note.doing
                    )
                assert self._hosted is not None
                for parcel in self._hosted.run_level(number, asked.data, incoming):
                    # The worker listens only when it has sent everything.
                    if incoming.is_complete:
                        wire.send_parcel(parcel)
                    else:
                        held.append(parcel)
            except PeerGoneError:
                raise
            except Exception as error:
                # As a parcel, so that Spark does not try it again.
                held.append(Parcel(0, ParcelKind.FAILURE, number, sent_at=number, data=pack_failure(error)))
                incoming.skip()
            for parcel in held:
                wire.send_parcel(parcel)
        wire.send(Kind.END, at_once=True)
        return True

    def _shipped(self, wire: Wire, run: str) -> bytes | None:
        """The application, if it is another one than that which is here."""
        if self._hosted is not None and self._hosted.run == run:
            wire.send(Kind.ALIVE, at_once=True)
            return None
        self._let_go()
        wire.send(Kind.UNKNOWN, at_once=True)
        return wire.receive().data

    def _let_go(self) -> None:
        if self._hosted is not None:
            self._hosted.close()
            self._hosted = None


class HostedApplication:
    """An application and its open tasks."""

    def __init__(
        self,
        run: str,
        broker: BrokerConfig,
        application: bytes,
        group: int = 0,
        doing: Callable[[str], None] = lambda what: None,
    ) -> None:
        """``doing`` hears of each visit."""
        self.run = run
        self._application: Application = cloudpickle.loads(application)
        self._broker: Broker = open_broker(replace(broker, publisher=group))
        self._global_stores = GlobalStores(self._application, self._broker, now_ms)
        self._tasks = OpenTasks(self._application, self._broker, doing)
        self._epoch: int | None = None

    @property
    def is_owned(self) -> bool:
        """Whether the application is still that of the driver which asked last, and that driver lives.

        The process that workers come from may have been killed before the one that forked this host was: then there is
        nothing to watch, and nobody else tells that the driver is gone.
        """
        if self._epoch is None:
            return True
        try:
            self._broker.check_lease(self._application.id, self._epoch)
        except FencedError:
            return False
        return self._broker.lease_owner(self._application.id) is not None

    def run_level(self, number: int, order: bytes, parcels: Iterable[Parcel]) -> Iterator[Parcel]:
        """Run a level over the parcels that come; yields what goes to the next level."""
        batch = msgspec.msgpack.decode(order, type=BatchOrder)
        self._epoch = batch.epoch
        stores = self._global_stores.at(batch.global_ends)
        # The clock of the driver decides what is due: that of another machine may be wrong.
        clock = clock_from(batch.now_ms)
        level = Level(self._application, batch, number, self._tasks, clock=clock, global_stores=stores)
        yield from level.run(parcels)

    def close(self) -> None:
        """Close the tasks; whoever opens them next finds them as they were committed."""
        self._tasks.close()
        self._global_stores.close()
        self._broker.close()


class _Incoming:
    """The parcels that a worker sends for a level."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self.is_complete = False

    def __iter__(self) -> Iterator[Parcel]:
        while not self.is_complete:
            frame = self._wire.receive()
            if frame.kind == Kind.END:
                self.is_complete = True
            else:
                yield frame.parcel

    def skip(self) -> None:
        """Take in the rest."""
        for _ in self:
            pass


@contextmanager
def _signs_of_life(wire: Wire, seconds: float) -> Iterator[None]:
    """Tell the worker now and then that its work is being done."""
    done = threading.Event()

    def tell() -> None:
        with suppress(PeerGoneError):
            while not done.wait(seconds):
                wire.send(Kind.ALIVE, at_once=True)

    thread = threading.Thread(target=tell, name="headrace-alive", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join(_JOIN_SECONDS)
