"""A schema registry in a directory, for any number of processes of one machine."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headrace.errors import SerializationError
from headrace.serde.registry import RegisteredSchema, Schema, SchemaReference

_FILE = "schemas.sqlite"
_TABLES = """
CREATE TABLE IF NOT EXISTS schemas (
    id INTEGER PRIMARY KEY, kind TEXT NOT NULL, text TEXT NOT NULL, refs TEXT NOT NULL,
    UNIQUE (kind, text, refs)
);
CREATE TABLE IF NOT EXISTS versions (
    subject TEXT NOT NULL, version INTEGER NOT NULL, id INTEGER NOT NULL REFERENCES schemas (id),
    PRIMARY KEY (subject, version), UNIQUE (subject, id)
);
"""
_WAIT_SECONDS = 30.0


@dataclass(frozen=True)
class DirectorySchemaRegistry:
    """Schemas kept in a file of ``directory``, which is made if it is not there.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     DirectorySchemaRegistry(directory).register("t-value", Schema('"long"'))
    1
    """

    directory: str | Path
    _known: dict[int, Schema] = field(default_factory=dict, init=False, repr=False, compare=False)
    """Schemas by id, which always means the same one."""

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.directory,)

    def register(self, subject: str, schema: Schema) -> int:
        with self._transaction() as connection:
            connection.execute("INSERT OR IGNORE INTO schemas (kind, text, refs) VALUES (?, ?, ?)", _row(schema))
            schema_id = _id(connection, schema)
            assert schema_id is not None
            connection.execute(
                "INSERT OR IGNORE INTO versions VALUES"
                " (?1, (SELECT COALESCE(MAX(version), 0) + 1 FROM versions WHERE subject = ?1), ?2)",
                (subject, schema_id),
            )
            return schema_id

    def lookup(self, subject: str, schema: Schema) -> RegisteredSchema:
        with self._transaction() as connection:
            schema_id = _id(connection, schema)
            found = connection.execute(
                "SELECT version FROM versions WHERE subject = ? AND id = ?", (subject, schema_id)
            ).fetchone()
        if found is None or schema_id is None:
            message = f"the schema is not registered under subject {subject}"
            raise SerializationError(message, hint="Register it, or leave auto_register on.")
        return RegisteredSchema(schema_id, subject, found[0])

    def schema_by_id(self, schema_id: int) -> Schema:
        if schema_id not in self._known:
            found = self._one("SELECT kind, text, refs FROM schemas WHERE id = ?", schema_id)
            if found is None:
                message = f"the registry has no schema with id {schema_id}"
                raise SerializationError(message)
            self._known[schema_id] = _schema(found)
        return self._known[schema_id]

    def schema_by_version(self, subject: str, version: int) -> Schema:
        found = self._one(
            "SELECT kind, text, refs FROM versions JOIN schemas USING (id) WHERE subject = ? AND version = ?",
            subject,
            version,
        )
        if found is None:
            message = f"the registry has no version {version} of subject {subject}"
            raise SerializationError(message)
        return _schema(found)

    def latest(self, subject: str) -> tuple[int, Schema] | None:
        found = self._one(
            "SELECT kind, text, refs, id FROM versions JOIN schemas USING (id) WHERE subject = ?"
            " ORDER BY version DESC LIMIT 1",
            subject,
        )
        return None if found is None else (found[3], _schema(found))

    @property
    def subjects(self) -> tuple[str, ...]:
        with self._transaction() as connection:
            found = connection.execute("SELECT subject FROM versions GROUP BY subject ORDER BY MIN(rowid)").fetchall()
        return tuple(subject for (subject,) in found)

    def _one(self, query: str, *values: Any) -> Any:
        with self._transaction() as connection:
            return connection.execute(query, values).fetchone()

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        path = Path(self.directory)
        try:
            path.mkdir(parents=True, exist_ok=True)
            with closing(sqlite3.connect(path / _FILE, timeout=_WAIT_SECONDS)) as connection, connection:
                connection.executescript(_TABLES)
                connection.execute("BEGIN IMMEDIATE")
                yield connection
        except (OSError, sqlite3.Error) as error:
            message = f"the schemas in {path} cannot be read or written: {error}"
            raise SerializationError(message) from error


def _row(schema: Schema) -> tuple[str, str, str]:
    references = json.dumps([[each.name, each.subject, each.version] for each in schema.references])
    return schema.kind, schema.text, references


def _schema(row: Any) -> Schema:
    return Schema(row[1], row[0], tuple(SchemaReference(*each) for each in json.loads(row[2])))


def _id(connection: sqlite3.Connection, schema: Schema) -> int | None:
    found = connection.execute("SELECT id FROM schemas WHERE kind = ? AND text = ? AND refs = ?", _row(schema))
    row = found.fetchone()
    return None if row is None else int(row[0])
