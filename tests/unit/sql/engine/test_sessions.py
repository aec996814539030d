"""Sessions: settings, variables, and what can be asked."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.serde.registry import InMemorySchemaRegistry, Schema
from headrace.sql.engine.answers import Table
from headrace.sql.engine.session import Session
from headrace.sql.errors import SqlError
from tests.unit.sql.engine.test_engine import PAGES, Engine, KnownTopics

COUNTS = "CREATE TABLE counts AS SELECT id, COUNT(*) AS n FROM pages WINDOW TUMBLING (SIZE 1 HOUR) GROUP BY id;"


def answered(engine: Engine, text: str, session: Session | None = None) -> tuple[Table, ...]:
    return engine.execute(text, session)[-1].tables


def rows(engine: Engine, text: str, session: Session | None = None) -> list[tuple[Any, ...]]:
    (table,) = answered(engine, text, session)
    return list(table.rows)


def test_a_setting_holds_for_the_statements_that_follow_in_its_session() -> None:
    engine, session = Engine(), Session()
    bare = PAGES.replace(", VALUE_FORMAT='JSON'", "")
    engine.execute(f"SET 'ksql.persistence.default.format.value'='JSON'; {bare}", session)
    assert engine.catalog.sources["PAGES"].value_format.format.name == "JSON"
    assert rows(engine, "SHOW PROPERTIES;", session) == [("ksql.persistence.default.format.value", "SESSION", "JSON")]
    assert rows(engine, "SHOW PROPERTIES;") == []
    engine.execute("UNSET 'ksql.persistence.default.format.value';", session)
    with pytest.raises(SqlError, match="is not set here"):
        engine.execute("UNSET 'ksql.persistence.default.format.value';", session)


def test_a_setting_of_the_system_holds_for_everybody() -> None:
    engine = Engine()
    engine.execute("ALTER SYSTEM 'ksql.persistence.default.format.value'='JSON';")
    assert rows(engine, "SHOW PROPERTIES;") == [("ksql.persistence.default.format.value", "SERVER", "JSON")]


def test_what_is_said_last_of_a_setting_holds_with_the_prefix_and_without() -> None:
    engine, session = Engine(), Session()
    engine.execute(
        "ALTER SYSTEM 'auto.offset.reset'='latest'; ALTER SYSTEM 'ksql.streams.auto.offset.reset'='earliest';"
    )
    assert rows(engine, "SHOW PROPERTIES;") == [("ksql.streams.auto.offset.reset", "SERVER", "earliest")]
    engine.execute(f"SET 'auto.offset.reset'='latest'; {PAGES} CREATE STREAM copies AS SELECT * FROM pages;", session)
    assert rows(engine, "SHOW PROPERTIES;", session) == [("auto.offset.reset", "SESSION", "latest")]
    (query,) = engine.queries.values()
    assert query.settings == {"auto.offset.reset": "latest"}
    session = Session()
    engine.execute("SET 'ksql.streams.num.stream.threads'='4'; SET 'num.stream.threads'='2';", session)
    assert session.settings == {"num.stream.threads": "2"}
    engine.execute("UNSET 'ksql.streams.num.stream.threads';", session)
    assert session.settings == {}


@pytest.mark.parametrize("statement", ["SET", "ALTER SYSTEM"])
def test_a_misspelt_setting_is_not_set(statement: str) -> None:
    engine, session = Engine(), Session()
    with pytest.raises(SqlError, match=r"unknown setting 'auto\.ofset\.reset'") as caught:
        engine.execute(f"{statement} 'auto.ofset.reset'='earliest';", session)
    assert caught.value.hint == "Did you mean auto.offset.reset?"
    assert rows(engine, "SHOW PROPERTIES;", session) == []


@pytest.mark.parametrize("statement", ["SET", "ALTER SYSTEM"])
@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("ksql.streams.num.stream.threads", "-1", "num.stream.threads must be a whole number of 0 or more, found '-1'"),
        ("num.stream.threads", "many", "num.stream.threads must be a whole number of 0 or more, found 'many'"),
        ("ksql.streams.consumer.max.poll.interval.ms", "x", "must be a whole number of 1 or more, found 'x'"),
        ("ksql.fail.on.deserialization.error", "maybe", "must be true or false, found 'maybe'"),
        ("ksql.streams.application.id", "mine", "ksql.streams.application.id cannot be set"),
        ("bootstrap.servers", "other:9092", "bootstrap.servers cannot be set"),
        ("ksql.streams.state.dir", "/elsewhere", "ksql.streams.state.dir is fixed when a database is opened"),
        ("ksql.service.id", "other", "ksql.service.id is fixed when a database is opened"),
    ],
)
def test_what_no_query_could_start_with_is_not_set(statement: str, name: str, value: str, message: str) -> None:
    engine, session = Engine(), Session()
    with pytest.raises(SqlError, match=message) as caught:
        engine.execute(f"{statement} '{name}'='{value}';", session)
    assert caught.value.place is not None
    assert rows(engine, "SHOW PROPERTIES;", session) == []


def test_settings_without_effect_are_kept() -> None:
    names = (
        "ksql.new.query.planner.enabled",
        "ksql.query.push.v2.enabled",
        "auto.commit.interval.ms",
        "ksql.streams.enable.auto.commit",
        "ksql.functions.loud.volume",
    )
    engine, session = Engine(), Session()
    engine.execute(" ".join(f"SET '{name}'='true';" for name in names), session)
    assert set(session.settings) == set(names)


@pytest.mark.parametrize("statement", ["SET", "ALTER SYSTEM"])
@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("mine", "DEFINE"),
        ("ksql.mine", "DEFINE"),
        ("ksql.streams.mine", "DEFINE"),
        ("ksql.query.pull.table.scan", "Did you mean ksql.query.pull.table.scan.enabled?"),
        ("ksql.persistence.prefix", "Did you mean ksql.persistent.prefix?"),
    ],
)
def test_a_setting_that_nobody_knows_is_not_set(statement: str, name: str, hint: str) -> None:
    engine, session = Engine(), Session()
    with pytest.raises(SqlError, match=f"unknown setting '{name}'") as caught:
        engine.execute(f"{statement} '{name}'='x';", session)
    assert hint in str(caught.value.hint)
    assert rows(engine, "SHOW PROPERTIES;", session) == []


def test_a_variable_is_known_from_its_definition_on() -> None:
    engine, session = Engine(), Session()
    engine.execute("DEFINE there = 'pages'; " + PAGES.replace("'pages'", "'${there}'"), session)
    assert engine.catalog.sources["PAGES"].topic == "pages"
    assert rows(engine, "SHOW VARIABLES;", session) == [("THERE", "pages")]
    engine.execute("UNDEFINE there;", session)
    with pytest.raises(SqlError, match="no variable"):
        engine.execute("UNDEFINE there;", session)


def test_a_text_that_is_refused_leaves_the_session_as_it_was() -> None:
    session = Session()
    with pytest.raises(SqlError):
        Engine().execute("SET 'auto.offset.reset'='latest'; DEFINE c='d'; DROP STREAM nothing;", session)
    assert session == Session()


def test_sources_queries_and_topics_are_listed() -> None:
    engine = Engine(KnownTopics(pages=3, _confluent_x=1))
    engine.execute(f"{PAGES} {COUNTS}")
    engine.execute("PAUSE CTAS_COUNTS_0;")
    assert rows(engine, "SHOW STREAMS;") == [("PAGES", "pages", "KAFKA", "JSON", False)]
    assert rows(engine, "LIST TABLES;") == [("COUNTS", "COUNTS", "KAFKA", "JSON", True)]
    assert rows(engine, "SHOW TOPICS;") == [("COUNTS", 3), ("pages", 3)]
    assert rows(engine, "SHOW ALL TOPICS;") == [("COUNTS", 3), ("_confluent_x", 1), ("pages", 3)]
    assert rows(engine, "SHOW QUERIES;") == [("CTAS_COUNTS_0", "PERSISTENT", "PAUSED", "COUNTS", "COUNTS", COUNTS)]
    engine.execute("CREATE TYPE place AS STRUCT<city STRING>;")
    assert rows(engine, "SHOW TYPES;") == [("PLACE", "STRUCT<CITY STRING>")]
    assert ("ABS", "scalar") in rows(engine, "SHOW FUNCTIONS;")


def test_a_source_is_described() -> None:
    engine = Engine()
    engine.execute(f"{PAGES} {COUNTS}")
    assert rows(engine, "DESCRIBE pages;") == [("ID", "INTEGER (key)"), ("NAME", "STRING")]
    columns, facts, queries = answered(engine, "DESCRIBE counts EXTENDED;")
    assert columns.rows == (
        ("ID", "INTEGER (primary key)"),
        ("WINDOWSTART", "BIGINT (window bound)"),
        ("WINDOWEND", "BIGINT (window bound)"),
        ("N", "BIGINT"),
    )
    assert dict(facts.rows)["Windows"] == "TUMBLING of 3600000 ms"
    assert dict(facts.rows)["Kafka topic"] == "COUNTS (partitions: 3)"
    assert queries.rows == (("CTAS_COUNTS_0", "writes to COUNTS", COUNTS),)
    assert [table.title for table in answered(engine, "DESCRIBE STREAMS;")] == ["PAGES"]
    assert len(answered(engine, "SHOW TABLES EXTENDED;")) == 3
    with pytest.raises(SqlError, match="no stream or table NOTHING"):
        engine.execute("DESCRIBE nothing;")


def test_a_function_is_described_by_its_signatures() -> None:
    (table,) = answered(Engine(), "DESCRIBE FUNCTION abs;")
    assert table.title == "ABS, scalar"
    assert any("(INTEGER" in str(row[0]) for row in table.rows)


def test_a_query_is_explained_by_its_steps_and_its_topology_whether_it_runs_or_not() -> None:
    engine = Engine()
    engine.execute(PAGES)
    steps, topology = answered(engine, f"EXPLAIN {COUNTS}")
    assert [row[0].strip().partition(" ")[0] for row in steps.rows] == [
        "COUNTS",
        "Aggregate-Project",
        "Aggregate-Aggregate",
        "Aggregate-GroupBy",
        "Aggregate-Prepare",
        "KsqlTopic-Source",
    ]
    assert "Sub-topology: 0" in str(topology.rows[1])
    assert not engine.queries
    engine.execute(COUNTS)
    facts, running_steps, _ = answered(engine, "EXPLAIN CTAS_COUNTS_0;")
    assert dict(facts.rows)["Status"] == "RUNNING"
    assert running_steps == steps
    for wrong in ("EXPLAIN nothing;", f"EXPLAIN {PAGES.replace('pages (', 'others (')}"):
        with pytest.raises(SqlError):
            engine.execute(wrong)


@pytest.mark.parametrize(
    ("statement", "holds"),
    [
        ("ASSERT TOPIC pages TIMEOUT 0 SECONDS;", True),
        ("ASSERT TOPIC pages WITH (PARTITIONS=3) TIMEOUT 0 SECONDS;", True),
        ("ASSERT TOPIC pages WITH (PARTITIONS=4) TIMEOUT 0 SECONDS;", False),
        ("ASSERT TOPIC others TIMEOUT 0 SECONDS;", False),
        ("ASSERT NOT EXISTS TOPIC others TIMEOUT 0 SECONDS;", True),
        ("ASSERT NOT EXISTS TOPIC pages TIMEOUT 0 SECONDS;", False),
        ("ASSERT SCHEMA SUBJECT 'pages-value' TIMEOUT 0 SECONDS;", True),
        ("ASSERT SCHEMA SUBJECT 'pages-value' ID 1 TIMEOUT 0 SECONDS;", True),
        ("ASSERT SCHEMA ID 2 TIMEOUT 0 SECONDS;", False),
        ("ASSERT NOT EXISTS SCHEMA SUBJECT 'pages-key' TIMEOUT 0 SECONDS;", True),
    ],
)
def test_what_is_asserted_holds_or_is_an_error(statement: str, holds: bool) -> None:
    registry = InMemorySchemaRegistry()
    registry.register("pages-value", Schema('"long"'))
    engine = Engine(registry=registry)
    if holds:
        assert engine.execute(statement)[0].message
    else:
        with pytest.raises(SqlError) as raised:
            engine.execute(statement)
        assert raised.value.code == "assert.failed"


@pytest.mark.parametrize(
    ("statement", "marked", "hint"),
    [
        ("CREATE STREAM x (a INTT) WITH (kafka_topic='pages', format='JSON');", "INTT", "Did you mean INT?"),
        ("ALTER STREAM pages ADD COLUMN b INTT;", "INTT", "Did you mean INT?"),
        ("CREATE TABLE x AS SELECT name FROM pages GROUP BY name;", "name", "Select one, or leave GROUP BY out."),
    ],
)
def test_a_mistake_is_underlined(statement: str, marked: str, hint: str) -> None:
    engine = Engine()
    engine.execute(PAGES)
    with pytest.raises(SqlError) as caught:
        engine.execute(statement)
    line, marks = str(caught.value.fragment).splitlines()
    assert line[marks.index("^") : marks.rindex("^") + 1] == marked
    assert caught.value.offset == statement.rindex(marked)
    assert hint in str(caught.value.hint)


def test_one_column_is_told_in_the_singular() -> None:
    engine = Engine()
    engine.execute(PAGES)
    with pytest.raises(SqlError, match="1 column cannot take 3 values"):
        engine.execute("INSERT INTO pages (id) VALUES (1, 2, 3);")
