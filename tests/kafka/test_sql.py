"""SQL on Kafka: a process runs the queries, goes on where it was however it ended, and anybody may ask."""

from __future__ import annotations

from pathlib import Path

from headrace.database import Database
from tests.faults.five_queries import FiveQueries
from tests.faults.sql_kills import Kills
from tests.kafka.running import long

_STATEMENTS = """
SET 'auto.offset.reset' = 'earliest';
CREATE STREAM orders (customer STRING KEY, amount INT)
  WITH (kafka_topic = '{name}-orders', value_format = 'JSON', partitions = 2);
CREATE TABLE totals WITH (kafka_topic = '{name}-totals') AS
  SELECT customer, COUNT(*) AS orders, SUM(amount) AS total FROM orders GROUP BY customer;
INSERT INTO orders VALUES ('ann', 3);
INSERT INTO orders VALUES ('bob', 4);
"""


def test_one_runs_the_queries_and_anybody_may_ask(kafka_address: str, kafka_name: str, tmp_path: Path) -> None:
    settings = {"ksql.service.id": f"{kafka_name}-", "ksql.streams.state.dir": str(tmp_path)}
    with (
        Database(kafka_address, engine="local", settings=settings) as runner,
        Database(kafka_address, engine="local", settings=settings, runs_queries=False) as other,
    ):
        runner.execute(_STATEMENTS.format(name=kafka_name))
        runner.run_until_idle()
        assert sorted(other.execute("SELECT * FROM totals;").rows()) == [("ann", 1, 3), ("bob", 1, 4)]
        with other.execute("SELECT customer, amount FROM orders EMIT CHANGES LIMIT 2;") as coming:
            other.execute("INSERT INTO orders VALUES ('ann', 7); INSERT INTO orders VALUES ('ann', 8);")
            assert list(coming) == [("ann", 7), ("ann", 8)]
        runner.run_until_idle()
        assert sorted(other.execute("SELECT * FROM totals;").rows()) == [("ann", 3, 18), ("bob", 1, 4)]


@long
def test_five_queries_whose_process_is_killed_go_on_where_they_were(
    kafka_address: str, kafka_name: str, tmp_path: Path
) -> None:
    queries = FiveQueries(kafka_address, kafka_name, tmp_path)
    Kills(queries, tmp_path, local=False, rate=200, seed=6).run(6)
