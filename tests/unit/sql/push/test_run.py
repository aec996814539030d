"""Rows of push queries, as they come."""

from __future__ import annotations

import json
from typing import Any

from headrace.sql import parse
from headrace.sql.functions import builtin
from headrace.sql.processing_log import ProcessingLog
from headrace.sql.push.plan import planned_push
from headrace.sql.push.run import push_topology
from headrace.sql.tree.statements import Select
from headrace.testing import TopologyTestDriver
from tests.unit.sql.planning.session import Session


def pushed(source: str, text: str, *values: dict[str, Any] | None) -> list[list[Any]]:
    session = Session(source, functions=builtin())
    (parsed,) = parse(text)
    assert isinstance(parsed.statement, Select)
    plan = planned_push(parsed.statement.query, session.catalog, session.environment)
    found: list[list[Any]] = []

    def told(key: Any, row: list[Any] | None) -> None:
        found.append(["gone", *plan.gone(key)] if row is None else row)

    topology = push_topology(plan, "transient", told, builtin(), ProcessingLog())
    with TopologyTestDriver(topology, {"statestore.cache.max.bytes": 0}) as driver:
        for value in values:
            driver.pipe_record("s", b"k", None if value is None else json.dumps(value).encode(), 5)
    return found


def test_rows_of_a_stream_come_as_they_are_projected() -> None:
    source = "CREATE STREAM s (id STRING KEY, v INT) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');"
    rows = pushed(source, "SELECT v, id, rowtime FROM s WHERE v > 1 EMIT CHANGES;", {"V": 1}, {"V": 2})
    assert rows == [[2, "k", 5]]


def test_a_row_of_a_table_that_goes_is_told_with_its_key() -> None:
    source = "CREATE TABLE t (id STRING PRIMARY KEY, v INT) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');"
    rows = pushed(source, "SELECT v, id FROM t EMIT CHANGES;", {"V": 1}, None)
    assert rows == [[1, "k"], ["gone", None, "k"]]


def test_aggregates_need_no_group() -> None:
    source = "CREATE STREAM s (id STRING KEY, v INT) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');"
    assert pushed(source, "SELECT COUNT(*), SUM(v) FROM s EMIT CHANGES;", {"V": 1}, {"V": 2}) == [[1, 1], [2, 3]]
