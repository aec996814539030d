"""SQL on Spark: each query an application of its own, all of them in one session, gone on with after a restart."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.database import Database

pytest.importorskip("pyspark")

STATEMENTS = """
SET 'auto.offset.reset' = 'earliest';
CREATE STREAM orders (id INT KEY, customer STRING, amount INT)
  WITH (kafka_topic='orders', value_format='JSON', partitions=2);
CREATE TABLE totals AS SELECT customer, SUM(amount) AS total FROM orders GROUP BY customer;
CREATE STREAM large AS SELECT * FROM orders WHERE amount >= 5;
"""


def test_queries_run_on_spark_and_go_on(tmp_path: Path) -> None:
    address = f"embedded:{tmp_path / 'data'}"
    with Database(address) as database:
        database.execute(STATEMENTS)
        database.execute("INSERT INTO orders VALUES (1, 'ann', 3); INSERT INTO orders VALUES (2, 'bob', 7);")
        database.run_until_idle()
        assert sorted(database.execute("SELECT * FROM totals;").rows()) == [("ann", 3), ("bob", 7)]
        frame = database.execute("SELECT customer, total FROM totals;").to_spark()
        assert frame.schema.simpleString() == "struct<CUSTOMER:string,TOTAL:int>"
        assert frame.agg({"TOTAL": "sum"}).collect()[0][0] == 10
        database.execute("TERMINATE CSAS_LARGE_2;")
        assert database.state_of("CTAS_TOTALS_1") == "RUNNING"
    with Database(address) as database:
        database.execute("INSERT INTO orders VALUES (3, 'ann', 9);")
        database.run_until_idle()
        assert database.execute("SELECT total FROM totals WHERE customer = 'ann';").rows() == [(12,)]
        assert database.execute("SELECT * FROM large;").rows() == [(2, "bob", 7)]
