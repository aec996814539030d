"""Rows of a table that hold nulls, changed and deleted under every aggregate that can take a row back."""

from __future__ import annotations

import json

import pytest

from headrace.sql.build.queries import streams_config, topology_of
from headrace.sql.processing_log import ProcessingLog
from headrace.testing import TopologyTestDriver
from tests.unit.sql.engine.test_engine import Engine

ROWS = """CREATE TABLE rows_ (id INT PRIMARY KEY, g INT, s STRING, n INT, b BIGINT, d DOUBLE, x DECIMAL(4, 1),
  l ARRAY<INT>) WITH (kafka_topic='rows', value_format='JSON', partitions=1);"""
CALLS = [
    *("COUNT(s)", "COLLECT_LIST(s)", "HISTOGRAM(s)", "ATTR(s)", "SUM(x)", "SUM_LIST(l)", "COLLECT_LIST(l)", "ATTR(l)"),
    *(f"{name}({column})" for name in ("SUM", "AVG", "STDDEV_SAMPLE", "STDDEV_SAMP") for column in "nbd"),
    *("CORRELATION(n, n)", "CORRELATION(b, b)", "CORRELATION(d, d)"),
]
FULL = b'{"G": 7, "S": "a", "N": 1, "B": 1, "D": 1.5, "X": 1.5, "L": [1, null]}'


@pytest.mark.parametrize("call", CALLS)
def test_a_null_is_taken_back_as_it_was_added(call: str) -> None:
    engine = Engine()
    engine.execute(f"{ROWS} CREATE TABLE found AS SELECT g, {call} AS r FROM rows_ GROUP BY g;")
    (query,) = engine.queries.values()
    topology = topology_of(query.plan, engine.functions, ProcessingLog())
    with TopologyTestDriver(topology, streams_config(query.id, {})) as driver:
        for id_, value in ((1, FULL), (2, b'{"G": 7}'), (2, FULL), (2, b'{"G": 7}'), (2, None)):
            driver.pipe_record("rows", id_.to_bytes(4, "big"), value, timestamp=0)
        written = [json.loads(record.value or b"null") for record in driver.produced if record.topic == "FOUND"]
    assert written[-1] == written[0]
