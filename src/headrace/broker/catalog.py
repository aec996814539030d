"""The catalog: which segments belong to which partition at which offset, who committed what, who holds which lease.

One SQLite file in WAL mode: readers never wait, writers take turns, a transaction is the unit of every change, and what
it says is what there is. Each thread of each process has a connection of its own; a forked child opens new ones.
Whether it still says what was written is verified when it is opened (``headrace.broker.seal``).
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from headrace.broker import migration, seal
from headrace.broker.commit_count import CommitCount
from headrace.broker.disk import FILE_MODE, explained, flush
from headrace.broker.seal import SealedConnection
from headrace.errors import BrokerError, BrokerGoneError, CorruptLogError, InternalError
from headrace.file_locks import lock

SCHEMA_VERSION = 3
_APPLICATION_ID = 0x48445243  # "HDRC"
_BUSY_SECONDS = 60.0
_LOOK_SECONDS = 0.01

_SCHEMA = (
    """CREATE TABLE topics (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        name TEXT NOT NULL UNIQUE,
        config TEXT NOT NULL,
        created_ms INTEGER NOT NULL)""",
    """CREATE TABLE partitions (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        topic_id INTEGER NOT NULL REFERENCES topics(id) ON DELETE CASCADE,
        partition INTEGER NOT NULL,
        start_offset INTEGER NOT NULL DEFAULT 0,
        end_offset INTEGER NOT NULL DEFAULT 0,
        cleaned_offset INTEGER NOT NULL DEFAULT 0,
        expired_records INTEGER NOT NULL DEFAULT 0,
        expired_ms INTEGER,
        UNIQUE (topic_id, partition))""",
    """CREATE TABLE segments (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        partition_id INTEGER NOT NULL REFERENCES partitions(id) ON DELETE CASCADE,
        base_offset INTEGER NOT NULL,
        next_offset INTEGER NOT NULL,
        records INTEGER NOT NULL,
        bytes INTEGER NOT NULL,
        min_timestamp INTEGER NOT NULL,
        max_timestamp INTEGER NOT NULL,
        arrived_ms INTEGER NOT NULL,
        checksum INTEGER NOT NULL,
        sparse INTEGER NOT NULL DEFAULT 0,
        file TEXT UNIQUE,
        chunks BLOB NOT NULL,
        payload BLOB,
        UNIQUE (partition_id, next_offset))""",
    "CREATE INDEX small_segments ON segments (partition_id, next_offset, bytes) WHERE file IS NULL",
    """CREATE TABLE group_offsets (
        group_id TEXT NOT NULL,
        topic_id INTEGER NOT NULL REFERENCES topics(id) ON DELETE CASCADE,
        partition INTEGER NOT NULL,
        offset INTEGER NOT NULL,
        metadata TEXT NOT NULL,
        committed_ms INTEGER NOT NULL,
        PRIMARY KEY (group_id, topic_id, partition)) WITHOUT ROWID""",
    "CREATE INDEX group_offsets_by_topic ON group_offsets (topic_id)",
    # Nothing writes to it any more. It stays: the text of all tables is part of what is verified in catalogs there are.
    """CREATE TABLE producers (
        id TEXT PRIMARY KEY,
        sequence INTEGER NOT NULL,
        ranges BLOB NOT NULL,
        used_ms INTEGER NOT NULL) WITHOUT ROWID""",
    """CREATE TABLE applications (
        name TEXT PRIMARY KEY,
        label TEXT NOT NULL,
        epoch INTEGER NOT NULL DEFAULT 0,
        batch_id INTEGER,
        batch_epoch INTEGER,
        ranges BLOB) WITHOUT ROWID""",
    """CREATE TABLE extras (
        application TEXT NOT NULL REFERENCES applications(name) ON DELETE CASCADE,
        name TEXT NOT NULL,
        value TEXT NOT NULL,
        PRIMARY KEY (application, name)) WITHOUT ROWID""",
    """CREATE TABLE leases (
        application TEXT PRIMARY KEY REFERENCES applications(name) ON DELETE CASCADE,
        epoch INTEGER NOT NULL,
        host TEXT NOT NULL,
        pid INTEGER NOT NULL,
        process TEXT NOT NULL,
        note TEXT NOT NULL,
        since_ms INTEGER NOT NULL,
        renewed INTEGER NOT NULL,
        expires INTEGER NOT NULL) WITHOUT ROWID""",
    *seal.schema(),
)


class Catalog:
    """Connections to the catalog file, and the transactions on them."""

    def __init__(self, path: Path, *, fsync: bool, verify: bool = True) -> None:
        self.path = path
        self._fsync = fsync
        self._count = CommitCount(path.with_name(path.name + "-commits"), fsync=fsync)
        self._local = threading.local()
        self._lock = threading.Lock()
        self._pid = os.getpid()
        self._connections: list[SealedConnection] = []
        self._inherited: list[SealedConnection] = []
        try:
            with _explained(path):
                if not self._is_made():
                    with self._alone():
                        self._prepare()
                self._file = self._present_file()
            if verify:
                self.verify()
        except BaseException:
            self.close()
            raise

    @contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        """One transaction that changes the catalog; nobody else writes meanwhile. An exception undoes it."""
        connection = self._connection()
        transaction = self._begin(connection, "BEGIN IMMEDIATE")
        connection.begin_sealing()
        try:
            self.check_in_place()
            yield connection
            if connection.transaction is not transaction:
                raise InternalError(seal.OUTSIDE)
            with _explained(self.path):
                commits = connection.seal()
                connection.execute("COMMIT")
        except BaseException as error:
            _undo(connection, transaction)
            if connection.interruption is not None:
                raise connection.interruption from error
            if isinstance(error, sqlite3.Error):
                raise _explanation(error, self.path) from error
            raise
        if commits is not None:
            # The number is found by its path: it must not be that of a catalog which has taken the place of this one.
            self.check_in_place()
            self._count.write(commits)

    @contextmanager
    def read(self) -> Iterator[sqlite3.Connection]:
        """One moment of the catalog, however many questions are asked. Keep it short: it holds back checkpoints."""
        self.check_in_place()
        connection = self._connection()
        transaction = self._begin(connection, "BEGIN")
        with _explained(self.path):
            try:
                yield connection
            finally:
                _undo(connection, transaction)

    def _begin(self, connection: SealedConnection, how: str) -> object:
        with _explained(self.path):
            # Ctrl-C between any two calls may have left one. Its block may still be closed later: that must not end
            # this one, nor change anything outside of it.
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            connection.execute(how)
        connection.is_sealing = False
        connection.transaction = object()
        return connection.transaction

    def verify(self) -> None:
        """Refuse a catalog that does not say what was written: CorruptLogError."""
        at_least = self._count.read()
        try:
            with self.read() as connection:
                problem = seal.problem(connection, _SCHEMA)
                commits = seal.commits(connection) if problem is None else 0
        except CorruptLogError:
            raise
        except BrokerError as error:
            raise _corrupt(self.path, error.detail or error.message) from error
        if problem is not None:
            raise _corrupt(self.path, problem)
        if commits < at_least:
            raise self._older(at_least - commits)

    def _older(self, missing: int) -> CorruptLogError:
        message = f"the catalog {self.path} lacks its last {missing} commits"
        detail = "Its write-ahead log is damaged or was removed, or the catalog was replaced by an older one."
        hint = (
            "Restore the whole directory from a backup. To go on with what is left, and without what was committed "
            f"since, delete {self._count.path}."
        )
        return CorruptLogError(message, detail=detail, hint=hint)

    def check_in_place(self) -> None:
        """Refuse to go on with a file that nobody else can find: SQLite would not notice."""
        if self._present_file() != self._file:
            message = f"{self.path.parent} was removed or replaced while it was in use"
            hint = "What is written to it now would be lost. Put it back or make the topics anew, and start again."
            raise BrokerGoneError(message, hint=hint)

    def _present_file(self) -> tuple[int, int] | None:
        try:
            found = self.path.stat()
        except FileNotFoundError:
            return None
        return found.st_dev, found.st_ino

    def close(self) -> None:
        with self._lock:
            connections, self._connections = self._connections, []
            self._local = threading.local()
        if self._pid == os.getpid():
            for connection in connections:
                # A block that ends late must not touch a closed connection.
                connection.transaction = None
                connection.close()

    def _connection(self) -> SealedConnection:
        if self._pid != os.getpid():
            self._forget_parent()
        connection = getattr(self._local, "connection", None)
        if connection is None:
            with _explained(self.path):
                connection = self._local.connection = self._connect()
        return connection

    def _forget_parent(self) -> None:
        """After a fork: SQLite connections must not be used nor closed by the child, so they are only put aside."""
        self._lock = threading.Lock()
        self._local = threading.local()
        self._inherited += self._connections
        self._connections = []
        self._pid = os.getpid()

    def _connect(self) -> SealedConnection:
        connection = sqlite3.connect(
            self.path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False, factory=SealedConnection
        )
        with self._lock:
            self._connections.append(connection)
        connection.execute(f"PRAGMA synchronous = {'FULL' if self._fsync else 'OFF'}")
        connection.execute("PRAGMA foreign_keys = ON")
        return connection

    def _is_made(self) -> bool:
        """Whether nothing is left to do: then nobody waits for another process, which may have been stopped.

        An empty file is not read: who makes it switches it to WAL mode, which does not wait for readers.
        """
        with explained(self.path), suppress(FileNotFoundError):
            return bool(self.path.stat().st_size) and self._version() == SCHEMA_VERSION
        return False

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Let one process at a time create the file: the switch to WAL mode does not wait for others."""
        with explained(self.path):
            descriptor = _opened_lock(self.path)
        try:
            self._take(descriptor)
            yield
        finally:
            os.close(descriptor)

    def _take(self, descriptor: int) -> None:
        deadline = time.monotonic() + _BUSY_SECONDS
        while not lock(descriptor):
            if time.monotonic() > deadline:
                raise _locked(self.path, "makes it")
            time.sleep(_LOOK_SECONDS)

    def _version(self) -> int:
        return int(self._connection().execute("PRAGMA user_version").fetchone()[0])

    def _prepare(self) -> None:
        # A file that is there must not be opened here: closing it again would take away the locks that other
        # connections of this process have on it, and other processes would remove the write-ahead log under their feet.
        with explained(self.path), suppress(FileExistsError):
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL, FILE_MODE))
        connection, version = self._connection(), self._version()
        if version == 0:
            if connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]:
                raise _corrupt(self.path, "it has tables, but no version")
            self._create(connection)
        elif version == migration.FROM_VERSION:
            migration.migrate(connection, self.path, _SCHEMA, SCHEMA_VERSION)
        elif version != SCHEMA_VERSION:
            message = f"{self.path} has version {version}, this Headrace reads version {SCHEMA_VERSION}"
            raise BrokerError(message, hint="Use the Headrace that wrote it, or another directory.")

    def _create(self, connection: sqlite3.Connection) -> None:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("BEGIN IMMEDIATE")
        for statement in _SCHEMA:
            connection.execute(statement)
        seal.begin(connection)
        connection.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        connection.execute("COMMIT")
        if self._fsync:
            flush(self.path.parent)
            flush(self.path.parent.parent)


def _opened_lock(path: Path) -> int:
    return os.open(path.with_name(".lock"), os.O_RDWR | os.O_CREAT, FILE_MODE)


def _undo(connection: SealedConnection, transaction: object) -> None:
    if connection.transaction is transaction and connection.in_transaction:
        connection.execute("ROLLBACK")


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise _explanation(error, path) from error
    except UnicodeDecodeError as error:  # what SQLite has to say quotes what it found
        raise _corrupt(path, str(error)) from error


_CORRUPT = ("malformed", "not a database", "Could not decode to UTF-8", "unsupported file format")


def _corrupt(path: Path, detail: str) -> CorruptLogError:
    message = f"the catalog {path} is corrupt"
    hint = "Restore the whole directory from a backup; a catalog cannot be rebuilt from its segments."
    return CorruptLogError(message, detail=detail, hint=hint)


def _locked(path: Path, doing: str, detail: str | None = None) -> BrokerError:
    message = f"the catalog {path} was locked for {_BUSY_SECONDS:.0f} seconds"
    return BrokerError(message, detail=detail, hint=f"Another process is stuck while it {doing}: look for it.")


def _explanation(error: sqlite3.Error, path: Path) -> BrokerError:
    text = str(error)
    if "full" in text:
        message = f"no space left for the catalog {path}"
        return BrokerError(message, detail=text, hint="Free space and start again; nothing was committed.")
    if "locked" in text:
        return _locked(path, "commits", text)
    if any(sign in text for sign in _CORRUPT):
        return _corrupt(path, text)
    if "unable to open" in text:
        # SQLite does not say why; the system does.
        try:
            with explained(path), suppress(FileNotFoundError):
                os.close(_opened_lock(path))
        except BrokerError as reason:
            return reason
    if "readonly" in text or "unable to open" in text or "attempt to write" in text:
        message = f"no access to the catalog {path}"
        hint = "The directory must be writable by, and belong to, the user who runs Headrace."
        return BrokerError(message, detail=text, hint=hint)
    message = f"the catalog {path} could not be used"
    # Its name tells apart a disk that cannot be read, one that cannot be written, and a limit (ulimit -f) that is met.
    detail = f"{text} ({error.sqlite_errorname})" if hasattr(error, "sqlite_errorname") else text
    hint = "Nothing was committed. Check the disk, and how much may be written to it, then start again."
    return BrokerError(message, detail=detail, hint=hint)
