"""Answers from the stores of queries that run."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from headrace.dsl.builder import StreamsBuilder
from headrace.sql import parse
from headrace.sql.answers import plain_row
from headrace.sql.build.context import BuildContext
from headrace.sql.build.queries import topology_of
from headrace.sql.functions import builtin
from headrace.sql.processing_log import ProcessingLog
from headrace.sql.pull.plan import planned_pull
from headrace.sql.pull.run import PullAnswers
from headrace.sql.tree.statements import Select
from headrace.testing import TopologyTestDriver
from tests.unit.sql.planning.session import Session

STREAM = "CREATE STREAM s (id STRING KEY, v INT) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');"
TABLE = "CREATE TABLE t (id STRING PRIMARY KEY, v INT) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');"
RECORDS = [("a", 1, 10), ("b", 5, 20), ("a", 2, 3_600_030), ("c", 7, 40)]


class Asked:
    """A query that got its records, and can be asked."""

    def __init__(self, session: Session, driver: TopologyTestDriver) -> None:
        self._session, self._driver = session, driver

    def __call__(self, text: str) -> list[list[Any]]:
        (parsed,) = parse(text)
        assert isinstance(parsed.statement, Select)
        session = self._session
        plan = planned_pull(parsed.statement.query, session.catalog, session.queries, session.environment)
        context = BuildContext(plan.query_id, StreamsBuilder(), builtin(), ProcessingLog())
        rows = PullAnswers(plan, context).of(self._driver.store(plan.rows.store))
        return [plain_row(row, plan.columns.columns) for row in rows]


@contextmanager
def running(*statements: str) -> Iterator[Asked]:
    session = Session("\n".join(statements), functions=builtin())
    (query,) = session.queries.values()
    topology = topology_of(query, builtin(), ProcessingLog())
    config = {"application.id": "q", "statestore.cache.max.bytes": 0}
    with TopologyTestDriver(topology, config) as driver:
        for key, value, time in RECORDS:
            driver.pipe_record("s", key.encode(), json.dumps({"V": value}).encode(), time)
        yield Asked(session, driver)


def test_results_of_aggregates_are_made_of_their_states() -> None:
    with running(STREAM, "CREATE TABLE o AS SELECT id, AVG(v) AS a, COUNT(*) AS n FROM s GROUP BY id;") as ask:
        assert ask("SELECT * FROM o WHERE id = 'a';") == [["a", 1.5, 2]]
        assert sorted(ask("SELECT id FROM o;")) == [["a"], ["b"], ["c"]]
        assert ask("SELECT n, rowtime FROM o WHERE id IN ('c', 'x', 'b');") == [[1, 40], [1, 20]]
        assert ask("SELECT id FROM o WHERE id > 'a' AND n = 1 LIMIT 1;") == [["b"]]
        assert ask("SELECT id FROM o WHERE id <= 'b';") == [["a"], ["b"]]
        assert ask("SELECT id FROM o WHERE a BETWEEN 5 AND 6;") == [["b"]]


def test_a_list_of_keys_may_be_long() -> None:
    keys = ", ".join(f"'{number}'" for number in range(1_500))
    with running(STREAM, "CREATE TABLE o AS SELECT id, COUNT(*) AS n FROM s GROUP BY id;") as ask:
        assert ask(f"SELECT * FROM o WHERE id IN ({keys}, 'c', 'a', 'c');") == [["c", 1], ["a", 2]]
        assert sorted(ask(f"SELECT id FROM o WHERE CAST(n AS STRING) IN ({keys});")) == [["a"], ["b"], ["c"]]


def test_having_leaves_rows_out() -> None:
    with running(STREAM, "CREATE TABLE o AS SELECT id, COUNT(*) AS n FROM s GROUP BY id HAVING COUNT(*) > 1;") as ask:
        assert ask("SELECT * FROM o;") == [["a", 2]]
        assert ask("SELECT * FROM o WHERE id = 'b';") == []


def test_windows_are_looked_up_by_their_bounds() -> None:
    window = "WINDOW TUMBLING (SIZE 1 HOUR)"
    with running(STREAM, f"CREATE TABLE o AS SELECT id, COUNT(*) AS n FROM s {window} GROUP BY id;") as ask:
        hour = 3_600_000
        assert ask("SELECT * FROM o WHERE id = 'a';") == [["a", 0, hour, 1], ["a", hour, 2 * hour, 1]]
        assert ask("SELECT * FROM o WHERE id = 'a' AND windowstart > 0;") == [["a", hour, 2 * hour, 1]]
        assert ask("SELECT * FROM o WHERE id = 'a' AND windowend = '1970-01-01T01:00';") == [["a", 0, hour, 1]]
        assert len(ask("SELECT * FROM o;")) == 4


def test_sessions_are_looked_up_by_key() -> None:
    session = "WINDOW SESSION (1 MINUTE)"
    with running(STREAM, f"CREATE TABLE o AS SELECT id, COUNT(*) AS n FROM s {session} GROUP BY id;") as ask:
        assert ask("SELECT * FROM o WHERE id = 'a';") == [["a", 10, 10, 1], ["a", 3_600_030, 3_600_030, 1]]
        assert ask("SELECT rowtime FROM o WHERE id = 'b';") == [[20]]
        assert len(ask("SELECT * FROM o;")) == 4


@pytest.mark.parametrize("made", ["CREATE TABLE o AS SELECT id, v + 1 AS w FROM t;"])
def test_tables_are_asked_through_the_store_of_their_source(made: str) -> None:
    with running(TABLE, made) as ask:
        assert ask("SELECT * FROM o WHERE id = 'a';") == [["a", 3]]
        assert ask("SELECT w, rowtime FROM o WHERE id = 'b';") == [[6, 20]]
