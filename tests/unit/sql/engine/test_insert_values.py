"""INSERT VALUES: what is written, and what is refused."""

from __future__ import annotations

import json

import pytest

from headrace.sql.errors import SqlError
from tests.unit.sql.engine.test_engine import Engine, KnownTopics, error_of

TYPED = """
CREATE STREAM typed (v BIGINT, id INT KEY, d DECIMAL(4, 2), a ARRAY<DOUBLE>, s STRUCT<x DOUBLE, y STRING>)
WITH (KAFKA_TOPIC='typed', VALUE_FORMAT='JSON');
"""


def engine() -> Engine:
    found = Engine(KnownTopics(typed=1, rows=1))
    found.execute(TYPED)
    return found


def written(into: Engine, text: str) -> tuple[bytes | None, object, int]:
    into.execute(text)
    record = into.topics.records["typed"][-1]
    return record.key, None if record.value is None else json.loads(record.value), record.timestamp


def test_columns_may_be_named_and_those_that_are_not_are_null() -> None:
    key, value, time = written(engine(), "INSERT INTO typed (id, rowtime, v) VALUES (7, 1234, 5);")
    assert (key, time) == ((7).to_bytes(4, "big"), 1234)
    assert value == {"V": 5, "D": None, "A": None, "S": None}


def test_without_names_the_key_comes_first_wherever_it_was_declared() -> None:
    key, value, _ = written(engine(), "INSERT INTO typed VALUES (7, 5, 1.5, ARRAY[1, 2], STRUCT(x := 2));")
    assert key == (7).to_bytes(4, "big")
    assert value == {"V": 5, "D": 1.5, "A": [1.0, 2.0], "S": {"X": 2.0, "Y": None}}


def test_a_key_that_is_not_given_is_null() -> None:
    assert written(engine(), "INSERT INTO typed (v) VALUES (1);")[0] is None


@pytest.mark.parametrize(
    ("statement", "code"),
    [
        ("INSERT INTO typed (id, v) VALUES (1);", "insert.values"),
        ("INSERT INTO typed (id, w) VALUES (1, 2);", "name.column"),
        ("INSERT INTO typed (id, v, v) VALUES (1, 2, 3);", "name.duplicate"),
        ("INSERT INTO typed (id, rowoffset) VALUES (1, 2);", "insert.target"),
        ("INSERT INTO typed (d) VALUES (123.456);", "insert.values"),
        ("INSERT INTO typed (v, rowtime) VALUES (1, -5);", "insert.values"),
        ("INSERT INTO typed (v) VALUES (CAST('x' AS INT));", "insert.values"),
        ("INSERT INTO typed (v) VALUES (v + 1);", "name.column"),
        ("INSERT INTO typed (v) VALUES (COUNT(1));", "agg.nested"),
        ("INSERT INTO typed (v) VALUES (EXPLODE(ARRAY[1]));", "agg.table-function"),
    ],
)
def test_what_does_not_fit_is_refused(statement: str, code: str) -> None:
    found = engine()
    assert error_of(found, statement).code == code
    assert not found.topics.records["typed"]


@pytest.mark.parametrize(
    "declared",
    [
        "CREATE SOURCE STREAM rows (id INT KEY, v INT) WITH (KAFKA_TOPIC='rows', VALUE_FORMAT='JSON');",
        "CREATE STREAM rows (id INT KEY, v INT) WITH (KAFKA_TOPIC='rows', VALUE_FORMAT='JSON', WINDOW_TYPE='SESSION');",
        "CREATE STREAM rows (v INT, h BYTES HEADER('h')) WITH (KAFKA_TOPIC='rows', VALUE_FORMAT='JSON');",
    ],
)
def test_sources_that_cannot_be_written_are_refused(declared: str) -> None:
    found = engine()
    found.execute(declared)
    assert error_of(found, "INSERT INTO rows (v) VALUES (1);").code == "insert.target"


def test_a_row_of_a_table_needs_its_key() -> None:
    found = engine()
    found.execute("CREATE TABLE rows (id INT PRIMARY KEY, v INT) WITH (KAFKA_TOPIC='rows', VALUE_FORMAT='JSON');")
    with pytest.raises(SqlError, match="needs its key: `ID`"):
        found.execute("INSERT INTO rows (v) VALUES (1);")
