"""The engine: what statements do to the catalog, to topics and to running queries."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.serde.registry import InMemorySchemaRegistry
from headrace.sql.engine.engine import SqlEngine
from headrace.sql.errors import SqlError
from tests.ksql.memory import CollectedQueries, MemoryTopics

PAGES = "CREATE STREAM pages (id INT KEY, name STRING) WITH (KAFKA_TOPIC='pages', VALUE_FORMAT='JSON');"


class KnownTopics(MemoryTopics):
    """Only topics that were made are there."""

    def __init__(self, **counts: int) -> None:
        super().__init__()
        self.counts.update(counts)

    def partitions(self, topic: str) -> int | None:
        return self.counts.get(topic)

    def delete(self, topic: str) -> None:
        super().delete(topic)
        self.counts.pop(topic, None)


class Engine(SqlEngine):
    """An engine over topics in memory."""

    def __init__(self, topics: MemoryTopics | None = None, **options: Any) -> None:
        self.topics = topics or KnownTopics(pages=3)
        self.running = CollectedQueries()
        super().__init__(self.topics, self.running, **options)


def error_of(engine: SqlEngine, text: str) -> SqlError:
    with pytest.raises(SqlError) as raised:
        engine.execute(text)
    return raised.value


def test_a_query_is_started_under_ksqldbs_name_and_its_topic_has_the_partitions_of_its_source() -> None:
    engine = Engine()
    done = engine.execute(f"{PAGES} CREATE STREAM copy AS SELECT * FROM pages;")
    assert [each.message for each in done] == ["Stream PAGES created", "Stream COPY created, filled by CSAS_COPY_0"]
    assert list(engine.running.started) == ["CSAS_COPY_0"]
    assert engine.topics.counts["COPY"] == 3


def test_a_text_is_executed_whole_or_not_at_all() -> None:
    engine = Engine()
    assert error_of(engine, f"{PAGES} CREATE STREAM copy AS SELECT nothing FROM pages;").code == "name.column"
    assert not engine.catalog.sources
    assert not engine.running.started
    assert "COPY" not in engine.topics.counts


def test_trying_a_text_uses_up_no_numbers() -> None:
    engine = Engine()
    engine.execute(f"{PAGES} CREATE STREAM one AS SELECT * FROM pages; CREATE STREAM two AS SELECT * FROM one;")
    assert list(engine.queries) == ["CSAS_ONE_0", "CSAS_TWO_1"]


def test_a_topic_that_is_not_there_must_be_asked_for() -> None:
    engine = Engine(KnownTopics())
    assert error_of(engine, PAGES).code == "ddl.topic-missing"
    engine.execute(PAGES.replace("WITH (", "WITH (PARTITIONS=2, "))
    assert engine.topics.counts == {"pages": 2}


def test_a_topic_that_is_there_has_the_partitions_it_has() -> None:
    error = error_of(Engine(), PAGES.replace("WITH (", "WITH (PARTITIONS=2, "))
    assert (error.code, error.message) == ("ddl.topic-partitions", "the topic pages has 3 partitions, not 2")


def test_dropping_a_source_stops_the_query_that_fills_it() -> None:
    engine = Engine()
    engine.execute(f"{PAGES} CREATE STREAM copy AS SELECT * FROM pages;")
    engine.execute("DROP STREAM copy;")
    assert not engine.running.started
    assert list(engine.catalog.sources) == ["PAGES"]


def test_queries_are_terminated_by_their_names_or_all_at_once() -> None:
    engine = Engine()
    engine.execute(f"{PAGES} CREATE STREAM one AS SELECT * FROM pages; CREATE STREAM two AS SELECT * FROM pages;")
    engine.execute("TERMINATE csas_one_0;")
    assert list(engine.queries) == ["CSAS_TWO_1"]
    assert error_of(engine, "TERMINATE csas_one_0;").code == "name.query"
    engine.execute("TERMINATE ALL;")
    assert not engine.queries


def test_names_of_types_are_known_until_they_are_dropped() -> None:
    engine = Engine()
    engine.execute("CREATE TYPE place AS STRUCT<city STRING>;")
    engine.execute(PAGES.replace("name STRING", "location place"))
    engine.execute("DROP TYPE place;")
    assert str(engine.catalog.sources["PAGES"].schema) == "`ID` INTEGER KEY, `LOCATION` STRUCT<`CITY` STRING>"
    assert error_of(engine, "DROP TYPE place;").code == "name.type"


def test_schemas_of_new_sources_are_registered_unless_they_are_known() -> None:
    registry = InMemorySchemaRegistry()
    engine = Engine(registry=registry)
    engine.execute(PAGES.replace("JSON", "AVRO"))
    engine.execute("CREATE STREAM copy AS SELECT id, name, 1 AS one FROM pages;")
    assert [subject for subject in ("pages-value", "COPY-value") if registry.schema_by_version(subject, 1)]


def test_where_an_error_is_is_shown_in_the_statement() -> None:
    error = error_of(Engine(), f"{PAGES}\nCREATE STREAM copy AS SELECT nothing FROM pages;")
    assert (str(error.place), "SELECT nothing" in str(error.fragment)) == ("2:30", True)


def test_schemas_are_registered_once_the_whole_text_is_right_and_statements_before_it_count() -> None:
    registry = InMemorySchemaRegistry()
    engine = Engine(registry=registry)
    text = (
        "CREATE STREAM a (k INT KEY, v INT) WITH (KAFKA_TOPIC='pages', FORMAT='AVRO');"
        "INSERT INTO a VALUES (1, 2); CREATE STREAM b AS SELECT * FROM a;"
        "CREATE STREAM c WITH (KAFKA_TOPIC='B', FORMAT='AVRO');"
    )
    assert error_of(engine, text + "CREATE STREAM d AS SELECT nothing FROM c;").code == "name.column"
    assert not registry.latest("pages-key")
    engine.execute(text)
    assert registry.subjects == ("pages-key", "pages-value", "B-key", "B-value")
    assert str(engine.catalog.source("C").schema) == "`ROWKEY` INTEGER KEY, `V` INTEGER"


def test_a_row_for_a_table_that_a_query_makes_is_told_where_it_ends() -> None:
    engine = Engine()
    engine.execute(f"{PAGES} CREATE TABLE n AS SELECT name, COUNT(*) AS n FROM pages GROUP BY name;")
    (done,) = engine.execute("INSERT INTO n VALUES ('home', 5);")
    assert done.message.startswith("1 row into the topic N, and no further: the table N is what CTAS_N_0 computes.")
    engine.execute("CREATE STREAM copy AS SELECT * FROM pages;")
    assert engine.execute("INSERT INTO copy VALUES (1, 'home');")[0].message == "1 row into COPY"


@pytest.mark.parametrize(
    ("properties", "code", "said"),
    [
        ("KAFKA_TOPIC='a b', PARTITIONS=1", "ddl.topic", "the topic name 'a b' is illegal"),
        ("KAFKA_TOPIC='new', PARTITIONS=0", "ddl.topic-partitions", "the topic new cannot have 0 partitions"),
    ],
)
def test_a_topic_that_no_broker_makes_is_found_before_anything_is_executed(
    properties: str, code: str, said: str
) -> None:
    engine = Engine()
    error = error_of(engine, f"{PAGES} CREATE STREAM s (id INT KEY) WITH (VALUE_FORMAT='JSON', {properties});")
    assert (error.code, error.message.startswith(said)) == (code, True)
    assert not engine.catalog.sources


def test_an_insert_takes_one_row() -> None:
    error = error_of(Engine(), f"{PAGES} INSERT INTO pages VALUES (1, 'a'), (2, 'b');")
    assert error.hint == "INSERT INTO takes one row: write a statement for each."


def test_a_query_that_reads_what_it_writes_is_told() -> None:
    engine = Engine()
    engine.execute(f"{PAGES} CREATE STREAM copy AS SELECT * FROM pages;")
    (direct,) = engine.execute("INSERT INTO copy SELECT * FROM copy;")
    (around,) = engine.execute("INSERT INTO pages SELECT * FROM copy;")
    (plain,) = engine.execute("CREATE STREAM other AS SELECT * FROM copy;")
    (same_topic,) = engine.execute("CREATE STREAM more WITH (KAFKA_TOPIC='OTHER') AS SELECT * FROM other;")

    for done in (direct, around, same_topic):
        assert "reads what it writes" in done.message
        assert done.plan is not None and done.plan.query_plan is not None
        assert f"TERMINATE {done.plan.query_plan.query_id};" in done.message
    assert "reads what it writes" not in plain.message


def test_a_query_that_runs_while_somebody_looks_can_be_explained() -> None:
    engine = Engine()
    engine.execute(PAGES)
    (done,) = engine.execute("EXPLAIN SELECT name, COUNT(*) FROM pages GROUP BY name EMIT CHANGES;")
    assert [table.title for table in done.tables] == ["Steps", "Topology"]
    error = error_of(engine, "EXPLAIN SELECT * FROM pages;")
    assert (error.code, error.hint) == ("explain.nothing", "With EMIT CHANGES it would run one.")


@pytest.mark.parametrize(
    ("length", "query"), [(210, "id, COUNT(*) AS n FROM pages GROUP BY id"), (230, "* FROM pages")]
)
def test_a_query_whose_topics_would_have_too_long_names_is_not_made(length: int, query: str) -> None:
    engine = Engine()
    kind = "TABLE" if "GROUP" in query else "STREAM"
    engine.execute(f"{PAGES} CREATE {kind} {'q' * 140} AS SELECT {query};")
    with pytest.raises(SqlError, match="its name is part of others, and these would be too long") as caught:
        engine.execute(f"CREATE {kind} {'q' * length} AS SELECT {query};")
    assert caught.value.code == "ddl.name"
    assert len(engine.queries) == 1
