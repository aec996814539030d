"""Statements around queries: sinks, INSERT INTO, SOURCE, OR REPLACE, ALTER, DROP, types."""

from __future__ import annotations

import pytest

from headrace.serde.registry import InMemorySchemaRegistry, Schema
from headrace.sql.planning import plans
from headrace.sql.planning import steps as s
from headrace.sql.text.format import shown
from tests.unit.sql.planning.session import Session, outline, step_of


def test_a_sink_takes_topic_and_formats_from_its_properties_or_from_its_first_source() -> None:
    session = Session(settings={"ksql.output.topic.name.prefix": "pre-"})
    session.run("CREATE STREAM o AS SELECT * FROM s;")
    session.run("CREATE STREAM p WITH (KAFKA_TOPIC='own', VALUE_FORMAT='AVRO', KEY_FORMAT='AVRO') AS SELECT * FROM s;")
    first, second = session.catalog.sources["O"], session.catalog.sources["P"]
    assert (first.topic, first.key_format.format.name, first.value_format.format.name) == ("pre-O", "KAFKA", "JSON")
    assert (second.topic, second.value_format.format.name) == ("own", "AVRO")
    assert second.key_format.properties == {"fullSchemaName": "io.confluent.ksql.avro_schemas.PKey"}


def test_properties_of_a_format_are_inherited_with_it() -> None:
    session = Session(
        "CREATE STREAM s (k INT KEY, a INT, b INT)"
        " WITH (KAFKA_TOPIC='s', VALUE_FORMAT='DELIMITED', VALUE_DELIMITER='TAB');"
    )
    session.run("CREATE STREAM o AS SELECT * FROM s; CREATE STREAM p WITH (VALUE_FORMAT='JSON') AS SELECT * FROM s;")
    assert session.catalog.sources["O"].value_format.properties == {"delimiter": "TAB"}
    assert session.catalog.sources["P"].value_format.properties == {}


def test_a_sink_may_take_its_times_from_a_column() -> None:
    query = Session().query("CREATE STREAM o WITH (TIMESTAMP='amount') AS SELECT * FROM s;")
    assert isinstance(query.physical_plan, s.StreamSink)
    assert query.physical_plan.timestamp_column is not None
    assert query.physical_plan.timestamp_column.name == "AMOUNT"
    assert Session().refused("CREATE STREAM o WITH (TIMESTAMP='name') AS SELECT * FROM s;").code == (
        "type.timestamp-column"
    )


def test_rows_are_inserted_into_a_stream_with_the_same_columns() -> None:
    session = Session()
    session.run("CREATE STREAM o AS SELECT id, name FROM s;")
    query = session.query("INSERT INTO o SELECT id, name FROM r;")
    assert (query.query_id, query.sink, outline(query.physical_plan)[0]) == ("INSERTQUERY_1", "O", "StreamSink O")
    assert session.query("INSERT INTO o WITH (QUERY_ID='mine') SELECT id, name FROM r;").query_id == "MINE"


def test_a_literal_takes_the_digits_of_a_decimal_column() -> None:
    session = Session("CREATE STREAM d (a DECIMAL(3, 2), b DECIMAL(3, 2)) WITH (KAFKA_TOPIC='d', VALUE_FORMAT='JSON');")
    session.run("CREATE STREAM s (v INT) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');")
    select = step_of(session.query("INSERT INTO d SELECT 1 AS a, 2.5 AS b FROM s;"), s.StreamSelect)
    assert [shown(each.expression) for each in select.select_expressions] == ["1.00", "2.50"]


@pytest.mark.parametrize(
    ("statement", "code"),
    [
        ("INSERT INTO nope SELECT * FROM s", "name.source"),
        ("INSERT INTO t SELECT * FROM t", "insert.target"),
        ("INSERT INTO r SELECT * FROM s", "insert.schema"),
        ("INSERT INTO r SELECT id, name, CAST(length AS BIGINT) AS length FROM r", "insert.schema"),
        ("INSERT INTO fixed SELECT id, name FROM s", "insert.target"),
        ("INSERT INTO headers SELECT id, name FROM s", "insert.target"),
        ("INSERT INTO r WITH (QUERY_ID='CSAS_1') SELECT * FROM r", "insert.query-id"),
        ("INSERT INTO r WITH (QUERY_ID='a b') SELECT * FROM r", "insert.query-id"),
    ],
)
def test_what_cannot_be_inserted_is_refused(statement: str, code: str) -> None:
    session = Session()
    session.run(
        "CREATE SOURCE STREAM fixed (id INT KEY, name STRING) WITH (KAFKA_TOPIC='f', VALUE_FORMAT='JSON');"
        "CREATE STREAM headers (id INT KEY, name STRING, h BYTES HEADER('h'))"
        " WITH (KAFKA_TOPIC='h', VALUE_FORMAT='JSON');"
    )
    assert session.refused(f"{statement};").code == code


def test_a_source_table_is_read_into_a_store() -> None:
    session = Session()
    query = session.query(
        "CREATE SOURCE TABLE o (id INT PRIMARY KEY, name STRING) WITH (KAFKA_TOPIC='o', VALUE_FORMAT='JSON');"
    )
    assert (query.query_id, query.sink) == ("CST_O_0", None)
    assert outline(query.physical_plan) == ["TableSelect Project", "TableSource KsqlTopic/Source"]
    assert session.catalog.sources["O"].is_read_only


def test_a_replaced_query_keeps_its_id_and_may_filter_and_add_columns() -> None:
    session = Session()
    first = session.query("CREATE STREAM o AS SELECT id, name FROM s;")
    second = session.query("CREATE OR REPLACE STREAM o AS SELECT id, name, amount FROM s WHERE amount > 1;")
    assert second.query_id == first.query_id
    assert len(session.queries) == 1
    assert str(session.catalog.sources["O"].schema) == "`ID` INTEGER KEY, `NAME` STRING, `AMOUNT` BIGINT"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("STREAM o AS SELECT id, name FROM s", "STREAM o AS SELECT id, amount FROM s", "changed, missing or reordered"),
        ("STREAM o AS SELECT id, name FROM s", "STREAM o AS SELECT id AS k, name FROM s", "its key columns must stay"),
        ("STREAM o AS SELECT id, name FROM s", "STREAM o AS SELECT id, name FROM r", "the step KsqlTopic-Source"),
        (
            "STREAM o AS SELECT id, name FROM s",
            "STREAM o WITH (KAFKA_TOPIC='p') AS SELECT id, name FROM s",
            "its topic cannot change",
        ),
        (
            "STREAM o AS SELECT id, name FROM s",
            "STREAM o WITH (VALUE_FORMAT='DELIMITED', VALUE_DELIMITER='|') AS SELECT id, name FROM s",
            "its value format cannot change from JSON to DELIMITED (delimiter=|)",
        ),
        (
            "TABLE o AS SELECT id, COUNT(*) AS n FROM s WINDOW TUMBLING (SIZE 10 SECONDS) GROUP BY id",
            "TABLE o AS SELECT id, COUNT(*) AS n FROM s GROUP BY id",
            "its windows cannot change from TUMBLING of 10000 ms, EMIT CHANGES to none",
        ),
        (
            "TABLE o AS SELECT id, COUNT(*) AS n FROM s GROUP BY id",
            "TABLE o AS SELECT id, COUNT(name) AS n FROM s GROUP BY id",
            "the step Aggregate-Aggregate must keep its",
        ),
        (
            "STREAM o AS SELECT s.id, other FROM s JOIN t ON s.id = t.id",
            "STREAM o AS SELECT s.id, other, t.name FROM s JOIN t ON s.id = t.id",
            "queries with the step Join cannot be replaced",
        ),
    ],
)
def test_what_would_lose_state_or_readers_is_not_replaced(old: str, new: str, message: str) -> None:
    session = Session()
    session.run(f"CREATE {old};")
    error = session.refused(f"CREATE OR REPLACE {new};")
    assert error.code == "ddl.replace"
    assert message in error.message


def test_a_statement_that_finds_what_it_would_make_does_nothing_if_it_says_so() -> None:
    session = Session()
    assert session.refused("CREATE STREAM s AS SELECT * FROM r;").code == "ddl.exists"
    plan = session.run("CREATE STREAM IF NOT EXISTS s AS SELECT * FROM r;")
    assert (plan.ddl_command, plan.query_plan) == (None, None)
    again = "CREATE STREAM IF NOT EXISTS s (a INT) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');"
    assert session.run(again).ddl_command is None


def test_columns_are_added_to_a_declared_source() -> None:
    session = Session()
    session.run("INSERT INTO r WITH (QUERY_ID='mine') SELECT * FROM r;")
    session.run("ALTER STREAM r ADD COLUMN more INT, ADD COLUMN most STRING;")
    assert str(session.catalog.sources["R"].schema).endswith("`LENGTH` INTEGER, `MORE` INTEGER, `MOST` STRING")
    session.run("CREATE STREAM o AS SELECT * FROM r;")
    for statement, code in (
        ("ALTER TABLE r ADD COLUMN x INT", "ddl.kind"),
        ("ALTER STREAM r ADD COLUMN name INT", "name.duplicate"),
        ("ALTER STREAM o ADD COLUMN x INT", "ddl.alter"),
        ("ALTER STREAM nope ADD COLUMN x INT", "name.source"),
    ):
        assert session.refused(f"{statement};").code == code


def test_what_is_read_or_written_is_not_dropped() -> None:
    session = Session()
    session.run("CREATE STREAM o AS SELECT id, name FROM s; INSERT INTO o SELECT id, name FROM r;")
    assert "CSAS_O_0" in session.refused("DROP STREAM s;").message
    assert "INSERTQUERY_1" in session.refused("DROP STREAM o;").message
    assert session.refused("DROP STREAM t;").code == "ddl.kind"
    assert session.refused("DROP STREAM nope;").code == "name.source"
    assert session.run("DROP STREAM IF EXISTS nope;").ddl_command is None
    assert session.run("DROP TABLE t;").ddl_command == plans.DropSource("T")
    assert "T" not in session.catalog.sources


def test_types_have_names_that_can_be_used_and_dropped() -> None:
    session = Session("CREATE TYPE a AS STRUCT<x INT>; CREATE TYPE b AS ARRAY<a>;")
    session.run("CREATE STREAM s (v b) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');")
    assert str(session.catalog.sources["S"].schema) == "`V` ARRAY<STRUCT<`X` INTEGER>>"
    assert session.refused("CREATE TYPE a AS INT;").code == "ddl.exists"
    assert session.run("CREATE TYPE IF NOT EXISTS a AS INT;").ddl_command is None
    session.run("DROP TYPE a;")
    assert session.refused("DROP TYPE a;").code == "name.type"
    assert session.run("DROP TYPE IF EXISTS a;").ddl_command is None


def test_columns_that_a_statement_leaves_out_come_from_the_registry() -> None:
    registry = InMemorySchemaRegistry()
    text = '{"type": "record", "name": "R", "fields": [{"name": "a", "type": "int"}, {"name": "b", "type": "string"}]}'
    registry.register("s-value", Schema(text))
    session = Session("", registry=registry)
    session.run("CREATE STREAM s (k INT KEY) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='AVRO');")
    assert str(session.catalog.sources["S"].schema) == "`K` INTEGER KEY, `A` INTEGER, `B` STRING"
    error = session.refused("CREATE STREAM o WITH (VALUE_SCHEMA_ID=1) AS SELECT k, b FROM s;")
    assert error.code == "format.schema-id"
    session.run("CREATE STREAM o WITH (VALUE_SCHEMA_ID=1) AS SELECT k, a AS `a`, b AS `b` FROM s;")
    assert session.catalog.sources["O"].value_format.properties == {"schemaId": "1", "fullSchemaName": "R"}
