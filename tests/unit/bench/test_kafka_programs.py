"""The programs of the Kafka benchmark make what it expects of them: a row counts only where both agree."""

from __future__ import annotations

from typing import Any

import pytest

from bench.kafka.inputs import Latest, Total, rows, total
from bench.kafka.programs import PROGRAMS
from headrace import serdes
from headrace.testing import TopologyTestDriver

_ROWS = rows(0.001)


@pytest.mark.parametrize("name", _ROWS)
def test_what_comes_out_is_what_is_expected(name: str) -> None:
    row = _ROWS[name]
    expected = row.expected()

    assert _written(name, expected) == expected


def _written(name: str, expected: Latest | Total) -> Latest | Total:
    row = _ROWS[name]
    table = {} if row.table is None else {"table": row.table.name}
    topology = PROGRAMS[row.program](row.input.name, "out", **table)
    raw = serdes.bytes()
    with TopologyTestDriver(topology, {"application.id": "bench"}) as driver:
        for input in row.inputs:
            topic = driver.create_input_topic(input.name, key_serde=raw, value_serde=raw)
            for key, value, at in input.records():
                topic.pipe_input(key, value, timestamp=at)
        value_serde: Any = raw if isinstance(expected, Total) else serdes.long()
        found = driver.create_output_topic("out", key_serde=raw, value_serde=value_serde).read_key_values_to_list()
    if isinstance(expected, Total):
        return total(iter(found))
    return {key: value for key, value in dict(found).items() if value is not None}


def test_some_orders_have_no_row_to_be_joined_with() -> None:
    row = _ROWS["join"]
    expected = row.expected()

    assert isinstance(expected, Total)
    assert 0 < expected.records < row.input.count
