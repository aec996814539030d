"""The list of files of a closed RocksDB database, sealed: RocksDB takes a list whose end is missing for a complete one.

Then it opens an older state of one column family beside the newer state of another, and what was written together is
apart. So the length and the checksum of the list are kept beside it when a database is closed.
"""

from __future__ import annotations

import zlib
from pathlib import Path

_FILE_NAME = "headrace-manifest"


def seal_manifest(path: Path) -> None:
    """Remember the list of files of the database at ``path``, which was just closed."""
    name = _current(path)
    if name is not None:
        data = (path / name).read_bytes()
        draft = path / f"{_FILE_NAME}.tmp"
        draft.write_text(f"{name} {len(data)} {zlib.crc32(data)}\n", encoding="ascii")
        draft.replace(path / _FILE_NAME)


def is_manifest_damaged(path: Path) -> bool:
    """Whether the list of files is not the one that was there when the database was closed.

    A database that was in use when its process ended has another list by now; RocksDB's own log mends that.
    """
    try:
        name, size, checksum = (path / _FILE_NAME).read_text(encoding="ascii").split()
        data = (path / name).read_bytes()[: int(size)] if name == _current(path) else None
    except (OSError, ValueError):
        return False
    return data is not None and str(zlib.crc32(data)) != checksum


def _current(path: Path) -> str | None:
    try:
        return (path / "CURRENT").read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return None
