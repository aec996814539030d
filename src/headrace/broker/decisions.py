"""The decision of a batch: records, offsets and notes in one transaction, once, by the holder of the lease."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

from headrace.broker import groups, log
from headrace.broker.disk import Disk
from headrace.broker.leases import check_epoch
from headrace.broker.port import Decided, Decision, OffsetRange, TopicPartition
from headrace.broker.staging import StagedSegment
from headrace.errors import ArgumentError, IllegalStateError


def decide(
    connection: sqlite3.Connection, disk: Disk, given: Decision, segments: Iterable[StagedSegment], now_ms: int
) -> dict[TopicPartition, OffsetRange] | None:
    """Let the batch count; where its records went. None where it counted already."""
    if given.batch_id < 0:
        message = f"a batch id is 0 or more, found {given.batch_id}"
        raise ArgumentError(message)
    check_epoch(connection, given.application, given.epoch)
    last = last_decided(connection, given.application)
    if last is not None and given.batch_id <= last.batch_id:
        _check_repeated(given, last)
        return None
    ranges = log.register(connection, disk, segments, now_ms)
    groups.commit(connection, given.application, given.offsets, now_ms)
    change = "UPDATE applications SET batch_id = ?, batch_epoch = ? WHERE name = ?"
    connection.execute(change, (given.batch_id, given.epoch, given.application))
    _write_notes(connection, given)
    return ranges


def last_decided(connection: sqlite3.Connection, application: str) -> Decided | None:
    question = "SELECT batch_id, batch_epoch FROM applications WHERE name = ? AND batch_id IS NOT NULL"
    row = connection.execute(question, (application,)).fetchone()
    if row is None:
        return None
    notes = "SELECT name, value FROM extras WHERE application = ? ORDER BY name"
    return Decided(row[0], row[1], dict(connection.execute(notes, (application,)).fetchall()))


def delete_application(connection: sqlite3.Connection, application: str) -> None:
    """Forget the application's decisions and its group. Its epoch stays, so that an old holder stays fenced."""
    connection.execute("DELETE FROM leases WHERE application = ?", (application,))
    connection.execute("DELETE FROM extras WHERE application = ?", (application,))
    change = "UPDATE applications SET epoch = epoch + 1, batch_id = NULL, batch_epoch = NULL WHERE name = ?"
    connection.execute(change, (application,))
    groups.delete(connection, application)


def applications(connection: sqlite3.Connection) -> list[str]:
    question = """SELECT name FROM applications WHERE batch_id IS NOT NULL
                  UNION SELECT application FROM leases ORDER BY 1"""
    return [row[0] for row in connection.execute(question).fetchall()]


def _check_repeated(given: Decision, last: Decided) -> None:
    if given.batch_id == last.batch_id:
        return
    message = f"application {given.application} decided batch {last.batch_id}: batch {given.batch_id} is too old"
    raise IllegalStateError(message, hint="Did two processes use one lease? Reset the application (headrace reset).")


def _write_notes(connection: sqlite3.Connection, given: Decision) -> None:
    for name, value in given.notes.items():
        if value is None:
            connection.execute("DELETE FROM extras WHERE application = ? AND name = ?", (given.application, name))
        else:
            connection.execute("INSERT OR REPLACE INTO extras VALUES (?, ?, ?)", (given.application, name, value))
