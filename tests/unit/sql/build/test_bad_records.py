"""Records that cannot be read or written: told in the processing log, and skipped or fatal."""

from __future__ import annotations

import json
from itertools import count
from typing import Any

import pytest

from headrace.errors import StreamsError
from headrace.serde.registry import InMemorySchemaRegistry, Schema
from headrace.sql import parse
from headrace.sql.build.queries import streams_config, topology_of
from headrace.sql.catalog.catalog import Catalog
from headrace.sql.functions import builtin
from headrace.sql.planning.flow import Environment
from headrace.sql.planning.plans import QueryPlan
from headrace.sql.planning.statements import Planner, applied
from headrace.sql.processing_log import Failure, ProcessingLog
from headrace.testing import TopologyTestDriver


def planned(text: str, registry: InMemorySchemaRegistry) -> QueryPlan:
    catalog, numbers = Catalog(), count()
    for parsed in parse(text):
        environment = Environment(builtin(), {}, lambda topic: 1, registry)
        plan = Planner(catalog, environment, lambda: next(numbers), {}).plan(parsed.statement, parsed.text)
        catalog = applied(catalog, plan)
    assert plan.query_plan is not None
    return plan.query_plan


def run(text: str, records: list[tuple[bytes | None, bytes]], **settings: Any) -> tuple[list[bytes | None], list[str]]:
    """The values that the query writes, and what is told in the log."""
    registry = settings.pop("registry", InMemorySchemaRegistry())
    plan, told = planned(text, registry), list[Failure]()
    topology = topology_of(plan, builtin(), ProcessingLog(told.append), registry, settings)
    with TopologyTestDriver(topology, streams_config(plan.query_id, settings)) as driver:
        for key, value in records:
            driver.pipe_record("in", key, value, 0)
        return [record.value for record in driver.produced], list(map(str, told))


STREAM = "CREATE STREAM S (K {key} KEY, A INT) WITH (KAFKA_TOPIC='in', KEY_FORMAT='{key_format}', VALUE_FORMAT='{}');"
QUERY = "CREATE STREAM O AS SELECT K, A + 1 AS B FROM S;"


@pytest.mark.parametrize(
    ("format_", "good", "bad", "reason"),
    [
        ("JSON", b'{"A":1}', b"nonsense", "JSONDecodeError"),
        ("JSON", b'{"A":1}', b'{"A":"x"}', "'x' is not a whole number, at $.A"),
        ("DELIMITED", b"1", b"1,2", "expected 1 fields, found 2"),
        ("KAFKA", b"\0\0\0\1", b"\0", "integer() expected 4 bytes, found 1"),
        ("PROTOBUF_NOSR", b"\x08\x01", b"\x08", "the bytes are no message ConnectDefault1"),
    ],
)
def test_a_record_that_cannot_be_read_is_told_and_skipped(format_: str, good: bytes, bad: bytes, reason: str) -> None:
    text = STREAM.format(format_, key="STRING", key_format="KAFKA") + QUERY
    written, told = run(text, [(b"k", good), (b"k", bad), (b"k", good)])
    assert len(written) == 2
    (line,) = told
    assert line.startswith(
        "CSAS_O_0.KsqlTopic.Source.deserializer: the value of a record of topic in cannot be read as"
    )
    assert reason in line


@pytest.mark.parametrize("depth", [400, 2_000, 50_000])
@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"x":', "}")])
@pytest.mark.parametrize(
    ("column", "selected"), [("A STRING", "A"), ("A STRING", "JSON_CONCAT(A, '[]')"), ("A ARRAY<STRING>", "A")]
)
def test_a_value_that_is_nested_too_deep_is_told_as_such(
    column: str, selected: str, opening: str, closing: str, depth: int
) -> None:
    deep = f"{opening * depth}1{closing * depth}"
    value = {"A STRING": deep, "A ARRAY<STRING>": f"[{deep}]"}[column] if selected == "A" else json.dumps(deep)
    text = f"CREATE STREAM S (K STRING KEY, {column}) WITH (KAFKA_TOPIC='in', VALUE_FORMAT='JSON');"
    query = f"CREATE STREAM O AS SELECT K, {selected} AS B FROM S;"
    written, told = run(text + query, [(b"k", f'{{"A":{value}}}'.encode()), (b"k", b"{}")])

    assert written[-1] == b'{"B":null}'
    assert "nested too deep" in told[0]
    assert "RecursionError" not in told[0]


def test_a_key_that_cannot_be_read_is_told_and_skipped() -> None:
    text = STREAM.format("JSON", key="INT", key_format="JSON") + QUERY
    written, told = run(text, [(b"1", b'{"A":1}'), (b"x", b'{"A":1}'), (b"2", b'{"A":1}')])
    assert len(written) == 2
    assert "the key of a record of topic in cannot be read as JSON" in told[0]


def test_a_record_that_cannot_be_read_may_be_fatal() -> None:
    text = STREAM.format("JSON", key="STRING", key_format="KAFKA") + QUERY
    with pytest.raises(StreamsError):
        run(text, [(b"k", b"nonsense")], **{"ksql.fail.on.deserialization.error": True})


def test_a_row_that_cannot_be_written_is_told_and_fatal() -> None:
    registry = InMemorySchemaRegistry()
    fields = '[{"name":"B","type":"int"},{"name":"C","type":"int"}]'
    registry.register("O-value", Schema(f'{{"type":"record","name":"r","fields":{fields}}}'))
    text = STREAM.format("JSON", key="STRING", key_format="KAFKA")
    query = "CREATE STREAM O WITH (VALUE_FORMAT='AVRO', VALUE_SCHEMA_ID=1) AS SELECT K, A + 1 AS B FROM S;"
    with pytest.raises(StreamsError, match="the schema requires the field C"):
        run(text + query, [(b"k", b'{"A":1}')], registry=registry)


def test_the_configuration_of_a_query() -> None:
    settings = {"ksql.service.id": "s_", "ksql.streams.num.stream.threads": "4", "ksql.streams.state.dir": "/tmp"}
    assert streams_config("CSAS_O_0", settings) == {
        "application.id": "_confluent-ksql-s_query_CSAS_O_0",
        "deserialization.exception.handler": "log_and_continue",
        "num.stream.threads": 4,
        "state.dir": "/tmp",
    }


def test_a_setting_of_kafka_streams_may_go_without_its_prefix() -> None:
    name = "processing.exception.handler"

    assert streams_config("CSAS_O_0", {name: "log_and_continue"})[name] == "log_and_continue"
    both = {f"ksql.streams.{name}": "log_and_fail", name: "log_and_continue"}
    assert streams_config("CSAS_O_0", both)[name] == "log_and_fail"
    assert streams_config("CSAS_O_0", {"application.id": "mine"})["application.id"] != "mine"
