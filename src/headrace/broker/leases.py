"""Leases: one process at a time commits for an application, and one that was replaced never commits again.

Each holder gets a higher *epoch* than all before it; a commit carries the epoch and is refused when a newer one
exists. So safety does not hang on clocks: a holder that slept through its lease is fenced, however late it wakes up.
Clocks decide only how soon another may take over: at once where the holder's process is gone, after the lease's time
otherwise.
"""

from __future__ import annotations

import hashlib
import os
import socket
import sqlite3
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from headrace.broker.catalog import Catalog
from headrace.broker.port import Owner
from headrace.clock import Clock
from headrace.errors import ArgumentError, FencedError, LeaseHeldError
from headrace.machine import boot_id

_ended: set[tuple[str, int, str, int]] = set()
"""The leases that this process has ended while their catalog could not be written, because the disk was full."""


class _Held(NamedTuple):
    application: str
    epoch: int
    host: str
    pid: int
    process: str
    note: str
    since_ms: int
    renewed: int
    expires: int

    @property
    def key(self) -> tuple[str, int, str, int]:
        """Tells it from all others, those of another catalog too; renewing it changes nothing of that."""
        return self.application, self.epoch, self.process, self.since_ms


class CatalogLease:
    def __init__(self, catalog: Catalog, clock: Clock, held: _Held) -> None:
        self._catalog, self._clock, self._held = catalog, clock, held
        self._ttl_ms = held.expires - held.renewed
        self.application = held.application
        self.epoch = held.epoch
        self.owner = _owner(held)

    def renew(self) -> None:
        """Hold it for another while; FencedError where somebody took it over, BrokerGoneError without a directory."""
        self._catalog.check_in_place()
        now = self._clock.uptime_ms()
        with self._catalog.write() as connection:
            check_epoch(connection, self.application, self.epoch)
            change = "UPDATE leases SET renewed = ?, expires = ? WHERE application = ?"
            connection.execute(change, (now, now + self._ttl_ms, self.application))

    def release(self) -> None:
        """Give it back. Where that cannot be written, this process, which knows of it, may take it all the same."""
        _ended.add(self._held.key)
        with self._catalog.write() as connection:
            connection.execute("DELETE FROM leases WHERE application = ? AND epoch = ?", (self.application, self.epoch))
        _ended.discard(self._held.key)

    def __enter__(self) -> CatalogLease:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


def acquire(catalog: Catalog, clock: Clock, application: str, ttl_ms: int, note: str) -> CatalogLease:
    """Take the lease where nobody alive has it."""
    if ttl_ms < 1:
        message = f"a lease must last 1 ms or more, found {ttl_ms}"
        raise ArgumentError(message)
    pid, since_ms = os.getpid(), clock.now_ms()
    with catalog.write() as connection:
        # Not before the catalog is ours: a lease that was taken while we waited would seem to be of another start.
        now = clock.uptime_ms()
        found = _held(connection, application)
        if found is not None and _is_live(found, now):
            raise _refusal(found, now)
        epoch = _next_epoch(connection, application)
        process = process_mark(pid)
        held = _Held(application, epoch, socket.gethostname(), pid, process, note, since_ms, now, now + ttl_ms)
        connection.execute("INSERT OR REPLACE INTO leases VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", held)
    return CatalogLease(catalog, clock, held)


def live_owner(connection: sqlite3.Connection, clock: Clock, application: str) -> Owner | None:
    held = _held(connection, application)
    return None if held is None or not _is_live(held, clock.uptime_ms()) else _owner(held)


def check_epoch(connection: sqlite3.Connection, application: str, epoch: int) -> None:
    """Refuse whoever does not hold the application's lease any more."""
    held = _held(connection, application)
    if held is not None and held.epoch == epoch:
        return
    message = f"application {application} was taken over: epoch {epoch} may no longer commit"
    if held is None:
        raise FencedError(message, detail="Nobody holds its lease now.", hint="Start the application again.")
    raise FencedError(message, detail=f"Epoch {held.epoch} belongs to {_shown(held)}.", hint="Stop this process.")


def label_of(application: str) -> str:
    """What the names of an application's files begin with: short and legal whatever its name."""
    return hashlib.sha256(application.encode()).hexdigest()[:12]


def process_mark(pid: int) -> str:
    """Tells a process from a later one with the same number: this start of the machine, its namespace, its start."""
    return f"{boot_id()}/{_namespace()}/{_start_of(pid)}"


def has_ended(host: str, pid: int, process: str) -> bool:
    """Whether a process, told by its mark, is no more. Of another machine or namespace nobody can tell: it may live."""
    if host != socket.gethostname():
        return False
    boot, namespace, start = process.split("/")
    if boot != boot_id():
        return True
    return namespace == _namespace() and start != _start_of(pid)


def _next_epoch(connection: sqlite3.Connection, application: str) -> int:
    insert = "INSERT OR IGNORE INTO applications (name, label) VALUES (?, ?)"
    connection.execute(insert, (application, label_of(application)))
    connection.execute("UPDATE applications SET epoch = epoch + 1 WHERE name = ?", (application,))
    return int(connection.execute("SELECT epoch FROM applications WHERE name = ?", (application,)).fetchone()[0])


def _held(connection: sqlite3.Connection, application: str) -> _Held | None:
    question = """SELECT application, epoch, host, pid, process, note, since_ms, renewed, expires
                  FROM leases WHERE application = ?"""
    row = connection.execute(question, (application,)).fetchone()
    return None if row is None else _Held(*row)


def _is_live(held: _Held, now: int) -> bool:
    if not held.renewed <= now < held.expires:  # expired, or the machine was started again
        return False
    return held.key not in _ended and not has_ended(held.host, held.pid, held.process)


def _owner(held: _Held) -> Owner:
    return Owner(held.host, held.pid, held.since_ms, held.note)


def _refusal(held: _Held, now: int) -> LeaseHeldError:
    message = f"application {held.application} is already running: {_shown(held)}"
    hint = (
        "Stop that process, or give this one another application.id. If it hangs, "
        f"its lease ends in {(held.expires - now) / 1000:.0f} s."
    )
    return LeaseHeldError(message, detail=f"epoch {held.epoch}{', ' + held.note if held.note else ''}", hint=hint)


def _shown(held: _Held) -> str:
    since = datetime.fromtimestamp(held.since_ms / 1000).astimezone().isoformat(sep=" ", timespec="seconds")
    return f"process {held.pid} on host {held.host}, since {since}"


def _namespace() -> str:
    try:
        return os.readlink("/proc/self/ns/pid")
    except OSError:
        return ""


def _start_of(pid: int) -> str:
    """When the process was started; ``gone`` where there is none of that number."""
    try:
        # The name of the program, in parentheses, may hold anything: fields count from behind it.
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except FileNotFoundError:
        return "gone" if Path("/proc/self/stat").exists() else _signalled(pid)
    except OSError:
        return "gone"
    return "gone" if fields[0] in {"Z", "X"} else fields[19]


def _signalled(pid: int) -> str:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return "gone"
    except OSError:
        pass
    return "alive"
