"""Records without a row, where rows are grouped."""

from __future__ import annotations

import pytest

from headrace.sql.build.queries import streams_config, topology_of
from headrace.sql.processing_log import ProcessingLog
from headrace.testing import TopologyTestDriver
from tests.unit.sql.engine.test_engine import PAGES, Engine


@pytest.mark.parametrize("window", ["", "WINDOW TUMBLING (SIZE 1 SECOND)", "WINDOW SESSION (1 SECOND)"])
@pytest.mark.parametrize("group", ["id", "name"])
def test_a_record_without_a_row_is_in_no_group(window: str, group: str) -> None:
    engine = Engine()
    engine.execute(
        f"{PAGES} CREATE TABLE counts AS SELECT {group}, COUNT(*) AS n FROM pages {window} GROUP BY {group};"
    )
    (query,) = engine.queries.values()
    topology = topology_of(query.plan, engine.functions, ProcessingLog())
    with TopologyTestDriver(topology, streams_config(query.id, {})) as driver:
        key = (1).to_bytes(4, "big")
        for value in (None, b'{"NAME": "a"}', None):
            driver.pipe_record("pages", key, value, timestamp=0)
        written = [record.value for record in driver.produced if record.topic == "COUNTS"]
    assert written == [b'{"N":1}']
