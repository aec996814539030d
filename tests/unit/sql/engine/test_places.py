"""Where mistakes are: each is underlined where it stands, or the whole statement is."""

from __future__ import annotations

import pytest

from headrace.sql.errors import SqlError
from tests.unit.sql.engine.test_engine import Engine, KnownTopics, error_of

SOURCES = """
CREATE STREAM s (id INT KEY, a INT, b STRING) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');
CREATE STREAM r (id INT KEY, c INT) WITH (KAFKA_TOPIC='r', VALUE_FORMAT='JSON');
CREATE TABLE t (id INT PRIMARY KEY, c INT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON');
"""


def engine() -> Engine:
    found = Engine(KnownTopics(s=1, r=2, t=2))
    found.execute(SOURCES)
    return found


def marked(error: SqlError) -> str:
    """The part of the line that is underlined."""
    line, marks = str(error.fragment).splitlines()
    return line[marks.index("^") : len(marks)]


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
        ("CREATE STREAM x AS SELECT * FROM s JOIN r ON s.id = r.id;", "join.within", "s"),
        ("CREATE STREAM x AS SELECT * FROM s JOIN t WITHIN 1 DAY ON s.id = t.id;", "join.within", "s"),
        ("CREATE STREAM x AS SELECT * FROM s FULL JOIN t ON s.id = t.id;", "join.kind", "s"),
        ("CREATE STREAM x AS SELECT * FROM s JOIN t ON s.id = t.c;", "join.key", "s"),
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
        ("DROP TABLE s;", "ddl.kind", "DROP TABLE s;"),
        (
            "CREATE STREAM s (a INT)\n WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');",
            "ddl.exists",
            "CREATE STREAM s (a INT)",
        ),
        ("TERMINATE nothing;", "name.query", "TERMINATE nothing;"),
    ],
)
def test_a_mistake_is_underlined(text: str, code: str, expected: str) -> None:
    error = error_of(engine(), f"SHOW QUERIES;\n {text}")
    assert (error.code, marked(error)) == (code, expected)
    assert error.place is not None
    assert error.place.line == 2
