"""Sweeping: removes segment files that were never registered, as soon as it is sure that they never will be.

The name of a staged file says for which batch, under which epoch of which application it was written. Once that batch
is committed, or a newer epoch exists, it can never be registered. Others go when they are old. The decision and the
deletion happen inside one write transaction, and a commit looks for its files inside its own: so a file that is swept
is never registered, and a commit that comes too late is refused instead of losing records.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator

from headrace import failpoints
from headrace.broker import crash_points
from headrace.broker.catalog import Catalog
from headrace.broker.disk import Disk

_STAGED = re.compile(r"staged-([0-9a-f]{12})-([0-9]+)-([0-9]+)-")
_AT_ONCE = 500


def staged_label(application_label: str, epoch: int, batch_id: int, attempt: str) -> str:
    """What the names of an attempt's files begin with."""
    return f"staged-{application_label}-{epoch}-{batch_id}-{attempt}"


def sweep(catalog: Catalog, disk: Disk, now_ms: int, grace_ms: int) -> list[str]:
    swept: list[str] = []
    for files in _in_parts(list(disk.files())):
        with catalog.read() as connection:
            suspects = [file for file in files if _is_orphan(connection, *file, now_ms, grace_ms)]
        if suspects:
            swept += _sweep(catalog, disk, suspects, now_ms, grace_ms)
    _remove_directories(catalog, disk)
    return swept


def _sweep(catalog: Catalog, disk: Disk, suspects: list[tuple[str, float]], now_ms: int, grace_ms: int) -> list[str]:
    with catalog.write() as connection:
        orphans = [file for file, changed in suspects if _is_orphan(connection, file, changed, now_ms, grace_ms)]
        for file in orphans:
            failpoints.reach(crash_points.SWEEP)
            disk.remove(file)
    return orphans


def _is_orphan(connection: sqlite3.Connection, file: str, changed: float, now_ms: int, grace_ms: int) -> bool:
    if connection.execute("SELECT 1 FROM segments WHERE file = ?", (file,)).fetchone():
        return False
    return now_ms - changed * 1000 >= grace_ms or not _may_be_committed(connection, file)


def _may_be_committed(connection: sqlite3.Connection, file: str) -> bool:
    topic, _, name = file.split("/")
    number = topic.partition("-")[0]
    if not connection.execute("SELECT 1 FROM topics WHERE id = ?", (number,)).fetchone():
        return False
    staged = _STAGED.match(name)
    if staged is None:
        return True
    label, epoch, batch_id = staged[1], int(staged[2]), int(staged[3])
    row = connection.execute("SELECT epoch, batch_id FROM applications WHERE label = ?", (label,)).fetchone()
    if row is None:
        return True
    return epoch >= row[0] and (row[1] is None or batch_id > row[1])


def _in_parts(files: list[tuple[str, float]]) -> Iterator[list[tuple[str, float]]]:
    for start in range(0, len(files), _AT_ONCE):
        yield files[start : start + _AT_ONCE]


def _remove_directories(catalog: Catalog, disk: Disk) -> None:
    with catalog.read() as connection:
        known = {str(row[0]) for row in connection.execute("SELECT id FROM topics")}
    for directory in disk.directories():
        if directory.partition("-")[0] not in known:
            disk.remove_empty(directory)
