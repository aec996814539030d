"""What a worker of Spark and a host say to each other over a socket: frames of a kind, a head and data."""

from __future__ import annotations

import fcntl
import os
import socket
import struct
import tempfile
import threading
from contextlib import suppress
from enum import IntEnum
from pathlib import Path
from types import TracebackType
from typing import IO, NamedTuple

import msgspec

from headrace.batch.parcels import Parcel
from headrace.errors import StateDirectoryError
from headrace.file_locks import lock
from headrace.private_directories import make_private

_PREFIX = struct.Struct(">BII")
_BUFFER_BYTES = 1 << 20
_DRIVER = "driver"
_CREDENTIALS = struct.Struct("3i")
_LONGEST_PARENT = 60
"""The path of a socket may have 107 bytes; the names of a run and of a host follow."""
_pack = msgspec.msgpack.Encoder().encode
_unpack = msgspec.msgpack.Decoder(tuple[int, int, int, int, int, int, str, str]).decode


class Kind(IntEnum):
    """What a frame says."""

    SHIPMENT = 1
    """The application to host; to a host that asked for it."""
    LEVEL = 2
    """Run a level of a batch; parcels follow."""
    PARCEL = 3
    END = 4
    """No more parcels."""
    UNKNOWN = 5
    """From the host: it has no such application yet."""
    ALIVE = 6
    """From the host, now and then while it works."""
    QUIT = 7
    """Close everything and end."""


class Frame(NamedTuple):
    """One thing said."""

    kind: int
    head: bytes
    data: bytes

    @property
    def parcel(self) -> Parcel:
        """The parcel in it."""
        return Parcel(*_unpack(self.head), self.data)


class PeerGoneError(Exception):
    """The process at the other end of a connection has ended, or does not answer."""

    @property
    def is_silent(self) -> bool:
        """Whether it is there and does not answer."""
        return isinstance(self.__cause__, TimeoutError)


class Wire:
    """One end of a connection; several threads may send. A context manager. Every method may raise PeerGoneError."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._file = connection.makefile("rwb", buffering=_BUFFER_BYTES)
        self._sending = threading.Lock()

    @property
    def peer(self) -> tuple[int, int]:
        """The process at the other end, and its user."""
        options = self._connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
        process, user, _ = _CREDENTIALS.unpack(options)
        return process, user

    def send(self, kind: Kind, head: bytes = b"", data: bytes = b"", *, at_once: bool = False) -> None:
        """Say something; it is on its way after one that goes ``at_once``."""
        try:
            with self._sending:
                self._file.write(_PREFIX.pack(kind, len(head), len(data)))
                self._file.write(head)
                self._file.write(data)
                if at_once:
                    self._file.flush()
        except OSError as error:
            raise PeerGoneError(str(error)) from error

    def send_parcel(self, parcel: Parcel) -> None:
        """Hand a parcel over."""
        self.send(Kind.PARCEL, _pack(parcel[:-1]), parcel.data)

    def receive(self) -> Frame:
        """What is said next."""
        kind, head, data = _PREFIX.unpack(self._read(_PREFIX.size))
        return Frame(kind, self._read(head), self._read(data))

    def _read(self, size: int) -> bytes:
        try:
            data: bytes = self._file.read(size)
        except OSError as error:
            raise PeerGoneError(str(error)) from error
        if len(data) < size:
            raise PeerGoneError("it has closed the connection")
        return data

    def __enter__(self) -> Wire:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        with suppress(OSError):  # What was not sent yet has nobody to read it.
            self._file.close()
        self._connection.close()


def directory_of(run: str) -> Path:
    """Where the hosts of one run listen, on this machine: nobody but the user can look into it."""
    name = f"headrace-{os.getuid()}"
    parent = Path(tempfile.gettempdir(), name)
    if len(os.fsencode(parent)) > _LONGEST_PARENT:
        parent = Path("/tmp", name)
    make_private(parent)
    found = parent.lstat()
    if found.st_uid != os.getuid() or found.st_mode & 0o077:
        message = f"{parent} belongs to somebody else, or others may look into it"
        raise StateDirectoryError(message, hint="Remove it, or set TMPDIR to a directory of your own.")
    return parent / run[:16]


def sign_on(path: Path) -> IO[str]:
    """Say which process listens at ``path``: the file that is returned is locked while it lives."""
    file = _pid_file(path).open("w", encoding="ascii")
    fcntl.flock(file, fcntl.LOCK_EX)
    file.write(f"{os.getpid()}\n")
    file.flush()
    return file


def process_at(path: Path) -> int | None:
    """The process that signed on for ``path`` and lives; None where there is none."""
    file = _pid_file(path)
    with suppress(FileNotFoundError):
        if _is_locked(file):
            return int(file.read_text(encoding="ascii") or 0) or None
    return None


def sign_on_as_driver(directory: Path) -> IO[str]:
    """Say that ``directory`` is a driver's: the file that is returned is locked while the driver lives."""
    make_private(directory)
    unlocked = directory / f"{_DRIVER}.new"
    file = unlocked.open("w", encoding="ascii")
    fcntl.flock(file, fcntl.LOCK_EX)
    # Under that name it is locked from the first moment on: others take it for that of a driver that is gone.
    unlocked.rename(directory / _DRIVER)
    return file


def hosts_in(directory: Path) -> list[Path]:
    """Where hosts have signed on, whether or not they live."""
    return [each.with_suffix("") for each in directory.glob("*.pid")]


def has_lost_driver(directory: Path) -> bool:
    """Whether a driver signed on in ``directory`` and is gone; that of a worker of a cluster never did."""
    driver = directory / _DRIVER
    return driver.exists() and not _is_locked(driver)


def is_abandoned(directory: Path) -> bool:
    """Whether those who signed on in ``directory``, hosts and a driver, are all gone, and nobody makes a host now."""
    hosts, driver = hosts_in(directory), directory / _DRIVER
    known = bool(hosts) or driver.exists()
    locks = [driver, *directory.glob("*.lock")]
    return known and not any(map(process_at, hosts)) and not any(map(_is_locked, locks))


def _is_locked(path: Path) -> bool:
    try:
        with path.open(encoding="ascii") as file:
            return not lock(file, shared=True)
    except FileNotFoundError:
        return False


def _pid_file(path: Path) -> Path:
    return path.with_suffix(".pid")


def call(path: Path, seconds: float) -> Wire | None:
    """A connection to the host that listens at ``path``; None where there is none."""
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(seconds)
    try:
        connection.connect(str(path))
    except (FileNotFoundError, ConnectionRefusedError):
        connection.close()
        return None
    return Wire(connection)
