"""SQL on Kafka: a file whose process is killed again and again goes on, and anybody may ask."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from headrace.broker import open_broker
from headrace.broker.port import Broker, NewRecord
from headrace.database import Database
from tests.kafka.running import wait_for
from tests.kafka.servers import leash

_CUSTOMERS = ("ann", "bob", "eve")
_PART = 60
_SECONDS = 60.0
_STATEMENTS = """
SET 'auto.offset.reset' = 'earliest';
CREATE STREAM orders (customer STRING KEY, amount INT)
  WITH (kafka_topic = '{name}-orders', value_format = 'JSON', partitions = 2);
CREATE TABLE totals WITH (kafka_topic = '{name}-totals') AS
  SELECT customer, COUNT(*) AS orders, SUM(amount) AS total FROM orders GROUP BY customer;
CREATE STREAM copies WITH (kafka_topic = '{name}-copies') AS SELECT * FROM orders;
INSERT INTO orders VALUES ('ann', 0);
"""


class Headless:
    """A file of statements, the processes that run it, and what was sent to its stream."""

    def __init__(self, broker: Broker, name: str, directory: Path) -> None:
        self.broker, self.name = broker, name
        self._file, self._log = directory / "queries.sql", directory / "log"
        self._file.write_text(_STATEMENTS.format(name=name))
        self.settings = {"ksql.service.id": f"{name}-", "ksql.streams.state.dir": str(directory / "state")}
        # What the file inserts: once, however often it is run.
        self.sent = [("ann", 0)]

    def send(self) -> None:
        rows = [(_CUSTOMERS[at % 3], at) for at in range(len(self.sent), len(self.sent) + _PART)]
        self.broker.append(
            NewRecord(f"{self.name}-orders", customer.encode(), json.dumps({"AMOUNT": amount}).encode())
            for customer, amount in rows
        )
        self.sent += rows

    @contextmanager
    def running(self) -> Iterator[subprocess.Popen[bytes]]:
        """Killed at the end of the block, whatever it is doing."""
        given = [f"--set={name}={value}" for name, value in self.settings.items()]
        command = ["sql", "--local", "--broker", self.broker.address, "-f", str(self._file), *given]
        with self._log.open("ab") as log:
            process = subprocess.Popen([*leash(), sys.executable, "-m", "headrace.cli", *command], stderr=log)
        try:
            yield process
            assert process.poll() is None, self._log.read_text()
        finally:
            process.kill()
            process.wait(_SECONDS)

    def copies(self) -> Counter[tuple[str, int]]:
        return Counter((customer, row["AMOUNT"]) for customer, row in self._written("copies"))

    def totals(self) -> dict[str, tuple[int, int]]:
        """The last row of each customer; none has fewer orders than one before it."""
        found: dict[str, tuple[int, int]] = {}
        for customer, row in self._written("totals"):
            assert row["ORDERS"] > found.get(customer, (0, 0))[0], (customer, row, found)
            found[customer] = row["ORDERS"], row["TOTAL"]
        return found

    def expected(self) -> dict[str, tuple[int, int]]:
        amounts = {each: [amount for customer, amount in self.sent if customer == each] for each in _CUSTOMERS}
        return {customer: (len(each), sum(each)) for customer, each in amounts.items() if each}

    def wait_for(self, holds: Callable[[], bool]) -> None:
        """Where it does not come, what the processes said is told."""
        wait_for(holds, lambda: f"{self.totals()} instead of {self.expected()}\n{self._log.read_text()}")

    def wait_until_done(self) -> None:
        self.wait_for(lambda: self.totals() == self.expected() and self.copies() == Counter(self.sent))

    def _written(self, topic: str) -> list[tuple[str, Any]]:
        name = f"{self.name}-{topic}"
        return [
            ((record[4] or b"").decode(), json.loads(record[5] or b""))
            for number in range(self.broker.topics().get(name, 0))
            for records in self.broker.read(name, number, 0)
            for record in records
        ]


@pytest.fixture
def headless(kafka_address: str, kafka_name: str, tmp_path: Path) -> Iterator[Headless]:
    with closing(open_broker(kafka_address)) as broker:
        yield Headless(broker, kafka_name, tmp_path)


def test_a_file_whose_process_is_killed_goes_on_and_anybody_may_ask(headless: Headless) -> None:
    with headless.running():
        headless.wait_for(lambda: f"{headless.name}-orders" in headless.broker.topics())
        headless.send()
        headless.wait_for(lambda: bool(headless.copies()))
    headless.send()
    done = headless.copies().total()
    with headless.running():
        headless.wait_for(lambda: headless.copies().total() > done)
    with headless.running():
        headless.wait_until_done()
        expected = headless.expected()
        with Database(
            headless.broker.address, engine="local", settings=headless.settings, runs_queries=False
        ) as database:
            rows = database.execute("SELECT * FROM totals;").rows()
            assert {customer: (orders, total) for customer, orders, total in rows} == expected
            database.execute("SET 'auto.offset.reset' = 'latest';")
            with database.execute("SELECT customer, amount FROM orders EMIT CHANGES LIMIT 2;") as coming:
                database.execute("INSERT INTO orders VALUES ('ann', 7); INSERT INTO orders VALUES ('ann', 8);")
                headless.sent += [("ann", 7), ("ann", 8)]
                assert list(coming) == [("ann", 7), ("ann", 8)]
        headless.wait_until_done()
