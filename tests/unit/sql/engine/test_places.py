"""Where mistakes are: each is underlined where it stands, at the latest where the name is of what it is about."""

from __future__ import annotations

import pytest

from headrace.sql.errors import SqlError
from headrace.sql.tree.expressions import Column
from tests.unit.sql.engine.test_engine import Engine, KnownTopics, error_of

SOURCES = """
CREATE STREAM s (id INT KEY, a INT, b STRING) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');
CREATE STREAM r (id INT KEY, c INT) WITH (KAFKA_TOPIC='r', VALUE_FORMAT='JSON');
CREATE TABLE t (id INT PRIMARY KEY, c INT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON');
CREATE STREAM k (id INT KEY, c INT) WITH (KAFKA_TOPIC='r', VALUE_FORMAT='KAFKA');
CREATE STREAM w (id INT KEY, c INT) WITH (KAFKA_TOPIC='r', VALUE_FORMAT='JSON', WINDOW_TYPE='SESSION');
CREATE TABLE n AS SELECT a, COUNT(*) AS n FROM s GROUP BY a;
"""


def engine() -> Engine:
    found = Engine(KnownTopics(s=1, r=2, t=2))
    found.execute(SOURCES)
    return found


def marked(error: SqlError) -> str:
    """The part of the line that is underlined."""
    line, marks = str(error.fragment).splitlines()
    return line[marks.index("^") : len(marks)]


def test_what_the_planner_makes_up_stands_nowhere() -> None:
    error = SqlError("name.column", "there is no such column", offset=Column("MADE_UP").at)

    error.locate("SELECT a FROM s;")

    assert (error.offset, marked(error)) == (None, "SELECT a FROM s;")


@pytest.mark.parametrize(
    ("text", "code", "expected"),
    [
        ("CREATE STREAM x AS SELECT * FROM s LIMIT 3;", "pull.clause", "LIMIT"),
        ("CREATE STREAM x AS SELECT * FROM s WINDOW TUMBLING (SIZE 1 DAY);", "agg.window-needs-group", "TUMBLING"),
        ("CREATE STREAM x AS SELECT * FROM s EMIT FINAL;", "agg.emit-final", "EMIT"),
        ("CREATE STREAM x AS SELECT a FROM s;", "select.key-missing", "a"),
        ("CREATE STREAM x AS SELECT id FROM s;", "select.no-values", "id"),
        ("CREATE STREAM x AS SELECT a, id, id AS k FROM s;", "select.key-twice", "id"),
        ("CREATE TABLE x AS SELECT a, COUNT(*), a AS k FROM s GROUP BY a;", "select.key-twice", "a"),
        ("CREATE TABLE x AS SELECT COUNT(*) FROM s GROUP BY a;", "select.key-missing", "COUNT"),
        ("CREATE TABLE x AS SELECT a AS n, COUNT(*) AS n FROM s GROUP BY a;", "name.duplicate", "COUNT"),
        ("CREATE STREAM x AS SELECT * FROM s JOIN r ON s.id = r.id;", "join.within", "s.id"),
        ("CREATE STREAM x AS SELECT * FROM s JOIN t WITHIN 1 DAY ON s.id = t.id;", "join.within", "s.id"),
        ("CREATE STREAM x AS SELECT * FROM s FULL JOIN t ON s.id = t.id;", "join.kind", "s.id"),
        ("CREATE STREAM x AS SELECT * FROM s JOIN t ON s.id = t.c;", "join.key", "s.id"),
        ("CREATE STREAM x AS SELECT * FROM s JOIN t ON a = t.id;", "join.partitions", "a"),
        ("CREATE STREAM x AS SELECT * FROM s JOIN s ON s.id = s.id;", "join.sources", "s"),
        ("CREATE STREAM x WITH (VALUE_FORMAT='JASON') AS SELECT * FROM s;", "format.unknown", "'JASON'"),
        ("CREATE STREAM x WITH (FORMAT='JSON', KEY_FORMAT='JSON') AS SELECT * FROM s;", "format.both", "'JSON'"),
        ("CREATE STREAM x WITH (COLOUR='red') AS SELECT * FROM s;", "ddl.property", "'red'"),
        ("CREATE STREAM x WITH (PARTITIONS='many') AS SELECT * FROM s;", "ddl.property", "'many'"),
        ("CREATE STREAM x WITH (TIMESTAMP='z') AS SELECT * FROM s;", "name.column", "'z'"),
        ("INSERT INTO s VALUES (1, 3.7, 'x');", "insert.values", "3.7"),
        (
            "CREATE STREAM x WITH (TIMESTAMP='b', TIMESTAMP_FORMAT='yyyy{') AS SELECT * FROM s;",
            "type.timestamp-column",
            "'yyyy{'",
        ),
        ("CREATE STREAM x AS SELECT * FROM s WHERE b = NULL;", "type.compare", "NULL"),
        ("DROP TABLE s;", "ddl.kind", "s"),
        ("CREATE STREAM s (a INT)\n WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');", "ddl.exists", "s"),
        ("TERMINATE nothing;", "name.query", "nothing"),
        ("DESCRIBE nothing;", "name.source", "nothing"),
        ("DESCRIBE FUNCTION nothing;", "name.function", "nothing"),
        ("EXPLAIN nothing;", "name.query", "nothing"),
        ("UNSET 'nothing';", "session.setting", "'nothing'"),
        ("SET 'auto.offset.reset'='never';", "session.setting", "'auto.offset.reset'"),
        ("CREATE STREAM `a b` (a INT) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');", "ddl.name", "`a b`"),
        ("CREATE STREAM x (a INT);", "ddl.topic", "x"),
        ("CREATE TABLE x (a INT) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');", "ddl.table-needs-key", "x"),
        ("CREATE STREAM x (a INT) WITH (KAFKA_TOPIC='no', VALUE_FORMAT='JSON');", "ddl.topic-missing", "'no'"),
        (
            "CREATE STREAM x (a INT) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON', PARTITIONS=7);",
            "ddl.topic-partitions",
            "7",
        ),
        ("CREATE STREAM x (a ARRAY<NO>) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');", "name.type", "NO"),
        (
            "CREATE STREAM x (a STRUCT<b INT, B INT>) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');",
            "name.duplicate",
            "B",
        ),
        ("CREATE STREAM x (a INT, b INT) WITH (KAFKA_TOPIC='s', FORMAT='KAFKA');", "format.single-column", "'KAFKA'"),
        ("CREATE STREAM x WITH (VALUE_FORMAT='KAFKA') AS SELECT * FROM s;", "format.single-column", "'KAFKA'"),
        ("CREATE STREAM x WITH (VALUE_DELIMITER='|') AS SELECT * FROM s;", "format.delimiter", "'|'"),
        ("CREATE STREAM x WITH (KEY_SCHEMA_ID=3) AS SELECT * FROM s;", "format.property", "3"),
        ("CREATE STREAM x WITH (PARTITIONS=0) AS SELECT * FROM s;", "ddl.topic-partitions", "0"),
        ("CREATE STREAM x WITH (KAFKA_TOPIC='a b') AS SELECT * FROM s;", "ddl.topic", "'a b'"),
        ("CREATE STREAM x WITH (KEY_FORMAT='JSON') AS SELECT * FROM s PARTITION BY NULL;", "format.none", "'JSON'"),
        ("CREATE STREAM x AS SELECT id, a AS b, b FROM s;", "name.duplicate", "b"),
        ("CREATE STREAM x AS SELECT id, s.z FROM s;", "name.column", "s.z"),
        ("CREATE STREAM x AS SELECT id, STRUCT(f := 1)->g FROM s;", "name.field", "g"),
        ("CREATE STREAM x AS SELECT id, STRUCT(f := NULL) FROM s;", "type.constructor", "NULL"),
        ("CREATE STREAM x AS SELECT id, a FROM s PARTITION BY a, NULL;", "type.null", "NULL"),
        ("CREATE TABLE x AS SELECT id, a FROM s;", "ddl.result-kind", "x"),
        ("CREATE TABLE x AS SELECT id, COUNT(*) FROM k GROUP BY id;", "format.not-with", "k"),
        ("CREATE TABLE x AS SELECT id, COUNT(*) FROM w GROUP BY id;", "join.windows", "id"),
        (
            "CREATE TABLE x AS SELECT c, COUNT(*) FROM t WINDOW TUMBLING (SIZE 1 DAY) GROUP BY c;",
            "agg.window-on-table",
            "TUMBLING",
        ),
        ("SELECT a, COUNT(*) FROM s WINDOW TUMBLING (SIZE 0 DAYS) GROUP BY a EMIT CHANGES;", "agg.window", "0"),
        (
            "SELECT a, COUNT(*) FROM s WINDOW HOPPING (SIZE 1 DAYS, ADVANCE BY 9 DAYS) GROUP BY a EMIT CHANGES;",
            "agg.window",
            "9",
        ),
        (
            "SELECT a, COUNT(*) FROM s WINDOW TUMBLING (SIZE 1 DAY, GRACE PERIOD -2 DAYS) GROUP BY a EMIT CHANGES;",
            "agg.window",
            "-2",
        ),
        (
            "SELECT a, COUNT(*) FROM s WINDOW TUMBLING (SIZE 1 DAY, RETENTION 5 HOURS) GROUP BY a EMIT CHANGES;",
            "agg.window",
            "5",
        ),
        ("SELECT * FROM s JOIN r WITHIN -3 DAYS ON s.id = r.id EMIT CHANGES;", "join.within", "-3"),
        ("SELECT * FROM s JOIN r WITHIN 1 DAY GRACE PERIOD -2 DAYS ON s.id = r.id EMIT CHANGES;", "join.within", "-2"),
        ("INSERT INTO s (id, zz) VALUES (1, 2);", "name.column", "zz"),
        ("INSERT INTO s (id, a, ID) VALUES (1, 2, 3);", "name.duplicate", "ID"),
        ("INSERT INTO s (id, rowoffset) VALUES (1, 2);", "insert.target", "rowoffset"),
        ("INSERT INTO s (id, a) VALUES (1, 2, 'c');", "insert.values", "'c'"),
        ("INSERT INTO w VALUES (1, 2);", "insert.target", "w"),
        ("INSERT INTO r SELECT * FROM s;", "insert.schema", "r"),
        ("INSERT INTO r WITH (QUERY_ID='a b') SELECT id, a AS c FROM s;", "insert.query-id", "'a b'"),
        ("EXPLAIN SELECT * FROM n;", "explain.nothing", "EXPLAIN SELECT * FROM n;"),
    ],
)
def test_a_mistake_is_underlined(text: str, code: str, expected: str) -> None:
    error = error_of(engine(), f"SHOW QUERIES;\n {text}")
    assert (error.code, marked(error)) == (code, expected)
    assert error.place is not None
    assert error.place.line == 2
