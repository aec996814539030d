"""Ctrl-C and failures while a statement takes effect: what the journal says is what this process knows, and runs."""

from __future__ import annotations

import os
import random
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from headrace.broker.catalog import Catalog
from headrace.database import Database
from headrace.database.journal import Entry
from headrace.errors import BrokerError
from headrace.sql.engine.session import Session
from headrace.sql.errors import SqlError
from headrace.sql.tree.statements import QueryAction

CLICKS = (
    "CREATE STREAM clicks (id INT KEY, page STRING) WITH (kafka_topic='clicks', value_format='JSON', partitions=1);"
)
PAGES = "CREATE STREAM pages AS SELECT id, page FROM clicks;"
STATEMENTS = (
    PAGES,
    "CREATE STREAM IF NOT EXISTS pages AS SELECT id, page FROM clicks;",
    "CREATE OR REPLACE STREAM pages AS SELECT id, page FROM clicks WHERE id > 1;",
    "CREATE TABLE counts AS SELECT page, COUNT(*) AS n FROM clicks GROUP BY page;",
    "INSERT INTO pages SELECT id, page FROM clicks;",
    "CREATE STREAM seen (id INT KEY) WITH (kafka_topic='clicks', value_format='JSON');",
    "CREATE OR REPLACE STREAM seen (id INT KEY, page STRING) WITH (kafka_topic='clicks', value_format='JSON');",
    "ALTER STREAM seen ADD COLUMN more STRING;",
    "DROP STREAM IF EXISTS seen;",
    "DROP STREAM IF EXISTS pages;",
    "DROP TABLE IF EXISTS counts DELETE TOPIC;",
    "CREATE TYPE money AS DECIMAL(10, 2);",
    "DROP TYPE IF EXISTS money;",
    "PAUSE ALL;",
    "RESUME ALL;",
    "TERMINATE ALL;",
)
JOURNAL = "database/journal.py"
TAKING_TURNS = (JOURNAL, "broker/leases.py", "lifecycle/signals.py", "contextlib.py")
TAKING_EFFECT = ("sql/engine/engine.py", "database/queries.py", "database/forgetting.py")


def opened(directory: Path, **more: Any) -> Database:
    return Database(f"embedded:{directory}", engine="local", **more)


def known(database: Database) -> tuple[Any, ...]:
    database.execute("SHOW STREAMS;")
    return database.engine.catalog, database.engine.queries, database._queries.paused


@contextmanager
def interrupted(line: int) -> Iterator[None]:
    """Ctrl-C at that line after the journal was written to, counted in what makes a statement take effect."""
    left = line
    is_written = False

    def on_line(frame: FrameType, event: str, _: object) -> Any:
        nonlocal left, is_written
        code = frame.f_code
        is_written |= event == "return" and code.co_name == "write" and code.co_filename.endswith(JOURNAL)
        if event == "line" and is_written and code.co_filename.endswith(TAKING_EFFECT):
            left -= 1
            if left == 0:
                raise KeyboardInterrupt
        return on_line

    before = sys.gettrace()
    sys.settrace(on_line)
    try:
        yield
    finally:
        sys.settrace(before)


@pytest.mark.parametrize("seed", range(2))
def test_whatever_is_interrupted_this_process_knows_what_the_journal_says(tmp_path: Path, seed: int) -> None:
    chosen = random.Random(seed)
    with opened(tmp_path) as database:
        database.execute(CLICKS)
        for _ in range(25):
            with suppress(KeyboardInterrupt, SqlError), interrupted(chosen.randrange(1, 40)):
                database.execute(chosen.choice(STATEMENTS))
            if chosen.random() < 0.3:
                with opened(tmp_path, runs_queries=False) as other:
                    assert known(database) == known(other)
        expected = known(database)
        states = {id_: database.state_of(id_) for id_ in database.persistent_queries}
        assert states == {id_: "PAUSED" if id_ in expected[2] else "RUNNING" for id_ in states}
        assert set(database._queries._apps) == set(states)
    with opened(tmp_path) as again:
        assert known(again) == expected


@contextmanager
def signalled(line: int) -> Iterator[list[int]]:
    """Ctrl-C at that line of what takes and gives back the turn of the journal."""
    left = [line]

    def on_line(frame: FrameType, event: str, _: object) -> Any:
        if event == "line" and frame.f_code.co_filename.endswith(TAKING_TURNS):
            left[0] -= 1
            if left[0] == 0:
                signal.raise_signal(signal.SIGINT)
        return on_line

    before = sys.gettrace()
    sys.settrace(on_line)
    try:
        yield left
    finally:
        sys.settrace(before)


def test_wherever_the_journal_is_interrupted_its_turn_is_given_back(tmp_path: Path) -> None:
    with opened(tmp_path, runs_queries=False) as database:
        line = 0
        while True:
            line += 17
            with suppress(KeyboardInterrupt), signalled(line) as left:
                database.execute("CREATE TYPE IF NOT EXISTS money AS DECIMAL(10, 2); DROP TYPE IF EXISTS money;")
            assert database.broker.lease_owner(database.names.writer) is None
            if left[0] > 0:
                break
        assert line > 100


def test_a_query_that_cannot_be_cleared_away_is_dropped_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise BrokerError("no space is left")

    with opened(tmp_path) as database:
        database.execute(CLICKS + PAGES)
        with monkeypatch.context() as failing:
            failing.setattr("headrace.database.queries.forget", fail)
            with pytest.raises(BrokerError, match="no space is left"):
                database.execute("DROP STREAM pages;")
        assert set(database.engine.catalog.sources) == {"CLICKS"}
        assert not database.persistent_queries
        database.execute(PAGES)
    with opened(tmp_path) as again:
        assert set(again.engine.catalog.sources) == {"CLICKS", "PAGES"}
        assert list(again.persistent_queries) == ["CSAS_PAGES_3"]


@pytest.mark.parametrize("statement", ["DROP STREAM pages;", "TERMINATE csas_pages_1;", "TERMINATE ALL;"])
def test_a_query_that_could_not_start_is_dropped_and_terminated(tmp_path: Path, statement: str) -> None:
    with opened(tmp_path) as database:
        database.execute(CLICKS)
        # As an earlier version, which did not look at values, has written it down.
        database.execute(PAGES, Session({"ksql.streams.num.stream.threads": "-1"}))
        assert database.state_of("CSAS_PAGES_1") == "ERROR"
        database.execute(statement)
        assert not database.persistent_queries


def test_entries_that_have_nothing_left_to_do_do_not_keep_a_database_shut(tmp_path: Path) -> None:
    with opened(tmp_path) as database:
        database.execute(CLICKS + PAGES)
        database.execute("CREATE STREAM seen (id INT KEY) WITH (kafka_topic='clicks', value_format='JSON');")
        altered = database.engine.plan(database.session.parsed("ALTER STREAM seen ADD COLUMN more STRING;")[0])
        dropped = database.engine.plan(database.session.parsed("DROP STREAM seen;")[0])
        database.execute("DROP STREAM seen; TERMINATE ALL;")
        left = [
            *(Entry("again", action=action, query_ids=("CSAS_PAGES_1",)) for action in QueryAction),
            Entry("again", altered),
            Entry("again", dropped),
        ]
        for entry in left:
            with database._journal._written(entry):
                pass
    with opened(tmp_path) as again:
        assert set(again.engine.catalog.sources) == {"CLICKS", "PAGES"}
        assert not again.persistent_queries


def test_a_database_that_a_full_disk_closed_is_opened_and_run_by_the_same_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    @contextmanager
    def full(_: Catalog) -> Iterator[None]:
        raise BrokerError("no space left for the catalog")
        yield

    database = opened(tmp_path)
    database.execute(CLICKS + PAGES)
    with monkeypatch.context() as failing:
        failing.setattr(Catalog, "write", full)
        database.close()
    assert "the queries were not given back" in caplog.text
    with opened(tmp_path) as again:
        assert again.state_of("CSAS_PAGES_1") == "RUNNING"


def test_who_does_not_run_the_queries_says_who_does(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "headrace.database")
    with opened(tmp_path), opened(tmp_path):
        assert f"the queries are run by process {os.getpid()}" in caplog.text
