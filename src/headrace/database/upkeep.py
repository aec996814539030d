"""What goes on beside statements: who runs the queries, and what other processes wrote into the journal."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from headrace.broker.port import Broker, Lease
from headrace.database.heartbeat import Heartbeat
from headrace.database.names import NOTE
from headrace.errors import BrokerError, FencedError, HeadraceError, LeaseHeldError, in_short
from headrace.waiting import join

log = logging.getLogger(__name__)

_LOOK_SECONDS = 0.2
_RENEW_SECONDS = 2.0
_END_SECONDS = 60.0


class Upkeep:
    """A thread that holds the lease of the runner, or waits for it, and calls ``follow`` again and again.

    ``lock`` is held while it decides something: a broker has one decision at a time.
    """

    def __init__(
        self,
        broker: Broker,
        runner: str,
        lock: AbstractContextManager[Any],
        follow: Callable[[], None],
        run: Callable[[], None],
        halt: Callable[[], None],
    ) -> None:
        """``run`` is called when this process is to run the queries, ``halt`` when it must not any more."""
        self._broker, self._runner, self._lock = broker, runner, lock
        self._heartbeat = Heartbeat(broker, runner)
        self._follow, self._run, self._halt = follow, run, halt
        self._lease: Lease | None = None
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._loop, name="headrace-sql-upkeep", daemon=True)

    def start(self) -> None:
        """Become the runner if nobody is; then go on in the background."""
        self._try_to_run()
        owner = self._broker.lease_owner(self._runner)
        if self._lease is None and owner is not None:
            log.info("the queries are run by process %d on host %s", owner.pid, owner.host)
        self._thread.start()

    def stop(self) -> None:
        """End the thread. The lease is kept, until the queries have ended."""
        self._ending.set()
        join(self._thread, _END_SECONDS)

    def release(self) -> None:
        """Let another process run the queries."""
        if self._lease is None:
            return
        try:
            self._lease.release()
        except BrokerError as error:
            log.warning("the queries were not given back: whoever runs them next takes them. %s", in_short(error))

    def _loop(self) -> None:
        renewed = time.monotonic()
        while not self._ending.wait(_LOOK_SECONDS):
            try:
                self._follow()
                if time.monotonic() - renewed > _RENEW_SECONDS:
                    renewed = time.monotonic()
                    self._keep()
            except HeadraceError as error:
                log.error("the database cannot follow its journal: %s", in_short(error))

    def _keep(self) -> None:
        if self._lease is None:
            self._try_to_run()
            return
        try:
            self._lease.renew()
            with self._lock:
                self._heartbeat.beat(self._lease)
        except FencedError as error:
            log.error("another process runs the queries now: %s", in_short(error))
            self._lease = None
            self._halt()

    def _try_to_run(self) -> None:
        """Nobody who lives loses the lease, also where the broker would fence it."""
        owner = self._broker.lease_owner(self._runner)
        if owner is not None and not self._heartbeat.is_silent(owner):
            return
        try:
            self._lease = self._broker.acquire_lease(self._runner, note=NOTE)
        except LeaseHeldError:
            return
        self._run()
