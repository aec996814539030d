"""The commit of a batch: records, offsets and notes in one transaction, once per batch, by the holder of the lease."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping

import msgspec

from headrace.broker import groups, log
from headrace.broker.disk import Disk
from headrace.broker.leases import check_epoch
from headrace.broker.port import Commit, Committed, OffsetRange, TopicPartition
from headrace.errors import ArgumentError, IllegalStateError

_Ranges = list[tuple[str, int, int, int]]


def commit(connection: sqlite3.Connection, disk: Disk, given: Commit, now_ms: int) -> Committed:
    """Make the batch visible, or recognise that it is."""
    if given.batch_id < 0:
        message = f"a batch id is 0 or more, found {given.batch_id}"
        raise ArgumentError(message)
    check_epoch(connection, given.application, given.epoch)
    last = last_committed(connection, given.application)
    if last is not None and given.batch_id <= last.batch_id:
        return _repeated(given, last)
    ranges = log.register(connection, disk, given.segments, now_ms)
    groups.commit(connection, given.application, given.offsets, now_ms)
    change = "UPDATE applications SET batch_id = ?, batch_epoch = ?, ranges = ? WHERE name = ?"
    connection.execute(change, (given.batch_id, given.epoch, pack_ranges(ranges), given.application))
    _write_extras(connection, given)
    return Committed(given.batch_id, given.epoch, ranges, _extras(connection, given.application))


def last_committed(connection: sqlite3.Connection, application: str) -> Committed | None:
    """The last batch of the application."""
    question = "SELECT batch_id, batch_epoch, ranges FROM applications WHERE name = ? AND batch_id IS NOT NULL"
    row = connection.execute(question, (application,)).fetchone()
    if row is None:
        return None
    return Committed(row[0], row[1], unpack_ranges(row[2]), _extras(connection, application))


def delete_application(connection: sqlite3.Connection, application: str) -> None:
    """Forget the application's commits and its group. Its epoch stays, so that an old holder stays fenced."""
    connection.execute("DELETE FROM leases WHERE application = ?", (application,))
    connection.execute("DELETE FROM extras WHERE application = ?", (application,))
    change = """UPDATE applications SET epoch = epoch + 1, batch_id = NULL, batch_epoch = NULL, ranges = NULL
                WHERE name = ?"""
    connection.execute(change, (application,))
    groups.delete(connection, application)


def applications(connection: sqlite3.Connection) -> list[str]:
    """The applications that hold a lease or committed something."""
    question = """SELECT name FROM applications WHERE batch_id IS NOT NULL
                  UNION SELECT application FROM leases ORDER BY 1"""
    return [row[0] for row in connection.execute(question).fetchall()]


def pack_ranges(ranges: Mapping[TopicPartition, OffsetRange]) -> bytes:
    """Offsets by partition, as bytes."""
    return msgspec.msgpack.encode([(topic, partition, *span) for (topic, partition), span in ranges.items()])


def unpack_ranges(data: bytes) -> dict[TopicPartition, OffsetRange]:
    """What ``pack_ranges`` made into bytes."""
    rows = msgspec.msgpack.decode(data, type=_Ranges)
    return {(topic, partition): (first, end) for topic, partition, first, end in rows}


def _repeated(given: Commit, last: Committed) -> Committed:
    if given.batch_id == last.batch_id:
        return Committed(last.batch_id, last.epoch, last.ranges, last.extras, repeated=True)
    message = f"application {given.application} committed batch {last.batch_id}: batch {given.batch_id} is too old"
    hint = (
        "Was the checkpoint directory of the query lost or replaced? Reset the application "
        "(headrace reset), or bring the checkpoint back."
    )
    raise IllegalStateError(message, hint=hint)


def _write_extras(connection: sqlite3.Connection, given: Commit) -> None:
    for name, value in given.extras.items():
        if value is None:
            connection.execute("DELETE FROM extras WHERE application = ? AND name = ?", (given.application, name))
        else:
            connection.execute("INSERT OR REPLACE INTO extras VALUES (?, ?, ?)", (given.application, name, value))


def _extras(connection: sqlite3.Connection, application: str) -> dict[str, str]:
    question = "SELECT name, value FROM extras WHERE application = ? ORDER BY name"
    return dict(connection.execute(question, (application,)).fetchall())
