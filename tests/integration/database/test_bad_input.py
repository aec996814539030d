"""What users get wrong: each is an error with a code, a place and a way out, or a line in the processing log."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator

import pytest

from headrace.broker.port import NewRecord
from headrace.database import Database
from headrace.sql.errors import SqlError

SOURCES = """
CREATE STREAM orders (id INT KEY, customer STRING, amount INT)
  WITH (kafka_topic='orders', value_format='JSON', partitions=1);
CREATE TABLE customers (name STRING PRIMARY KEY, city STRING)
  WITH (kafka_topic='customers', value_format='JSON', partitions=1);
"""


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    """One for all: a mistake leaves no trace."""
    settings = {"auto.offset.reset": "earliest"}
    address = f"embedded:{tmp_path_factory.mktemp('bad-input') / 'data'}"
    with Database(address, engine="local", settings=settings) as found:
        found.execute(SOURCES)
        yield found


@pytest.mark.parametrize(
    ("statement", "code", "place"),
    [
        ("SELECT * FROM ordrs EMIT CHANGES;", "name.source", "1:15"),
        ("CREATE STREAM x AS SELECT * FROM ordrs;", "name.source", "1:34"),
        ("SELECT custmer FROM orders EMIT CHANGES;", "name.column", "1:8"),
        ("SELECT id FROM orders WHERE amuont > 1 EMIT CHANGES;", "name.column", "1:29"),
        ("SELECT UCAES(customer) FROM orders EMIT CHANGES;", "name.function", "1:8"),
        ("SELECT UCASE(amount) FROM orders EMIT CHANGES;", "call.no-overload", "1:8"),
        ("SELECT amount + customer FROM orders EMIT CHANGES;", "type.arithmetic", "1:8"),
        ("SELECT id FROM orders WHERE amount = 'three' EMIT CHANGES;", "type.compare", "1:29"),
        ("SELECT id FROM orders WHERE amount EMIT CHANGES;", "type.boolean", "1:29"),
        (
            "CREATE TABLE x (a INT) WITH (kafka_topic='x', value_format='JSON', partitions=1);",
            "ddl.table-needs-key",
            "1:14",
        ),
        ("CREATE TABLE x AS SELECT COUNT(*) FROM orders GROUP BY customer;", "select.key-missing", "1:26"),
        ("CREATE STREAM x AS SELECT amount FROM orders;", "select.key-missing", "1:27"),
        ("CREATE STREAM x AS SELECT customer, COUNT(*) FROM orders GROUP BY customer;", "ddl.result-kind", "1:15"),
        ("INSERT INTO orders VALUES (1, 'ann');", "insert.values", "1:13"),
        ("INSERT INTO orders VALUES (1, 'ann', 'many');", "insert.values", "1:38"),
        ("INSERT INTO customers (city) VALUES ('Bern');", "insert.values", "1:13"),
        ("SELECT 'open FROM orders;", "parse.syntax", "1:8"),
        ("SELECT * FROM orders WHERE;", "parse.syntax", "1:27"),
        ("SELECT * FROM orders", "parse.syntax", "1:21"),
        ("SELECT * FROM customers;", "pull.not-queryable", "1:15"),
        ("TERMINATE nothing;", "name.query", "1:11"),
        ("DROP STREAM nothing;", "name.source", "1:13"),
        ("PRINT 'nothing';", "name.topic", "1:7"),
        ("SELECT 99999999999999999999 FROM orders EMIT CHANGES;", "parse.literal-range", "1:8"),
    ],
)
def test_a_mistake_has_a_code_and_a_place(database: Database, statement: str, code: str, place: str) -> None:
    with pytest.raises(SqlError) as raised:
        database.execute(statement).close()
    found = raised.value
    assert (found.code, str(found.place)) == (code, place)
    assert found.fragment
    assert "^" in found.fragment


@pytest.mark.parametrize(
    ("statement", "hint"),
    [
        ("SELECT * FROM ordrs EMIT CHANGES;", "Did you mean ORDERS?"),
        ("SELECT custmer FROM orders EMIT CHANGES;", "Did you mean CUSTOMER?"),
        ("SELECT UCAES(customer) FROM orders EMIT CHANGES;", "Did you mean UCASE?"),
    ],
)
def test_a_name_that_is_nearly_right_is_shown(database: Database, statement: str, hint: str) -> None:
    with pytest.raises(SqlError) as raised:
        database.execute(statement)
    assert raised.value.hint == hint


def test_a_statement_of_a_megabyte_is_executed_or_refused_soon(database: Database) -> None:
    begun = time.monotonic()
    database.execute(f"INSERT INTO orders VALUES (1, '{'x' * 1_000_000}', 2);")
    with pytest.raises(SqlError) as raised:
        database.execute(f"SELECT '{'x' * 1_000_000} FROM orders;")
    assert raised.value.code == "parse.syntax"
    assert len(str(raised.value)) < 1000
    many = " OR ".join(f"amount = {number}" for number in range(70_000))
    with pytest.raises(SqlError) as raised:
        database.execute(f"SELECT * FROM orders WHERE {many} EMIT CHANGES LIMIT 1;")
    assert raised.value.code == "parse.too-deep"
    assert len(str(raised.value)) < 1000
    assert time.monotonic() - begun < 60


def test_ten_thousand_columns_go_through(database: Database) -> None:
    columns = ", ".join(f"c{number} INT" for number in range(10_000))
    database.execute(
        f"CREATE STREAM wide (id INT KEY, {columns}) WITH (kafka_topic='wide', value_format='JSON', partitions=1);"
    )
    database.execute("INSERT INTO wide (id, c1, c9999) VALUES (1, 2, 3);")
    (row,) = database.execute("SELECT * FROM wide;").rows()
    assert (len(row), row[0], row[1], row[2], row[-1]) == (10_001, 1, None, 2, 3)


@pytest.mark.parametrize(
    "expression", ["(" * 500 + "1" + ")" * 500, "ABS(" * 500 + "1" + ")" * 500, "ARRAY[" * 500 + "1" + "]" * 500]
)
def test_what_is_nested_five_hundred_deep_is_refused(database: Database, expression: str) -> None:
    with pytest.raises(SqlError) as raised:
        database.execute(f"SELECT {expression} FROM orders EMIT CHANGES;")
    assert raised.value.code == "parse.too-deep"
    assert raised.value.place is not None


def test_a_case_has_so_many_branches(database: Database) -> None:
    def asked(count: int) -> str:
        whens = " ".join(f"WHEN amount = {number} THEN {number}" for number in range(count))
        return f"CREATE STREAM x AS SELECT id, CASE {whens} END AS y FROM orders;"

    with pytest.raises(SqlError) as raised:
        database.execute(asked(1000))
    assert raised.value.code == "parse.too-deep"
    database.execute(asked(250) + "INSERT INTO orders VALUES (1, 'ann', 249);")
    database.run_until_idle()
    assert database.execute("SELECT * FROM x;").rows()[-1] == (1, 249)


def test_a_type_nested_five_hundred_deep_is_refused(database: Database) -> None:
    with pytest.raises(SqlError) as raised:
        database.execute(f"CREATE TYPE deep AS {'ARRAY<' * 500}INT{'>' * 500};")
    assert raised.value.code == "parse.too-deep"


def test_records_that_cannot_be_read_are_told_and_the_others_go_on(
    database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    bad = [b"{", b'{"AMOUNT": "many"}', b"\xff\xfe", b"[1]", b'{"CUSTOMER": {"a": ', b""]
    database.execute("CREATE STREAM copied AS SELECT * FROM orders;")
    with caplog.at_level(logging.WARNING, "headrace.sql.processing"):
        records = [NewRecord("orders", b"\0\0\0\1", value) for value in bad]
        database.broker.append([*records, NewRecord("orders", b"\0\0", b"{}")])
        database.execute("INSERT INTO orders VALUES (7, 'ann', 3);")
        database.run_until_idle()
    assert database.execute("SELECT * FROM copied;").rows()[-1] == (7, "ann", 3)
    told = [record.getMessage() for record in caplog.records if record.name == "headrace.sql.processing"]
    assert len(told) >= 5
    assert all("of topic orders cannot be read" in line for line in told)
