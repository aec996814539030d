"""Five queries of different kinds: the file that has them, the orders they read, and what must come of these."""

from __future__ import annotations

import json
import time
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from headrace.broker.port import Broker, NewRecord
from headrace.database import Database

CITIES = {"ann": "Basel", "bob": "Bern", "eve": "Chur", "joe": "Bern"}
_AMOUNTS = 100
_STEP_MS = 10
_WINDOW_MS = 10_000
_INSERTED = "".join(f"INSERT INTO customers VALUES ('{name}', '{city}');\n" for name, city in CITIES.items())
_STATEMENTS = """
SET 'auto.offset.reset' = 'earliest';
-- No caching, so that every count and every total is seen.
SET 'statestore.cache.max.bytes' = '0';
CREATE STREAM orders (customer STRING KEY, id INT, amount INT)
  WITH (kafka_topic = '{name}-orders', value_format = 'JSON', partitions = 2);
CREATE TABLE customers (name STRING PRIMARY KEY, city STRING)
  WITH (kafka_topic = '{name}-customers', value_format = 'JSON', partitions = 2);
{inserted}
CREATE STREAM bills WITH (kafka_topic = '{name}-bills') AS
  SELECT customer, id, amount * 100 AS cents FROM orders WHERE amount >= 50;
CREATE TABLE amounts WITH (kafka_topic = '{name}-amounts') AS
  SELECT amount, COUNT(*) AS orders FROM orders GROUP BY amount;
CREATE TABLE totals WITH (kafka_topic = '{name}-totals') AS
  SELECT customer, SUM(amount) AS total FROM orders WINDOW TUMBLING (SIZE 10 SECONDS) GROUP BY customer;
CREATE STREAM parcels WITH (kafka_topic = '{name}-parcels') AS
  SELECT o.customer AS customer, o.id AS id, c.city AS city FROM orders o JOIN customers c ON o.customer = c.name;
INSERT INTO bills SELECT customer, id, 0 AS cents FROM parcels WHERE city = 'Bern';
"""
_OUTPUTS = ("bills", "amounts", "totals", "parcels")

Rows: TypeAlias = Mapping[Hashable, list[Any]]
"""The rows of each key, in their order."""


class FiveQueries:
    """The queries on one broker. Names of topics begin with ``name``; what is local is below ``directory``."""

    def __init__(self, address: str, name: str, directory: Path) -> None:
        self.address, self.name = address, name
        self.file = directory / "queries.sql"
        self.file.write_text(_STATEMENTS.format(name=name, inserted=_INSERTED))
        self.settings = {"ksql.service.id": f"{name}-", "ksql.streams.state.dir": str(directory / "state")}
        self.sent = 0
        self._start_ms = 0

    def make_topics(self, broker: Broker) -> None:
        """Those of the tables, which would be compacted otherwise: of every key only the last row could be seen."""
        for topic in ("amounts", "totals"):
            broker.create_topic(f"{self.name}-{topic}", 2, {"cleanup.policy": "delete"})

    def is_ready(self, broker: Broker) -> bool:
        """Whether orders may come: one that came before its customer would find none."""
        return len(list(self._read(broker, "customers"))) == len(CITIES)

    def send(self, broker: Broker, count: int) -> None:
        """Append the next orders, later than the customers."""
        self._start_ms = self._start_ms or (int(time.time() * 1000) // _WINDOW_MS + 1) * _WINDOW_MS
        broker.append(
            NewRecord(
                f"{self.name}-orders",
                self._customer(number).encode(),
                json.dumps({"ID": number, "AMOUNT": self._amount(number)}).encode(),
                self._start_ms + number * _STEP_MS,
            )
            for number in range(self.sent, self.sent + count)
        )
        self.sent += count

    def written(self, broker: Broker) -> int:
        """How far the topics are that the queries write to."""
        known, names = broker.topics(), [f"{self.name}-{topic}" for topic in _OUTPUTS]
        places = [(name, number) for name in names for number in range(known.get(name, 0))]
        return sum(broker.end_offsets(places).values())

    def check(self, broker: Broker) -> None:
        """Every row there must be once, per key in order, no other, and the same in what a pull query finds."""
        customers = [(key.decode(), row["CITY"]) for key, row in self._read(broker, "customers")]
        assert sorted(customers) == sorted(CITIES.items())
        found, expected = self._found(broker), self._expected()
        for place in {*found, *expected}:
            _check_equal(place, found.get(place, []), expected.get(place, []))
        with Database(self.address, engine="local", settings=self.settings, runs_queries=False) as database:
            counts = dict(database.execute("SELECT * FROM amounts;").rows())
        assert counts == Counter(self._amount(number) for number in range(self.sent))

    def _expected(self) -> Rows:
        rows: defaultdict[Hashable, list[Any]] = defaultdict(list)
        counts: Counter[int] = Counter()
        totals: Counter[tuple[str, int]] = Counter()
        for number in range(self.sent):
            customer, amount = self._customer(number), self._amount(number)
            city = CITIES[customer]
            window = customer, (self._start_ms + number * _STEP_MS) // _WINDOW_MS * _WINDOW_MS
            counts[amount] += 1
            totals[window] += amount
            rows["amounts", amount].append({"ORDERS": counts[amount]})
            rows["totals", window].append({"TOTAL": totals[window]})
            rows["parcels", customer].append({"ID": number, "CITY": city})
            if amount >= 50:
                rows["bills", customer].append({"ID": number, "CENTS": amount * 100})
            if city == "Bern":
                rows["bills, inserted", customer].append({"ID": number, "CENTS": 0})
        return rows

    def _found(self, broker: Broker) -> Rows:
        rows: defaultdict[Hashable, list[Any]] = defaultdict(list)
        for key, row in self._read(broker, "amounts"):
            rows["amounts", int.from_bytes(key, "big")].append(row)
        for key, row in self._read(broker, "totals"):
            rows["totals", (key[:-8].decode(), int.from_bytes(key[-8:], "big"))].append(row)
        for key, row in self._read(broker, "parcels"):
            rows["parcels", key.decode()].append(row)
        for key, row in self._read(broker, "bills"):
            # Two queries write to this topic: only what comes of one of them has an order.
            rows["bills" if row["CENTS"] else "bills, inserted", key.decode()].append(row)
        return rows

    def _read(self, broker: Broker, topic: str) -> Iterator[tuple[bytes, Any]]:
        name = f"{self.name}-{topic}"
        for number in range(broker.topics().get(name, 0)):
            for records in broker.read(name, number, 0):
                for record in records:
                    yield record[4] or b"", json.loads(record[5] or b"null")

    @staticmethod
    def _customer(number: int) -> str:
        return list(CITIES)[number * 7 // 5 % len(CITIES)]

    @staticmethod
    def _amount(number: int) -> int:
        return number * 31 % _AMOUNTS


def _check_equal(place: Hashable, found: list[Any], expected: list[Any]) -> None:
    """Rows by the thousand are not shown whole, only where they part."""
    same = (one == other for one, other in zip(found, expected, strict=False))
    at = next((number for number, is_same in enumerate(same) if not is_same), min(len(found), len(expected)))
    assert found == expected, (
        f"{place}: {len(found)} rows instead of {len(expected)}; "
        f"from the {at}th on {found[at : at + 3]} instead of {expected[at : at + 3]}"
    )
