"""One broker at a time uses an application's directory.

Applications of one name on two brokers have the same directory where they share a ``state.dir``. Running at once, they
would remove the state of each other batch after batch; so the second one is refused.
"""

from __future__ import annotations

import os
import weakref
from contextlib import suppress
from pathlib import Path

from headrace.errors import StateDirectoryError
from headrace.file_locks import lock
from headrace.private_directories import make_private
from headrace.state.rocksdb.failures import explained

_FILE_NAME = ".broker"


class DirectoryHold:
    """Held from its making until ``release``, or until the process ends, however it ends.

    ``broker`` is its identity, not its address: who comes to one cluster by another address is no stranger.
    """

    def __init__(self, application_dir: Path, broker: str) -> None:
        with explained(application_dir, len(broker)):
            make_private(application_dir)
            self._path = application_dir / _FILE_NAME
            self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            # Also where nobody releases it any more: a file that stays open is one less for everything else.
            self._closing = weakref.finalize(self, os.close, self._file)
            try:
                self._take(application_dir, broker)
            except BaseException:
                self.release()
                raise

    def mark_used(self) -> None:
        """Note that the directory is still in use: see ``last_used_ms``."""
        with suppress(FileNotFoundError):
            os.utime(self._path)

    def release(self) -> None:
        """Let others have the directory. Calling it twice does no harm."""
        self._closing()

    def _take(self, application_dir: Path, broker: str) -> None:
        # Only what has changed is written: the time of the file says when the directory was last used.
        if lock(self._file) and self._holder() != broker:
            os.ftruncate(self._file, 0)
            os.pwrite(self._file, os.fsencode(broker), 0)
        # Shared: a process that was replaced but still lives must not keep its successor from starting.
        if not lock(self._file, shared=True) or self._holder() != broker:
            raise _refusal(application_dir, self._holder())

    def _holder(self) -> str:
        return os.fsdecode(os.pread(self._file, os.fstat(self._file).st_size, 0))


def last_holder(application_dir: Path) -> str | None:
    """The identity of the broker whose application uses the directory, or used it last; None where nobody did."""
    try:
        return os.fsdecode((application_dir / _FILE_NAME).read_bytes()) or None
    except (FileNotFoundError, NotADirectoryError):
        return None


def last_used_ms(application_dir: Path) -> float:
    """When an application was last known to use the directory; 0 where none did. Its start does not count yet."""
    try:
        return 1000 * (application_dir / _FILE_NAME).stat().st_mtime
    except (FileNotFoundError, NotADirectoryError):
        return 0


def is_held(application_dir: Path) -> bool:
    """Whether a process uses the directory now."""
    try:
        file = os.open(application_dir / _FILE_NAME, os.O_RDONLY | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return False
    try:
        return not lock(file)
    finally:
        os.close(file)


def _refusal(application_dir: Path, broker: str) -> StateDirectoryError:
    message = f"the state directory {application_dir} is in use by another application with the same name"
    hint = "Give each an application.id of its own (or a state.dir of its own)."
    return StateDirectoryError(message, detail=f"Its topics are in {broker or 'another broker'}.", hint=hint)
