"""One broker for all processes of one pytest run.

Whoever uses it holds a lock. The first one starts a keeper, a process of its own that starts the broker and ends it
when nobody holds the lock any more: locks go with their processes, however these end.
"""

from __future__ import annotations

import fcntl
import itertools
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

SECONDS = 180.0
_LOOK_SECONDS = 0.2


@contextmanager
def shared_broker(directory: Path) -> Iterator[str]:
    """The address of the run's broker; it stays while the block lasts."""
    directory.mkdir(parents=True, exist_ok=True)
    with (directory / "users.lock").open("a") as users:
        with (directory / "start.lock").open("a") as starting:
            _take(starting, fcntl.LOCK_EX)
            _take(users, fcntl.LOCK_SH)
            address = _address(directory) or _start_keeper(directory)
        yield address


def keep(directory: Path, place: Path) -> None:
    """Start a broker in ``place`` and end it when its last user has gone."""
    # Here: those that only use the broker do without.
    from tests.kafka.servers import end, small_server  # noqa: PLC0415

    server = small_server(place)
    try:
        server.start()
        note = place / "address.new"
        note.write_text(server.address)
        note.rename(directory / "address")
        while server.pid is not None and not _is_unused(directory):
            time.sleep(_LOOK_SECONDS)
    finally:
        end(server)
        shutil.rmtree(place, ignore_errors=True)


def _start_keeper(directory: Path) -> str:
    place = next(path for number in itertools.count() if not (path := directory / f"broker-{number}").exists())
    place.mkdir(mode=0o700)
    root = Path(__file__).parents[2]
    said = place.with_suffix(".said")
    with said.open("wb") as output:
        keeper = subprocess.Popen(
            [sys.executable, "-m", "tests.kafka.shared_broker", str(directory), str(place)],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            cwd=root,
            start_new_session=True,
        )
    deadline = time.monotonic() + SECONDS
    while (address := _address(directory)) is None:
        if keeper.poll() is not None or time.monotonic() > deadline:
            keeper.kill()
            message = f"the broker of the tests does not start: {said.read_text(errors='replace')}"
            raise RuntimeError(message)
        time.sleep(_LOOK_SECONDS)
    # Nobody waits for it: it stays as long as there are users, of whom this process is only one.
    keeper.returncode = 0
    return address


def _address(directory: Path) -> str | None:
    """None also where a keeper was killed, and its broker with it."""
    try:
        address = (directory / "address").read_text()
        host, _, port = address.rpartition(":")
        socket.create_connection((host, int(port)), timeout=5.0).close()
    except OSError:
        return None
    return address


def _is_unused(directory: Path) -> bool:
    with (directory / "start.lock").open("a") as starting, (directory / "users.lock").open("a") as users:
        try:
            fcntl.flock(starting, fcntl.LOCK_EX | fcntl.LOCK_NB)
            fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        (directory / "address").unlink(missing_ok=True)
        return True


def _take(file: IO[str], kind: int) -> None:
    deadline = time.monotonic() + SECONDS
    while True:
        try:
            fcntl.flock(file, kind | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise TimeoutError(file.name) from None
            time.sleep(_LOOK_SECONDS)


if __name__ == "__main__":
    keep(Path(sys.argv[1]), Path(sys.argv[2]))
