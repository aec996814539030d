"""SQL live: orders come in, a join and a windowed total follow them, and a question by key is answered.

Everything happens in this process and in a temporary directory, and ends by itself: ``python -m examples.sql.demo``.
"""

from __future__ import annotations

import random
import tempfile
import threading
from pathlib import Path

from headrace.cli.output import Output
from headrace.cli.sql_show import AnswerScreen
from headrace.database import Database

STATEMENTS = Path(__file__).with_name("orders.sql")
SECONDS_BETWEEN = 0.2


def main() -> None:
    """Play it."""
    with (
        tempfile.TemporaryDirectory(prefix="headrace-demo-sql-") as directory,
        Database(f"embedded:{directory}", engine="local") as database,
    ):
        play(database, AnswerScreen(Output()))


def play(database: Database, screen: AnswerScreen) -> None:
    """Statements, then orders, with their totals as they change."""
    for parsed, answer in database.run_text(STATEMENTS.read_text()):
        screen.out.text(f"\n{parsed.text}\n")
        screen.show(answer)
    orders = Orders(database)
    orders.start()
    show(database, screen, "SELECT * FROM city_orders EMIT CHANGES LIMIT 10;")
    since = "FORMAT_TIMESTAMP(FROM_UNIXTIME(windowstart), 'HH:mm:ss') AS since"
    show(database, screen, f"SELECT city, {since}, orders, total FROM city_totals EMIT CHANGES LIMIT 20;")
    show(database, screen, "SELECT * FROM customer_totals WHERE customer = 'ann';")
    orders.stop()
    database.run_until_idle()
    show(database, screen, "SELECT * FROM customer_totals;")
    counted = sum(row["ORDERS"] for row in database.execute("SELECT orders FROM customer_totals;").dicts())
    screen.out.text(f"\n{orders.count} orders came in, {counted} are counted.\n")


class Orders:
    """Orders that come in, one after another, until it is enough."""

    def __init__(self, database: Database) -> None:
        self.count = 0
        self._database = database
        self._is_enough = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """No more."""
        self._is_enough.set()
        self._thread.join()

    def _run(self) -> None:
        chance = random.Random(7)
        while not self._is_enough.wait(SECONDS_BETWEEN):
            customer, item = chance.choice(["ann", "bob", "eve"]), chance.choice(["tea", "jam", "bread"])
            self._database.execute(f"INSERT INTO orders VALUES ('{customer}', '{item}', {chance.randint(1, 20)});")
            self.count += 1


def show(database: Database, screen: AnswerScreen, statement: str) -> None:
    """A question, and its answer as it comes."""
    screen.out.text(f"\n{statement}\n")
    with database.execute(statement) as answer:
        screen.show(answer)


if __name__ == "__main__":
    main()
