"""Where the hosts of this machine are: a worker finds or makes the one of its group, the driver ends them."""

from __future__ import annotations

import logging
import os
import shutil
import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from headrace.errors import StreamsError
from headrace.file_locks import lock
from headrace.private_directories import make_private
from headrace.spark.host import fork_host
from headrace.spark.host_wire import (
    Kind,
    PeerGoneError,
    Wire,
    call,
    directory_of,
    has_lost_driver,
    hosts_in,
    is_abandoned,
    process_at,
)

log = logging.getLogger(__name__)

_START_SECONDS = 30.0
_QUIT_SECONDS = 10.0
_ALONE_SECONDS = 60.0
"""How long another worker may look for the same host: to end one, to start one, and on a busy machine."""
_LOOK_SECONDS = 0.005


def host_of(run: str, group: int, silent_seconds: float) -> Wire:
    """A connection to the host of a group; one is made where there is none. It must not be silent for longer."""
    path = directory_of(run) / str(group)
    make_private(path.parent)
    with _alone(path.with_suffix(".lock")):
        host = call(path, silent_seconds)
        if host is None:
            _end_unreachable(path)
            path.unlink(missing_ok=True)
            fork_host(path)
            host = _started(path, silent_seconds)
    return host


def end_hosts(run: str) -> None:
    """End the hosts of a run that are on this machine; their tasks are closed then."""
    directory = directory_of(run)
    with ExitStack() as ending:
        for path in directory.glob("[0-9]*"):
            host = call(path, _QUIT_SECONDS) if path.is_socket() else None
            if host is not None:
                # All are told before the first is waited for.
                ending.enter_context(host)
                ending.callback(_await_end, host)
                _tell_to_quit(host)
    shutil.rmtree(directory, ignore_errors=True)


def remove_abandoned() -> None:
    """Remove what drivers and hosts that were killed have left on this machine.

    A host ends when its driver does, unless it is stopped: it would keep its tasks from whoever needs them next.
    """
    for directory in directory_of("").iterdir():
        # Another start may remove it, too.
        with suppress(FileNotFoundError):
            if has_lost_driver(directory):
                for path in hosts_in(directory):
                    _end_unreachable(path)
            if is_abandoned(directory):
                shutil.rmtree(directory, ignore_errors=True)


def kill(host: Wire) -> None:
    """End a host that does not answer."""
    _kill(host.peer[0])


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """One worker at a time; who waits too long is told for whom."""
    deadline = time.monotonic() + _ALONE_SECONDS
    with path.open("a+", encoding="ascii") as file:
        while not lock(file):
            if time.monotonic() > deadline:
                file.seek(0)
                other = file.read().strip()
                message = f"the process {other}, a worker of Spark, has kept {path} for {_ALONE_SECONDS:g} s"
                raise StreamsError(message, hint=f"It was stopped, or hangs. End it: kill -9 {other}")
            time.sleep(_LOOK_SECONDS)
        file.truncate(0)
        print(os.getpid(), file=file, flush=True)
        yield


def _end_unreachable(path: Path) -> None:
    """A host without a socket, or without a driver, cannot be asked for anything, but still has its tasks."""
    deadline = time.monotonic() + _QUIT_SECONDS
    while (process := process_at(path)) is not None:
        if time.monotonic() > deadline:
            log.warning("the process %d, which an earlier start left, was killed and does not end", process)
            return
        _kill(process)
        time.sleep(_LOOK_SECONDS)


def _kill(host: int) -> None:
    """Its group, too: what functions have forked has its socket and its locks, and may have outlived it."""
    with suppress(ProcessLookupError):
        os.killpg(host, signal.SIGKILL)


def _started(path: Path, silent_seconds: float) -> Wire:
    deadline = time.monotonic() + _START_SECONDS
    while (host := call(path, silent_seconds)) is None:
        if time.monotonic() > deadline:
            process = process_at(path)
            who = f"the host, process {process}, did not begin" if process else "no host began"
            message = f"{who} to listen at {path} within {_START_SECONDS:g} s"
            raise StreamsError(message)
        time.sleep(_LOOK_SECONDS)
    return host


def _tell_to_quit(host: Wire) -> None:
    with suppress(PeerGoneError):
        host.send(Kind.QUIT, at_once=True)


def _await_end(host: Wire) -> None:
    try:
        host.receive()
    except PeerGoneError as gone:
        if gone.is_silent:
            kill(host)
