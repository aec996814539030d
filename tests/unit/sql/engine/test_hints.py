"""What the hint of a mistake says can be done, and helps."""

from __future__ import annotations

import pytest

from tests.unit.sql.engine.test_engine import Engine, KnownTopics, error_of

SOURCES = """
CREATE STREAM s (id INT KEY, a INT, b STRING, c BOOLEAN, st STRUCT<f INT>) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');
CREATE STREAM d (k STRING KEY, a INT) WITH (KAFKA_TOPIC='d', VALUE_FORMAT='DELIMITED');
CREATE TABLE t (id INT PRIMARY KEY, c INT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON');
CREATE TABLE counts AS SELECT a, COUNT(*) AS n FROM s GROUP BY a;
CREATE STREAM copy AS SELECT * FROM s;
"""
DECLARED = "WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON')"


def engine() -> Engine:
    found = Engine(KnownTopics(s=1, d=1, t=1))
    found.execute(SOURCES)
    return found


@pytest.mark.parametrize(
    ("statement", "hint"),
    [
        (f"CREATE STREAM x (a INT KEY, m INT NOT NULL) {DECLARED};", "There is no NOT NULL"),
        (f"CREATE STREAM x (a INT KEY, m INT DEFAULT 0) {DECLARED};", "There is no DEFAULT"),
        (f"CREATE TABLE x (a INT, PRIMARY KEY (a)) {DECLARED};", "ID INT PRIMARY KEY"),
        ("CREATE STREAM x AS SELECT * FROM s WHERE a IN (SELECT id FROM t);", "No query is inside of another"),
        ("CREATE STREAM x AS SELECT * FROM s WHERE a = (SELECT id FROM t);", "No query is inside of another"),
        ("CREATE STREAM x AS SELECT * FROM (SELECT * FROM s);", "No query is inside of another"),
        ("CREATE TABLE x AS SELECT DISTINCT a FROM s;", "GROUP BY"),
        ("CREATE TABLE x AS SELECT a, COUNT(DISTINCT b) FROM s GROUP BY a;", "COUNT_DISTINCT"),
        ("CREATE STREAM x AS SELECT id, a, FROM s;", "a comma too many before FROM"),
        ("SELECT * FROM t LIMIT 5 OFFSET 1;", "skip the first rows where they are used"),
        ("CREATE STREAM x AS SELECT * FROM s WHERE b = \N{LEFT SINGLE QUOTATION MARK}x;", "Quotes are straight"),
        ("CREATE STREAM x AS SELECT id, UPPER(b) FROM s;", "Here it is UCASE."),
        ("CREATE STREAM x AS SELECT id, FILTER(ARRAY[b], t -> t = 'x') FROM s;", "t => ..."),
        ("CREATE STREAM x AS SELECT id, st.f FROM s;", "ST->..."),
        ("CREATE STREAM x AS SELECT id, TIMESTAMPADD(MONTH, 1, PARSE_DATE(b, 'y')) FROM s;", "Units of time are DAYS"),
        ("CREATE STREAM x AS SELECT id, TIMESTAMPADD(MONTHS, 1, PARSE_DATE(b, 'y')) FROM s;", "Units of time are DAYS"),
        ("TRUNCATE s;", "DROP ... DELETE TOPIC;"),
        ("help;", r"\help"),
        ("CREATE VIEW x AS SELECT * FROM s;", "CREATE TABLE ... AS SELECT"),
        ("CREATE INDEX x ON s (a);", "There is no INDEX"),
        ("CREATE CONNECTOR x WITH ('a'='b');", "SINK CONNECTOR"),
        ("ASSERT VALUES s (id, a) VALUES (1, 2);", "ASSERT VALUES is for ksqlDB's testing tool only"),
        ("ASSERT VALUES s (id, a) VALUES (1, 2);", "statements are ASSERT TOPIC and ASSERT SCHEMA. Compare rows"),
        ("ASSERT NULL VALUES t (id) KEY (1);", "ASSERT NULL VALUES is for ksqlDB's testing tool only"),
        ("ASSERT STREAM s (id INT KEY);", "DESCRIBE tells its columns"),
        ("ASSERT NOT EXISTS TABLE t;", "ASSERT TABLE is for ksqlDB's testing tool only"),
    ],
)
def test_what_other_dialects_have_is_told_by_what_there_is_here(statement: str, hint: str) -> None:
    error = error_of(engine(), statement)
    assert hint in str(error.hint)
    assert "Did you mean" not in str(error.hint)
    assert "back-ticks" not in str(error.hint)


@pytest.mark.parametrize(
    ("statement", "hint", "instead"),
    [
        (
            "CREATE TABLE x AS SELECT a, b, COUNT(*) AS n FROM s GROUP BY a, b;",
            "Give the key another format: WITH (KEY_FORMAT='JSON').",
            "CREATE TABLE x WITH (KEY_FORMAT='JSON') AS SELECT a, b, COUNT(*) AS n FROM s GROUP BY a, b;",
        ),
        (
            "CREATE TABLE x AS SELECT c, COUNT(*) AS n FROM s GROUP BY c;",
            "Give the key another format: WITH (KEY_FORMAT='JSON').",
            "CREATE TABLE x WITH (KEY_FORMAT='JSON') AS SELECT c, COUNT(*) AS n FROM s GROUP BY c;",
        ),
        (
            "CREATE STREAM x (a INT KEY, b INT KEY) WITH (KAFKA_TOPIC='s', FORMAT='KAFKA');",
            "Give the key another format: WITH (FORMAT='JSON').",
            "CREATE STREAM x (a INT KEY, b INT KEY) WITH (KAFKA_TOPIC='s', FORMAT='JSON');",
        ),
        (
            "CREATE TABLE x WITH (VALUE_FORMAT='JSON') AS SELECT k, COLLECT_LIST(a) AS n FROM d GROUP BY k;",
            "Inside of it a query has the formats of what it reads. Copy that first, and read the copy: "
            "CREATE ... WITH (FORMAT='JSON') AS SELECT * FROM ...;",
            "CREATE STREAM j WITH (FORMAT='JSON') AS SELECT * FROM d;"
            "CREATE TABLE x AS SELECT k, COLLECT_LIST(a) AS n FROM j GROUP BY k;",
        ),
    ],
)
def test_a_format_that_cannot_carry_the_columns(statement: str, hint: str, instead: str) -> None:
    error = error_of(engine(), statement)
    assert error.hint == hint
    assert "KSQL_" not in error.message
    engine().execute(instead)


@pytest.mark.parametrize(
    ("statement", "replaces"),
    [
        (f"CREATE STREAM t (id INT KEY) {DECLARED};", False),
        ("CREATE TABLE counts AS SELECT a, COUNT(*) AS n, SUM(id) AS m FROM s GROUP BY a;", False),
        ("CREATE STREAM copy AS SELECT * FROM s WHERE a > 3;", True),
    ],
)
def test_only_what_can_be_replaced_is_said_to_be(statement: str, replaces: bool) -> None:
    error = error_of(engine(), statement)
    assert (error.code, "OR REPLACE" in str(error.hint), "DROP TABLE" in str(error.hint)) == (
        "ddl.exists",
        replaces,
        not replaces,
    )
