"""The seal of the catalog: a digest over everything it says, so that a flipped bit cannot pass for something else.

SQLite notices pages that make no sense, not values that make another sense. So every change of a row, seen by triggers,
is folded into a digest, which each transaction writes with the rows it stands for: all of it together, in one small
row. ``verify`` recomputes it. Payloads are left out: their chunks have checksums, which are inside the seal.

The seal counts commits, too. A damaged write-ahead log ends for SQLite where the damage begins, and what was committed
after that would be gone without a word; ``headrace.broker.commit_count`` remembers outside how many there were.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Container, Iterable, Iterator
from hashlib import blake2b
from typing import Any

from headrace.errors import InternalError

_SEALED = {
    "topics": ("id", "name", "config", "created_ms"),
    "partitions": (
        "id",
        "topic_id",
        "partition",
        "start_offset",
        "end_offset",
        "cleaned_offset",
        "expired_records",
        "expired_ms",
    ),
    "segments": (
        "id",
        "partition_id",
        "base_offset",
        "next_offset",
        "records",
        "bytes",
        "min_timestamp",
        "max_timestamp",
        "arrived_ms",
        "checksum",
        "sparse",
        "file",
        "chunks",
    ),
    "group_offsets": ("group_id", "topic_id", "partition", "offset", "metadata", "committed_ms"),
    "producers": ("id", "sequence", "ranges", "used_ms"),
    "applications": ("name", "label", "epoch", "batch_id", "batch_epoch", "ranges"),
    "extras": ("application", "name", "value"),
    "leases": ("application", "epoch", "host", "pid", "process", "note", "since_ms", "renewed", "expires"),
}
"""The columns under the seal, by table: all but the payloads of segments."""

OUTSIDE = "the catalog is changed outside of a transaction, or a transaction was begun within another one"
_TABLE = "CREATE TABLE seal (commits INTEGER NOT NULL, digest INTEGER NOT NULL, numbers INTEGER NOT NULL)"


class SealedConnection(sqlite3.Connection):
    """A connection that folds what a transaction changes."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.create_function("headrace_note", -1, self._note)
        # Otherwise a row that INSERT OR REPLACE removes goes unseen.
        self.execute("PRAGMA recursive_triggers = ON")
        self.transaction: object = None
        """Tells the transaction that runs from those that were left without an end."""
        self.is_sealing = False
        """Whether what changes now belongs to a transaction that will be sealed."""
        self._folded: int | None = None
        self.interruption: BaseException | None = None
        """What a signal raised while SQLite called us: SQLite tells only that something was."""

    def begin_sealing(self) -> None:
        """A transaction begins that may change something."""
        self._folded = self.interruption = None
        self.is_sealing = True

    def seal(self) -> int | None:
        """Write the seal of the transaction that is about to end; which commit it is, None where nothing changed."""
        self.is_sealing = False
        if self._folded is None:
            return None
        commits, digest = self.execute("SELECT commits, digest FROM seal").fetchone()
        values = commits + 1, digest ^ self._folded, _numbers(self)
        self.execute("UPDATE seal SET commits = ?, digest = ?, numbers = ?", values)
        self._folded = None
        return values[0]  # type: ignore[no-any-return]

    def _note(self, *row: Any) -> None:
        try:
            if not self.is_sealing:
                raise InternalError(OUTSIDE)
            self._folded = (self._folded or 0) ^ _hash(row)
        except BaseException as error:
            self.interruption = error
            raise


def schema() -> Iterator[str]:
    """The statements that make the seal and what keeps it."""
    yield _TABLE
    for table, columns in _SEALED.items():
        yield from _triggers(table, columns)


def begin(connection: sqlite3.Connection) -> None:
    """Seal a new catalog, in which nothing is yet."""
    connection.execute("INSERT INTO seal VALUES (0, 0, ?)", (_numbers(connection),))


def renew(connection: sqlite3.Connection) -> None:
    """Seal what the catalog says now, after its tables were changed."""
    values = _digest(connection), _numbers(connection)
    connection.execute("UPDATE seal SET commits = commits + 1, digest = ?, numbers = ?", values)


def commits(connection: sqlite3.Connection) -> int:
    return int(connection.execute("SELECT commits FROM seal").fetchone()[0])


def problem(connection: sqlite3.Connection, expected_schema: Iterable[str]) -> str | None:
    """What is wrong with the catalog, as far as it can be seen from inside; None where it is whole."""
    found = [row[0] for row in connection.execute("PRAGMA integrity_check(3)")]
    if found != ["ok"]:
        return "; ".join(found)
    if connection.execute("PRAGMA journal_mode").fetchone() != ("wal",):
        return "it is no longer in WAL mode"
    statements = {row[0] for row in connection.execute("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL")}
    if statements - {_SEQUENCES} != set(expected_schema):
        return "its tables are not those that were made"
    return broken_seal(connection)


_SEQUENCES = "CREATE TABLE sqlite_sequence(name,seq)"


def broken_seal(connection: sqlite3.Connection, without: Container[str] = ()) -> str | None:
    """Whether the rows are those that were sealed; ``without`` names columns that an earlier version does not have."""
    rows = connection.execute("SELECT digest, numbers FROM seal").fetchall()
    if len(rows) != 1:
        return f"it has {len(rows)} seals"
    digest, numbers = rows[0]
    digest ^= _digest(connection, without)
    if digest != 0 or numbers != _numbers(connection):
        return "its content does not match its seal"
    return None


def _digest(connection: sqlite3.Connection, without: Container[str] = ()) -> int:
    digest = 0
    for table, columns in _SEALED.items():
        there = ", ".join(column for column in columns if column not in without)
        for row in connection.execute(f"SELECT {there} FROM {table} NOT INDEXED"):
            digest ^= _hash((table, *row))
    return digest


def _numbers(connection: sqlite3.Connection) -> int:
    """The digest of the numbers that were given to rows; SQLite keeps them where triggers do not see them."""
    return _hash(connection.execute("SELECT name, seq FROM sqlite_sequence ORDER BY name").fetchall())


def _hash(row: Any) -> int:
    return int.from_bytes(blake2b(repr(row).encode(), digest_size=8).digest(), "big", signed=True)


def _triggers(table: str, columns: tuple[str, ...]) -> Iterator[str]:
    old, new = (", ".join([f"'{table}'", *(f"{row}.{column}" for column in columns)]) for row in ("old", "new"))
    for event, notes in (
        ("insert", f"headrace_note({new})"),
        ("delete", f"headrace_note({old})"),
        ("update", f"headrace_note({old}), headrace_note({new})"),
    ):
        yield f"CREATE TRIGGER {table}_{event} AFTER {event.upper()} ON {table} BEGIN SELECT {notes}; END"
