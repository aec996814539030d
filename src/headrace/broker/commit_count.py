"""How many commits the catalog has seen, remembered outside of it: so it is noticed when the last ones are missing.

The number is written after each commit and never waited for. So it may be behind the catalog, after a crash; where it
is ahead, the catalog has lost commits that were acknowledged.
"""

from __future__ import annotations

import os
import struct
import zlib
from pathlib import Path

from headrace.broker.disk import FILE_MODE, explained
from headrace.machine import boot_id

_ENTRY = struct.Struct(">Q16s?")


class CommitCount:
    """The file with the number. A file that is missing or cannot be read counts as 0."""

    def __init__(self, path: Path, *, fsync: bool) -> None:
        self.path = path
        self._fsync = fsync
        self._boot = bytes.fromhex(boot_id().replace("-", "")) or bytes(16)

    def write(self, commits: int) -> None:
        """Note that the commit of that number is done."""
        entry = _ENTRY.pack(commits, self._boot, self._fsync)
        with explained(self.path, len(entry)):
            descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT, FILE_MODE)
            try:
                os.pwrite(descriptor, entry + _checksum(entry), 0)
            finally:
                os.close(descriptor)

    def read(self) -> int:
        """The number of commits that the catalog must have at least."""
        try:
            data = self.path.read_bytes()
        except FileNotFoundError:
            return 0
        entry = data[: _ENTRY.size]
        if len(entry) < _ENTRY.size or data[_ENTRY.size :] != _checksum(entry):
            return 0
        commits, boot, is_durable = _ENTRY.unpack(entry)
        # Without fsync the last commits do not survive the machine, and nobody was promised that they would.
        return int(commits) if is_durable or boot == self._boot else 0


def _checksum(entry: bytes) -> bytes:
    return zlib.crc32(entry).to_bytes(4, "big")
