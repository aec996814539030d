"""A catalog that an earlier Headrace wrote: it opens with all that it says, and keeps what it holds."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from headrace.broker.catalog import SCHEMA_VERSION
from headrace.broker.embedded import EmbeddedBroker
from headrace.broker.port import NewRecord, OffsetAndMetadata
from headrace.errors import CorruptLogError
from tests.unit.broker.scene import entries, put

VERSION_2 = Path(__file__).parent / "catalog-version-2.sql"
"""Topic clicks with two partitions, three records of long ago and retention.ms=100; another topic was deleted."""


@pytest.fixture
def old(tmp_path: Path) -> Path:
    with closing(sqlite3.connect(tmp_path / "catalog.db")) as connection:
        connection.executescript(VERSION_2.read_text())
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA user_version = 2")
    return tmp_path


def test_says_all_that_it_said(old: Path) -> None:
    for _ in range(2):
        with closing(EmbeddedBroker(old)) as broker:
            assert entries(broker, "clicks") == [(0, b"a", b"1"), (1, b"c", b"3")]
            assert broker.committed("app") == {("clicks", 0): OffsetAndMetadata(1, "n")}
            last = broker.last_decided("app")
            assert last is not None
            assert last.notes == {"x": "y"}
            assert broker.problems("clicks") == []
    with closing(sqlite3.connect(old / "catalog.db")) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (SCHEMA_VERSION,)


def test_records_without_an_arrival_are_not_taken_for_old(old: Path) -> None:
    with closing(EmbeddedBroker(old)) as broker:
        broker.delete_application("app")
        broker.alter_topic("clicks", config={"retention.ms": 60_000})
        broker.maintain()
        assert entries(broker, "clicks", 1) == [(0, b"b", b"2")]


def test_goes_on_with_the_numbers_it_had(old: Path) -> None:
    with closing(EmbeddedBroker(old)) as broker:
        broker.create_topic("new")
        put(broker, "new", (b"k", b"v"))
        broker.append([NewRecord("clicks", b"d", b"4", partition=0)])
        assert entries(broker, "clicks")[-1] == (2, b"d", b"4")
        broker.delete_topic("clicks")
        broker.maintain()
    with closing(sqlite3.connect(old / "catalog.db")) as connection:
        assert connection.execute("SELECT id FROM topics").fetchall() == [(3,)]
        assert connection.execute("SELECT id FROM segments").fetchall() == [(5,)]


def test_one_that_was_tampered_with_is_refused_and_left_alone(old: Path) -> None:
    with closing(sqlite3.connect(old / "catalog.db")) as connection:
        connection.create_function("headrace_note", -1, lambda *_: None)
        connection.execute("UPDATE partitions SET end_offset = 1")
        connection.commit()
    with pytest.raises(CorruptLogError, match="its content does not match its seal"):
        EmbeddedBroker(old)
    with closing(sqlite3.connect(old / "catalog.db")) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (2,)
