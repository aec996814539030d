"""``headrace sql`` as a user has it: a process of its own, on an embedded broker, queries in the process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from headrace.broker import open_broker
from headrace.broker.port import NewRecord

SHOP = """
SET 'auto.offset.reset' = 'earliest';
CREATE STREAM orders (id INT KEY, customer STRING, amount INT)
  WITH (kafka_topic='orders', value_format='JSON', partitions=2);
CREATE TABLE customers (name STRING PRIMARY KEY, city STRING)
  WITH (kafka_topic='customers', value_format='JSON', partitions=2);
INSERT INTO customers (ROWTIME, name, city) VALUES (0, 'ann', 'Basel');
INSERT INTO customers (ROWTIME, name, city) VALUES (0, 'bob', 'Bern');
"""
"""Customers are there before every order, also where both are read by the same batch."""
TOTALS = "CREATE TABLE totals AS SELECT customer, SUM(amount) AS total, COUNT(*) AS n FROM orders GROUP BY customer;"


class Sql:
    """The command, in a directory of its own."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self._environment = {**os.environ, "XDG_STATE_HOME": str(home / "xdg"), "PYTHONUNBUFFERED": "1"}

    def start(self, *arguments: str, **more: Any) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "headrace.cli", "sql", *arguments]
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return subprocess.Popen(command, cwd=self.home, env=self._environment, text=True, **{**pipes, **more})

    def __call__(self, *arguments: str, code: int = 0) -> tuple[str, str]:
        process = self.start(*arguments)
        out, err = process.communicate(timeout=120)
        assert process.returncode == code, err
        assert "Traceback" not in err
        return out, err

    def rows(self, query: str) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self("--json", "-e", query)[0].splitlines()]


@pytest.fixture
def sql(tmp_path: Path) -> Sql:
    return Sql(tmp_path)


def eventually(found: Callable[[], Any], is_right: Callable[[Any], bool], seconds: float = 120) -> Any:
    until = time.monotonic() + seconds
    while not is_right(last := found()) and time.monotonic() < until:
        time.sleep(0.1)
    assert is_right(last), last
    return last


def test_statements_are_executed_and_answered(sql: Sql) -> None:
    windows = """
    CREATE TABLE per_hour AS SELECT customer, SUM(amount) AS total FROM orders
      WINDOW TUMBLING (SIZE 1 HOUR) GROUP BY customer;
    CREATE STREAM named AS SELECT o.customer, o.id AS id, c.city AS city
      FROM orders o JOIN customers c ON o.customer = c.name;
    INSERT INTO orders (ROWTIME, id, customer, amount) VALUES (3600000, 1, 'ann', 3);
    INSERT INTO orders (ROWTIME, id, customer, amount) VALUES (3600001, 2, 'ann', 4);
    INSERT INTO orders (ROWTIME, id, customer, amount) VALUES (7200000, 3, 'ann', 5);
    """
    sql("--local", "--until-idle", "-e", SHOP + windows)
    assert sql.rows("SELECT windowstart, total FROM per_hour WHERE customer = 'ann'") == [
        {"WINDOWSTART": 3600000, "TOTAL": 7},
        {"WINDOWSTART": 7200000, "TOTAL": 5},
    ]
    pushed = sql.rows("SET 'auto.offset.reset'='earliest'; SELECT * FROM named EMIT CHANGES LIMIT 3;")
    assert sorted(row["ID"] for row in pushed[1:]) == [1, 2, 3]
    assert {row["CITY"] for row in pushed[1:]} == {"Basel"}


def test_a_mistake_is_shown_where_it_is(sql: Sql) -> None:
    out, err = sql("-e", "SELECT 1 +\nFROM x;", code=1)
    assert out == ""
    assert "error: line 2:1: " in err
    assert "    FROM x;\n    ^^^^\n" in err
    assert "code: parse.syntax" in err


def written(broker: Any, topic: str) -> int:
    partitions = broker.topics().get(topic, 0)
    ends = broker.end_offsets([(topic, number) for number in range(partitions)])
    return sum(ends.values())


def test_one_process_runs_the_queries_and_another_asks_and_changes(sql: Sql) -> None:
    (sql.home / "shop.sql").write_text(SHOP + TOTALS)
    runner = sql.start("--local", "-f", "shop.sql", stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    try:
        eventually(lambda: sql.rows("SHOW QUERIES"), lambda found: len(found) == 1)
        sql(
            "-e",
            "INSERT INTO orders VALUES (1, 'ann', 60); SET 'auto.offset.reset'='earliest';"
            "CREATE TABLE sizes AS SELECT id, amount FROM orders_table;",
            code=1,
        )
        sql("-e", "INSERT INTO orders VALUES (1, 'ann', 60);")
        eventually(lambda: sql.rows("SELECT n FROM totals WHERE customer='ann'"), lambda found: found == [{"N": 1}])
    finally:
        runner.send_signal(signal.SIGTERM)
        assert runner.wait(120) == 0


def test_what_is_not_typed_is_executed_too(sql: Sql) -> None:
    process = sql.start(stdin=subprocess.PIPE)
    out, _ = process.communicate("CREATE TYPE money AS DECIMAL(10, 2);\nSHOW TYPES;\n", timeout=120)
    assert process.returncode == 0
    assert "MONEY" in out


def test_queries_that_are_not_typed_run_in_the_process_that_is_to_run_them(sql: Sql) -> None:
    text = SHOP + (
        f"INSERT INTO orders VALUES (1, 'ann', 60);\n{TOTALS}\nSELECT total FROM totals WHERE customer = 'ann'"
    )
    process = sql.start("--local", stdin=subprocess.PIPE)
    out, err = process.communicate(text, timeout=120)
    assert process.returncode == 0, err
    assert out.splitlines()[-2:] == ["TOTAL", "   60"]


def test_a_push_query_that_is_killed_leaves_nothing_for_long(sql: Sql) -> None:
    sql("-e", SHOP + "INSERT INTO orders VALUES (1, 'ann', 60);")
    counting = (
        "SET 'auto.offset.reset'='earliest'; SELECT customer, COUNT(*) FROM orders GROUP BY customer EMIT CHANGES;"
    )
    process = sql.start("--json", "-e", counting)
    assert process.stdout is not None
    assert [json.loads(process.stdout.readline()) for _ in range(2)][1] == {"CUSTOMER": "ann", "KSQL_COL_0": 1}
    process.kill()
    process.communicate()

    def left() -> list[str]:
        return [one for one in (*broker.topics(), *broker.applications(), *broker.groups()) if "transient" in one]

    broker = open_broker(f"embedded:{sql.home / 'headrace-data'}")
    assert left()
    sql("--local", "--until-idle", "-e", "SHOW TABLES;")
    assert not left()
    broker.close()


BAD_AND_GOOD = """
SET 'ksql.fail.on.deserialization.error' = 'true';
SET 'auto.offset.reset' = 'earliest';
CREATE STREAM a (id INT KEY, x INT) WITH (kafka_topic='a', value_format='JSON', partitions=1);
CREATE STREAM b (id INT KEY, x INT) WITH (kafka_topic='b', value_format='JSON', partitions=1);
CREATE STREAM of_a AS SELECT * FROM a;
CREATE STREAM of_b AS SELECT * FROM b;
"""


def test_a_file_says_which_query_failed_and_why_and_goes_on_with_the_others(sql: Sql) -> None:
    (sql.home / "two.sql").write_text(BAD_AND_GOOD)
    with (sql.home / "err.txt").open("w") as err:
        process = sql.start("--local", "-f", "two.sql", stdout=subprocess.DEVNULL, stderr=err)
    with closing(open_broker(f"embedded:{sql.home / 'headrace-data'}")) as broker:
        eventually(lambda: "a" in broker.topics() and "b" in broker.topics(), bool)
        broker.append([NewRecord("a", b"\0\0\0\1", b"{")])
        eventually(lambda: (sql.home / "err.txt").read_text(), lambda text: "the query CSAS_OF_A_2 failed" in text)
        broker.append([NewRecord("b", b"\0\0\0\1", b'{"X": 1}')])
        eventually(lambda: written(broker, "OF_B"), lambda count: count == 1)
        assert process.poll() is None
        process.send_signal(signal.SIGTERM)
        assert process.wait(120) == 1
    told = (sql.home / "err.txt").read_text()
    assert told.count("the query CSAS_OF_A_2 failed") == 1
    assert "topic a" in told or "a-0" in told
    assert "CSAS_OF_B_3 failed" not in told


def test_a_file_whose_queries_have_all_failed_ends(sql: Sql) -> None:
    (sql.home / "two.sql").write_text(BAD_AND_GOOD)
    sql("-e", BAD_AND_GOOD.partition("CREATE STREAM of_a")[0])
    with closing(open_broker(f"embedded:{sql.home / 'headrace-data'}")) as broker:
        broker.append([NewRecord(topic, b"\0\0\0\1", b"{") for topic in "ab"])
    queries = BAD_AND_GOOD.partition("CREATE STREAM of_a")
    script = BAD_AND_GOOD.split("CREATE STREAM a ")[0] + queries[1] + queries[2]
    (sql.home / "queries.sql").write_text(script)
    assert "CSAS_OF_A_2 failed" in sql("--local", "--until-idle", "-f", "queries.sql", code=1)[1]
    told = sql("--local", "-f", "queries.sql", code=1)[1]
    assert "CSAS_OF_A_2 failed" in told
    assert "CSAS_OF_B_3 failed" in told
