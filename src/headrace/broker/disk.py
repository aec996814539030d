"""The files below the broker's directory: created for us alone, flushed to the medium where asked, never outside.

A simulation of power loss hands the broker another ``Disk``, which knows what was flushed and forgets the rest.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from headrace.errors import BrokerError, CorruptLogError
from headrace.private_directories import MODE, make_private

FILE_MODE = 0o600
SUFFIX = ".arrow"

_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)
_NO_SPACE = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_NO_ACCESS = {errno.EACCES, errno.EPERM, errno.EROFS}
_TOO_MANY_FILES = {errno.EMFILE, errno.ENFILE}
_RELATIVE = re.compile(r"[A-Za-z0-9._-]+/[0-9]+/[A-Za-z0-9._-]+\.arrow")


class Disk:
    """The segment files of one broker, addressed by ``topic directory/partition/name.arrow``."""

    def __init__(self, root: Path, *, fsync: bool = True) -> None:
        self.root = root
        self.fsync = fsync
        self._flushed: set[Path] = set()

    def path(self, file: str) -> Path:
        """Where ``file`` is; a name that is not one of ours never becomes a path."""
        if not _RELATIVE.fullmatch(file) or ".." in file.split("/"):
            message = f"{file!r} is no segment file of this broker"
            raise CorruptLogError(message, hint="The catalog was changed by something else than Headrace.")
        return self.root / file

    def create(self, file: str, data: bytes) -> None:
        path = self.path(file)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_FOLLOW
        with explained(path, len(data)):
            descriptor = self._opened(path, flags)
            _write_and_close(descriptor, memoryview(data))

    def append(self, file: str, data: memoryview) -> None:
        """Write ``data`` at the end. The file is open no longer than that: a task may write thousands."""
        path = self.path(file)
        with explained(path, len(data)):
            _write_and_close(os.open(path, os.O_WRONLY | os.O_APPEND | _NO_FOLLOW), data)

    def flush(self, file: str) -> None:
        """Bring the file and its name to the medium. A failure is final: it is never tried again."""
        if not self.fsync:
            return
        path = self.path(file)
        with explained(path):
            flush(path)
            flush(path.parent)
            if path.parent not in self._flushed:
                flush(path.parent.parent)
                flush(self.root)
                self._flushed.add(path.parent)

    def _opened(self, path: Path, flags: int) -> int:
        for _ in range(10):
            if not path.parent.is_dir():
                self._flushed.discard(path.parent)
                path.parent.parent.mkdir(mode=MODE, exist_ok=True)
                path.parent.mkdir(mode=MODE, exist_ok=True)
            try:
                return os.open(path, flags, FILE_MODE)
            except FileNotFoundError:  # the sweeper removed the empty directory between the two calls
                continue
        raise OSError(errno.ENOENT, os.strerror(errno.ENOENT), str(path.parent))

    def open(self, file: str) -> int:
        path = self.path(file)
        with explained(path):
            return os.open(path, os.O_RDONLY | _NO_FOLLOW)

    def read(self, descriptor: int, file: str, start: int, end: int) -> bytes:
        """The bytes from ``start`` to ``end``; fewer where the file is shorter."""
        with explained(self.path(file)):
            return os.pread(descriptor, end - start, start)

    def size(self, file: str) -> int | None:
        try:
            return self.path(file).stat(follow_symlinks=False).st_size
        except FileNotFoundError:
            return None

    def remove(self, file: str) -> bool:
        """Delete the file; whether it was there."""
        try:
            self.path(file).unlink()
        except FileNotFoundError:
            return False
        return True

    def files(self) -> Iterator[tuple[str, float]]:
        for path in self.root.glob(f"*/*/*{SUFFIX}"):
            try:
                changed = path.stat(follow_symlinks=False).st_mtime
            except FileNotFoundError:
                continue
            yield path.relative_to(self.root).as_posix(), changed

    def remove_empty(self, directory: str) -> None:
        """Remove the directory of a topic where nothing is left in it."""
        for path in (*(self.root / directory).glob("*"), self.root / directory):
            try:
                path.rmdir()
            except OSError:  # somebody stages into it, or it is gone already
                continue

    def directories(self) -> list[str]:
        return [path.name for path in self.root.iterdir() if path.is_dir()]


def make_private_directory(path: Path) -> None:
    """Make a directory that only we can look into; one that exists stays as it is."""
    with explained(path):
        make_private(path)


@contextmanager
def explained(path: Path, needed: int = 0) -> Iterator[None]:
    """Turn what the operating system says into an error that names the path and the remedy."""
    try:
        yield
    except FileNotFoundError:
        raise
    except OSError as error:
        raise _explanation(error, path, needed) from error


def _explanation(error: OSError, path: Path, needed: int) -> BrokerError:
    if error.errno in _NO_SPACE:
        message = f"no space left to write {needed:,} bytes to {path}"
        return BrokerError(message, detail=str(error), hint="Free space and start again; nothing was committed.")
    if error.errno in _NO_ACCESS:
        message = f"no access to {path}"
        hint = "The directory must be writable by, and belong to, the user who runs Headrace."
        return BrokerError(message, detail=str(error), hint=hint)
    if error.errno in _TOO_MANY_FILES:
        message = f"too many files are open: there is no room for {path}"
        hint = "Nothing was committed. Raise the limit with ulimit -n, then start again."
        return BrokerError(message, detail=str(error), hint=hint)
    message = f"the disk failed at {path}"
    return BrokerError(message, detail=str(error), hint="Nothing was committed. Check the disk, then start again.")


def flush(path: Path) -> None:
    """Bring a file or a directory to the medium."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _write_and_close(descriptor: int, data: memoryview) -> None:
    try:
        while data:
            data = data[os.write(descriptor, data) :]
    finally:
        os.close(descriptor)
