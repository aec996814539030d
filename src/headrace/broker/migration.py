"""Takes over a catalog that an earlier Headrace wrote, in one transaction: all of it is as before, or all is new.

Version 2 did not know when records arrived. What it holds counts as arrived at the time of the migration: retention
may keep it for longer than it would have, never for less.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path

from headrace.broker import seal
from headrace.broker.seal import SealedConnection
from headrace.clock import now_ms
from headrace.errors import CorruptLogError

FROM_VERSION = 2

_ADDED = {"partitions": ("expired_records", "expired_ms"), "segments": ("arrived_ms",)}
"""The columns of version 3 that version 2 did not have."""


def migrate(connection: SealedConnection, path: Path, schema: Sequence[str], version: int) -> None:
    """Bring the catalog to ``schema``; a CorruptLogError where it does not say what was written."""
    # While it is off, a table can be dropped without what refers to it; it cannot be switched inside a transaction.
    connection.execute("PRAGMA foreign_keys = OFF")
    try:
        connection.execute("BEGIN IMMEDIATE")
        problem = seal.broken_seal(connection, {name for added in _ADDED.values() for name in added})
        if problem is not None:
            message = f"the catalog {path} is corrupt"
            raise CorruptLogError(message, detail=problem, hint="Restore the whole directory from a backup.")
        _rebuild(connection, schema)
        seal.renew(connection)
        connection.execute(f"PRAGMA user_version = {version}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    finally:
        connection.execute("PRAGMA foreign_keys = ON")


def _rebuild(connection: sqlite3.Connection, schema: Sequence[str]) -> None:
    """Make the tables that have changed anew: the text of their definition is part of what is verified."""
    numbers = connection.execute("SELECT name, seq FROM sqlite_sequence").fetchall()
    for table in _ADDED:
        connection.execute(f"CREATE TEMP TABLE old_{table} AS SELECT * FROM main.{table}")
        connection.execute(f"DROP TABLE main.{table}")
    _drop_triggers(connection)
    there = {row[0] for row in connection.execute("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL")}
    missing = [statement for statement in schema if statement not in there]
    for statement in missing:
        if not statement.startswith("CREATE TRIGGER"):
            connection.execute(statement)
    for table in _ADDED:
        _copy_back(connection, table)
    # A number that was given once is never given again, also where its row is gone.
    connection.execute("DELETE FROM sqlite_sequence")
    connection.executemany("INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)", numbers)
    for statement in missing:
        if statement.startswith("CREATE TRIGGER"):
            connection.execute(statement)


def _drop_triggers(connection: sqlite3.Connection) -> None:
    names = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'trigger'").fetchall()
    for (name,) in names:
        connection.execute(f"DROP TRIGGER {name}")


def _copy_back(connection: sqlite3.Connection, table: str) -> None:
    columns = [row[1] for row in connection.execute(f"PRAGMA temp.table_info(old_{table})")]
    given = ", ".join(columns)
    if table == "segments":
        connection.execute(
            f"INSERT INTO main.{table} ({given}, arrived_ms) SELECT {given}, ? FROM temp.old_{table}", (now_ms(),)
        )
    else:
        connection.execute(f"INSERT INTO main.{table} ({given}) SELECT {given} FROM temp.old_{table}")
    connection.execute(f"DROP TABLE temp.old_{table}")
