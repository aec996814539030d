"""Mistakes that everybody makes once: the error says what to write instead."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from headrace.database import Database
from headrace.sql.errors import SqlError

SOURCES = """
CREATE STREAM orders (id INT KEY, item STRING, amount INT)
  WITH (kafka_topic='orders', value_format='JSON', partitions=1);
CREATE STREAM visits (page STRING KEY, visitor STRING)
  WITH (kafka_topic='visits', value_format='JSON', partitions=1);
CREATE TABLE customers (name STRING PRIMARY KEY, city STRING)
  WITH (kafka_topic='customers', value_format='JSON', partitions=1);
CREATE TABLE numbered (number INT PRIMARY KEY, name STRING)
  WITH (kafka_topic='numbered', value_format='JSON', partitions=1);
CREATE TABLE quoted (id INT PRIMARY KEY, `first name` STRING)
  WITH (kafka_topic='quoted', value_format='JSON', partitions=1);
"""
FORMATS = "Formats are AVRO, DELIMITED, JSON, JSON_SR, KAFKA, NONE, PROTOBUF, PROTOBUF_NOSR."
TYPES = (
    "Types are BOOLEAN, INTEGER, BIGINT, DOUBLE, DECIMAL(p, s), STRING, BYTES, DATE, TIME, TIMESTAMP, ARRAY<t>,"
    " MAP<k, v>, STRUCT<...>, and those of CREATE TYPE."
)


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    """One for all: a mistake leaves no trace."""
    with Database(f"embedded:{tmp_path_factory.mktemp('hints') / 'data'}", engine="local") as found:
        found.execute(SOURCES)
        yield found


def mistake(database: Database, statement: str) -> SqlError:
    with pytest.raises(SqlError) as raised:
        database.execute(statement).close()
    return raised.value


@pytest.mark.parametrize(
    ("statement", "hint"),
    [
        ("SELEC * FROM orders EMIT CHANGES;", "Did you mean SELECT?"),
        ("CRAETE STREAM x AS SELECT * FROM orders;", "Did you mean CREATE?"),
        ("CREATE STREM x AS SELECT * FROM orders;", "Did you mean STREAM?"),
        ("DROP TABEL customers;", "Did you mean TABLE?"),
        ("SHOW STREMS;", "Did you mean STREAMS?"),
        ("SELECT * FORM orders EMIT CHANGES;", "Did you mean FROM?"),
        ("SELECT item FORM orders EMIT CHANGES;", "Did you mean FROM instead of FORM?"),
        ("SELECT * FROM orders WERE amount > 1 EMIT CHANGES;", "Did you mean WHERE instead of WERE?"),
        ("SELECT item, COUNT(*) FROM orders GRUOP BY item EMIT CHANGES;", "Did you mean GROUP instead of GRUOP?"),
        ("SELECT * FROM orders EMIT CHANGE;", "Did you mean CHANGES?"),
        ("SELECT * FROM orders EMIT CHANGES LIMT 1;", "Did you mean LIMIT?"),
        (
            "SELECT item, COUNT(*) FROM orders WINDOW TUMBLNG (SIZE 1 HOUR) GROUP BY item EMIT CHANGES;",
            "Did you mean TUMBLING instead of TUMBLNG?",
        ),
        (
            "SELECT item, COUNT(*) FROM orders WINDOW TUMBLING (SIZE 1 MINTUE) GROUP BY item EMIT CHANGES;",
            "Did you mean MINUTE?",
        ),
        ("INSERT INOT orders VALUES (1, 'tea', 2);", "Did you mean INTO?"),
        ("INSERT INTO orders (id) VALEUS (1);", "Did you mean VALUES?"),
        ("SELECT * FROM orders WHERE item == 'tea' EMIT CHANGES;", "Equality is one =."),
        (
            "UPDATE orders SET amount = 1;",
            "There is no UPDATE: INSERT INTO a row of the same key, which takes the place of the one before.",
        ),
        (
            "DELETE FROM orders;",
            "There is no DELETE: a row of a table goes with a record of its key and no value in the topic.",
        ),
        ("SELECT * FROM customers ORDER BY name;", "There is no ORDER BY: sort the rows where they are used."),
    ],
)
def test_a_misspelt_word_of_the_language(database: Database, statement: str, hint: str) -> None:
    found = mistake(database, statement)
    assert (found.code, found.hint) == ("parse.syntax", hint)
    assert found.place is not None


@pytest.mark.parametrize(
    "statement",
    ["SELECT item total amount FROM orders;", "SELECT id FROM orders o p;", "SELECT * orders;", "SELECT * FROM a.b;"],
)
def test_what_is_near_no_word_gets_no_such_hint(database: Database, statement: str) -> None:
    assert mistake(database, statement).hint is None


@pytest.mark.parametrize("topic", ["TOPIC", "topic", "'topic'", "topic_name"])
def test_the_topic_of_a_source_is_its_kafka_topic(database: Database, topic: str) -> None:
    hint = mistake(database, f"CREATE STREAM x (a INT KEY) WITH ({topic}='orders', value_format='JSON');").hint
    assert hint is not None
    assert "KAFKA_TOPIC" in hint
    assert "back-ticks" not in hint


@pytest.mark.parametrize(
    ("statement", "text"),
    [
        ('SELECT * FROM orders WHERE item = "tea" EMIT CHANGES;', "tea"),
        ('SELECT * FROM orders WHERE item = "it\'s" EMIT CHANGES;', "it''s"),
        ("SELECT * FROM orders WHERE item = tea EMIT CHANGES;", "tea"),
        ('SELECT * FROM customers WHERE name = "ann";', "ann"),
        ('INSERT INTO orders VALUES (1, "tea", 3);', "tea"),
        ("INSERT INTO orders VALUES (1, tea, 3);", "tea"),
        ("CREATE STREAM x (a INT KEY) WITH (kafka_topic=\"orders\", value_format='JSON');", "orders"),
        ("CREATE STREAM x (a INT KEY) WITH (kafka_topic='orders', value_format=JSON);", "JSON"),
        ("SET \"auto.offset.reset\" = 'earliest';", "auto.offset.reset"),
    ],
)
def test_a_text_without_single_quotes(database: Database, statement: str, text: str) -> None:
    hint = mistake(database, statement).hint
    assert hint is not None
    assert hint.count("A text is written in single quotes") == 1
    assert hint.endswith(f"A text is written in single quotes: '{text}'.")


@pytest.mark.parametrize(
    ("statement", "hint"),
    [
        ("SELECT amuont FROM orders EMIT CHANGES;", "Did you mean AMOUNT?"),
        ("SELECT o.amuont FROM orders o EMIT CHANGES;", "Did you mean AMOUNT?"),
        ("SELECT price FROM orders EMIT CHANGES;", "There are ID, ITEM, AMOUNT."),
        ("SELECT `amount` FROM orders EMIT CHANGES;", "Did you mean AMOUNT?"),
        ("SELECT `First Name` FROM quoted EMIT CHANGES;", "Did you mean `first name`?"),
        ("SELECT ordres.id FROM orders EMIT CHANGES;", "Did you mean ORDERS?"),
        ("DESCRIBE ordres;", "Did you mean ORDERS?"),
        ("DROP STREAM ordres;", "Did you mean ORDERS?"),
        ("INSERT INTO ordres VALUES (1, 'tea', 3);", "Did you mean ORDERS?"),
        ("INSERT INTO orders (id, itme) VALUES (1, 'tea');", "Did you mean ITEM?"),
        ("SELECT SUMM(amount) FROM orders EMIT CHANGES;", "Did you mean SUM?"),
        ("PRINT ordres;", "Did you mean orders?"),
    ],
)
def test_a_misspelt_name(database: Database, statement: str, hint: str) -> None:
    assert mistake(database, statement).hint == hint


@pytest.mark.parametrize(
    ("format_", "hint"),
    [("JSN", f"Did you mean JSON? {FORMATS}"), ("avor", f"Did you mean AVRO? {FORMATS}"), ("XML", FORMATS)],
)
def test_a_misspelt_format(database: Database, format_: str, hint: str) -> None:
    statement = f"CREATE STREAM x (a INT KEY) WITH (kafka_topic='orders', value_format='{format_}');"
    found = mistake(database, statement)
    assert (found.code, found.hint) == ("format.unknown", hint)


@pytest.mark.parametrize(
    ("type_", "hint"),
    [
        ("STRNG", "Did you mean STRING? "),
        ("ARRAY<VARCAHR>", "Did you mean VARCHAR? "),
        ("LONG", "Here it is BIGINT. "),
        ("FLOAT", "Here it is DOUBLE. "),
        ("TEXT", "Here it is STRING. "),
        ("POLYGON", ""),
    ],
)
def test_a_misspelt_type(database: Database, type_: str, hint: str) -> None:
    statement = f"CREATE STREAM x (a INT KEY, b {type_}) WITH (kafka_topic='orders', value_format='JSON');"
    found = mistake(database, statement)
    assert (found.code, found.hint) == ("name.type", f"{hint}{TYPES}")


def test_a_misspelt_type_of_a_cast(database: Database) -> None:
    found = mistake(database, "SELECT CAST(id AS STRNG) FROM orders EMIT CHANGES;")
    assert (found.code, found.hint) == ("type.cast", f"Did you mean STRING? {TYPES}")


def test_types_that_are_not_compared(database: Database) -> None:
    found = mistake(database, "SELECT id FROM orders WHERE amount > '3' EMIT CHANGES;")
    assert (found.code, found.hint) == ("type.compare", "CAST makes one of them the type of the other.")


@pytest.mark.parametrize(
    ("statement", "hint"),
    [
        (
            "INSERT INTO orders VALUES (1, 'tea');",
            "Expected are ID INTEGER, ITEM STRING, AMOUNT INTEGER."
            " Name the columns to give only some: INSERT INTO ORDERS (ID, ITEM, AMOUNT) ...",
        ),
        ("INSERT INTO orders (id, item) VALUES (1, 'tea', 3);", "Give a value for each of ID, ITEM."),
    ],
)
def test_a_wrong_number_of_values(database: Database, statement: str, hint: str) -> None:
    found = mistake(database, statement)
    assert (found.code, found.hint) == ("insert.values", hint)


@pytest.mark.parametrize(
    ("join", "types", "condition"),
    [
        ("orders o JOIN customers c ON o.id = c.name", "INTEGER and STRING", "CAST(O.ID AS STRING) = C.NAME"),
        ("orders o JOIN customers c ON c.name = o.id", "INTEGER and STRING", "CAST(O.ID AS STRING) = C.NAME"),
        (
            "orders o JOIN visits v WITHIN 1 HOUR ON o.id = v.page",
            "INTEGER and STRING",
            "CAST(O.ID AS STRING) = V.PAGE",
        ),
        ("numbered n JOIN customers c ON n.number = c.name", "INTEGER and STRING", "CAST(N.NUMBER AS STRING) = C.NAME"),
        (
            "customers c JOIN numbered n ON c.city = n.number",
            "STRING and INTEGER",
            "CAST(C.CITY AS INTEGER) = N.NUMBER",
        ),
    ],
)
def test_keys_of_different_types(database: Database, join: str, types: str, condition: str) -> None:
    kind = "TABLE" if join.startswith(("numbered", "customers")) else "STREAM"
    found = mistake(database, f"CREATE {kind} j AS SELECT * FROM {join};")
    assert (found.code, found.hint) == ("join.key", f"Write ON {condition}.")
    assert types in found.message


def test_a_join_with_the_cast_of_the_hint_is_accepted(database: Database) -> None:
    database.execute(
        "CREATE STREAM joined AS SELECT * FROM orders o JOIN customers c ON CAST(O.ID AS STRING) = C.NAME;"
    )
    assert "JOINED" in database.engine.catalog.sources
